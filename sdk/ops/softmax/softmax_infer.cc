#include "sdk/ops/shared/infer.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

Status infer_softmax(InferContext& ctx) {
  int axis = 0;
  VIREO_TRY(check_type(ctx, 0, kFloatSet));
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::Softmax>().axis(), ctx.input(0).shape.rank, &axis));
  return infer_same(ctx);
}

constexpr OpDef row(const char* name) {
  return {name, verify_attrs<attrs::Softmax>, infer_softmax, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/1};
}

}  // namespace

extern const OpDef kSoftmaxOp;
extern const OpDef kLogSoftmaxOp;
extern const OpDef kHardmaxOp;

const OpDef kSoftmaxOp = row("Softmax");
const OpDef kLogSoftmaxOp = row("LogSoftmax");
const OpDef kHardmaxOp = row("Hardmax");

}  // namespace vireo

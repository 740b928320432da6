// Trilu: the last two axes' upper or lower triangle, 0 elsewhere.
//   inputs   x [.., rows, columns]; k i64 scalar optional (0): the diagonal, above 0 above the main one
// Every whole-byte type (a string's zero is empty); y may be x. Source: ONNX opset 14 "Trilu".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/trilu/trilu_generated.h"

namespace vireo {
namespace {

Status infer_trilu(InferContext& ctx) {
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  if (dtype_bits(ctx.input(0).dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "Trilu of packed {}", dtype_name(ctx.input(0).dtype));
  }
  if (ctx.has(1)) {
    VIREO_TRY(check_integer_list(ctx, 1));
    VIREO_TRY(check_one_element(ctx, 1));
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kTriluOp;
const OpDef kTriluOp = {"Trilu", verify_attrs<attrs::Trilu>, infer_trilu, 1, 2, 1, 1, OpDef::kPure, /*inplace=*/1};

}  // namespace vireo

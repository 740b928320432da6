// ReverseSequence: of each batch entry b the first lens[b] time steps in reverse, the others as they are.
//   inputs   x, rank 2 or more; lens i64 [batch], each in [0, time]: kInvalidArgument otherwise
// Every data type; no aliasing. Source: ONNX opset 10 "ReverseSequence".
#include "sdk/ops/reverse_sequence/reverse_sequence_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_reverse_sequence(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReverseSequence>();
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  VIREO_TRY(check_rank(ctx, 1, 1, 1));
  VIREO_TRY(check_integer_list(ctx, 1));
  if (a.batch_axis() < 0 || a.batch_axis() > 1 || a.time_axis() != 1 - a.batch_axis()) {
    return ctx.fail(Status::kInvalidModel, "ReverseSequence: batch_axis {}, time_axis {}, wanted 0 and 1",
                    a.batch_axis(), a.time_axis());
  }
  const Dim batch = ctx.input(0).shape[a.batch_axis()];
  if (ctx.differ(ctx.input(1).shape[0], batch)) {
    return ctx.fail(Status::kInvalidModel, "ReverseSequence: {} lengths for a batch of {}", ctx.input(1).shape[0],
                    batch);
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kReverseSequenceOp;
const OpDef kReverseSequenceOp = {
    "ReverseSequence", verify_attrs<attrs::ReverseSequence>, infer_reverse_sequence, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo

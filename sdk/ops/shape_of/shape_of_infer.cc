#include "sdk/ops/op.h"
#include "sdk/ops/shape_of/shape_of.h"
#include "sdk/ops/shape_of/shape_of_generated.h"

namespace vireo {
namespace {

Status infer_shape(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Shape>();
  const int rank = ctx.input(0).shape.rank;
  const int n = clamp_to_rank(a.end(), rank) - clamp_to_rank(a.start(), rank);
  TensorType& y = ctx.output(0);
  y.dtype = DType::kI64;
  y.shape.rank = 1;
  y.shape[0] = n < 0 ? 0 : n;
  return Status::kOk;
}

Status infer_size(InferContext& ctx) {
  ctx.output(0).dtype = DType::kI64;
  return Status::kOk;
}

}  // namespace

extern const OpDef kShapeOp;
extern const OpDef kSizeOp;
const OpDef kShapeOp = {"Shape", verify_attrs<attrs::Shape>, infer_shape, 1, 1, 1, 1, OpDef::kPure, 0};
const OpDef kSizeOp = {"Size", verify_attrs<attrs::Size>, infer_size, 1, 1, 1, 1, OpDef::kPure, 0};

}  // namespace vireo

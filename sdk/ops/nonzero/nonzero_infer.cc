// NonZero (x): y i64 [rank, n], column j the index of the j-th element that is not 0, in row-major order. A scalar
// gives [0, n]. Compress (x, condition bool [m]): the slices of x along `axis` (or the elements of x) whose condition
// is true; m may be smaller than the extent. kInvalidArgument when a true condition stands past it. How much comes out
// is known after the run; the bound is what comes in. Source: ONNX opset 13 "NonZero", opset 11 "Compress".
#include "sdk/ops/nonzero/nonzero_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_nonzero(InferContext& ctx) {
  const Shape& x = ctx.input(0).shape;
  if (dtype_bits(ctx.input(0).dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "NonZero of packed {}", dtype_name(ctx.input(0).dtype));
  }
  TensorType& y = ctx.output(0);
  y.dtype = DType::kI64;
  y.shape.rank = 2;
  y.shape[0] = x.rank;
  y.shape[1] = ctx.bounded(ctx.count(x, 0, x.rank));
  return Status::kOk;
}

Status infer_compress(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const TensorType& condition = ctx.input(1);
  if (condition.dtype != DType::kBool) {
    return ctx.fail(Status::kInvalidModel, "Compress: the condition is {}, wanted bool", dtype_name(condition.dtype));
  }
  VIREO_TRY(check_rank(ctx, 1, 1, 1));
  const auto& a = ctx.attrs<attrs::Compress>();
  int axis = 0;
  TensorType& y = ctx.output(0);
  y = x;
  Dim most = 0;
  if (a.flat()) {
    most = ctx.count(x.shape, 0, x.shape.rank);
    y.shape.rank = 1;
  } else {
    VIREO_TRY(check_axis(ctx, a.axis(), x.shape.rank, &axis));
    most = x.shape[axis];
  }
  y.shape[axis] = ctx.bounded(ctx.min(most, condition.shape[0]));
  return Status::kOk;
}

}  // namespace

extern const OpDef kNonZeroOp;
extern const OpDef kCompressOp;
const OpDef kNonZeroOp = {"NonZero", verify_attrs<attrs::NonZero>, infer_nonzero, 1, 1, 1, 1, OpDef::kDataDependent, 0};
const OpDef kCompressOp = {"Compress", verify_attrs<attrs::Compress>, infer_compress, 2, 2, 1, 1, OpDef::kDataDependent,
                           0};

}  // namespace vireo

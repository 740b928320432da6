// Tensors made from little.
//   ConstantOfShape (shape i64 [n])        every element is `value`; any fixed-size type
//   Range (start, limit, delta), scalars   start + i * delta for i < max(0, ceil((limit - start) / delta)); floats,
//   i16, i32, i64 EyeLike (x [rows, columns])            1 on the k-th diagonal, 0 elsewhere; numbers and bool
// kInvalidModel where delta is 0 or a float range has no finite length. Source: ONNX opset 25 "ConstantOfShape", opset
// 11 "Range", opset 22 "EyeLike".
#include <math.h>

#include "sdk/base/checked.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_constant(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::ConstantOfShape>();
  const DType t = static_cast<DType>(a.dtype());
  const int bits = dtype_bits(t);
  if (bits == 0 || t == DType::kString) return ctx.fail(Status::kInvalidModel, "ConstantOfShape of {}", dtype_name(t));
  if (a.value() != nullptr && static_cast<int>(a.value()->size()) != (bits + 7) / 8) {
    return ctx.fail(Status::kInvalidModel, "ConstantOfShape: {} bytes for one {}", a.value()->size(), dtype_name(t));
  }
  VIREO_TRY(check_integer_list(ctx, 0));
  int64_t n = 0;
  if (!known_length(ctx, 0, &n)) {
    return ctx.fail(Status::kUnsupported, "ConstantOfShape: the number of dimensions is not known");
  }
  VIREO_TRY(check_result_rank(ctx, n));
  TensorType& y = ctx.output(0);
  y.dtype = t;
  y.shape.rank = static_cast<int32_t>(n);
  for (int i = 0; i < y.shape.rank; ++i) {
    y.shape[i] = ctx.known(0) ? ctx.value(0, i) : ctx.unknown();
    if (ctx.known(0) && !is_symbolic(y.shape[i]) && y.shape[i] < 0) {
      return ctx.fail(Status::kInvalidModel, "ConstantOfShape: dimension {} is {}", i, y.shape[i]);
    }
  }
  return Status::kOk;
}

Status infer_range(InferContext& ctx) {
  const DType t = ctx.input(0).dtype;
  const bool real = t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16;
  if (!real && t != DType::kI64 && t != DType::kI32 && t != DType::kI16) {
    return ctx.fail(Status::kInvalidModel, "Range of {}", dtype_name(t));
  }
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).dtype != t) return ctx.fail(Status::kInvalidModel, "Range: inputs of different types");
    VIREO_TRY(check_rank(ctx, i, 0, 1));
    VIREO_TRY(check_one_element(ctx, i));
    known = known && ctx.known(i);
  }
  TensorType& y = ctx.output(0);
  y.dtype = t;
  y.shape.rank = 1;
  if (!known) {
    y.shape[0] = ctx.unknown();
    return Status::kOk;
  }
  if (real) {
    const double n = ceil((ctx.real(1, 0) - ctx.real(0, 0)) / ctx.real(2, 0));
    if (!(n < 1e15)) {
      return ctx.fail(Status::kInvalidModel, "Range: delta does not lead from start to limit in 10^15 elements");
    }
    y.shape[0] = n > 0 ? static_cast<Dim>(n) : 0;
    return Status::kOk;
  }
  const Dim start = ctx.value(0, 0), limit = ctx.value(1, 0), delta = ctx.value(2, 0);
  if (delta == 0) return ctx.fail(Status::kInvalidModel, "Range: delta is 0");
  if (is_symbolic(delta)) {
    y.shape[0] = ctx.unknown();
    return Status::kOk;
  }
  Dim difference = 0;
  if (!is_symbolic(start) && !is_symbolic(limit) && !checked_sub(limit, start, &difference)) {
    return ctx.fail(Status::kInvalidModel, "Range: from {} to {} is too far", start, limit);
  }
  y.shape[0] = ctx.max(0, ctx.ceil_div(ctx.sub(limit, start), delta));
  return Status::kOk;
}

Status infer_eye(InferContext& ctx) {
  VIREO_TRY(check_rank(ctx, 0, 2, 2));
  TensorType& y = ctx.output(0);
  y = ctx.input(0);
  const auto& a = ctx.attrs<attrs::EyeLike>();
  if (a.dtype() != 0) y.dtype = static_cast<DType>(a.dtype());
  if (dtype_bits(y.dtype) < 8 || y.dtype == DType::kString || y.dtype == DType::kC64 || y.dtype == DType::kC128) {
    return ctx.fail(Status::kInvalidModel, "EyeLike of {}", dtype_name(y.dtype));
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kConstantOfShapeOp;
extern const OpDef kRangeOp;
extern const OpDef kEyeLikeOp;
const OpDef kConstantOfShapeOp = {
    "ConstantOfShape", verify_attrs<attrs::ConstantOfShape>, infer_constant, 1, 1, 1, 1, OpDef::kPure, 0};
const OpDef kRangeOp = {"Range", verify_attrs<attrs::Range>, infer_range, 3, 3, 1, 1, OpDef::kPure, 0};
const OpDef kEyeLikeOp = {"EyeLike", verify_attrs<attrs::EyeLike>, infer_eye, 1, 1, 1, 1, OpDef::kPure, 0};

}  // namespace vireo

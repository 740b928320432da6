// ONNX has no operator that means what IntSoftmax means: INTEGER.md's steps.
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_softmax(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntSoftmax>();
  const std::string axis = ctx.add_i64({a.axis()});
  const std::string x = ctx.cast(ctx.input(0), DType::kI32);
  const std::string place = ctx.step("Sub", {ctx.step("ReduceMax", {x, axis}), x});
  const std::string e = ctx.step("Gather", {ctx.input(1), place});
  const std::string sum = ctx.step("ReduceSum", {ctx.cast(e, DType::kI64), axis});
  const std::string scale = ctx.add_scalar(DType::kF32, static_cast<double>(a.multiplier()));
  const std::string q = ctx.step("Div", {scale, ctx.cast(sum, DType::kF32)});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(e, DType::kF32), q}));
}

}  // namespace vireo

// ONNX has no operator that means what IntSoftmax means: INTEGER.md's steps.
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_softmax(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntSoftmax>();
  const std::string axis = ctx.add_i64({a.axis()});
  const std::string x = ctx.cast(ctx.input(0), DType::kI32);
  std::string e;
  if (ctx.input(2).empty()) {
    e = ctx.step("Gather", {ctx.input(1), ctx.step("Sub", {ctx.step("ReduceMax", {x, axis}), x})});
  } else {
    // What is not kept lies below every code; a line of it alone has its maximum there, and all e are table[0].
    const std::string below = ctx.add_scalar(DType::kI32, -129), last = ctx.add_scalar(DType::kI32, 255);
    const std::string lower = ctx.step("Where", {ctx.input(2), x, below});
    const std::string top = ctx.step("ReduceMax", {lower, axis});
    const std::string place = ctx.step("Min", {ctx.step("Sub", {top, lower}), last});
    const std::string counts = ctx.step("Or", {ctx.input(2), ctx.step("Equal", {top, below})});
    e = ctx.step("Where", {counts, ctx.step("Gather", {ctx.input(1), place}), ctx.add_scalar(DType::kI32, 0)});
  }
  const std::string sum = ctx.step("ReduceSum", {ctx.cast(e, DType::kI64), axis});
  const std::string scale = ctx.add_scalar(DType::kF32, static_cast<double>(a.multiplier()));
  const std::string q = ctx.step("Div", {scale, ctx.cast(sum, DType::kF32)});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(e, DType::kF32), q}));
}

}  // namespace vireo

// ONNX has no operator that means what IntConv means: ConvInteger, and INTEGER.md's steps behind it.
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/shared/integer_export.h"
#include "sdk/ops/shared/window_export.h"

namespace vireo {

Status export_int_conv(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const TensorType x = ctx.input_type(0);
  const int rank = x.shape.rank;
  // ONNX Runtime's ConvInteger takes uint8 alone: a code of int8 and its zero point move up by 128 together.
  const int32_t shift = x.dtype == DType::kI8 ? 128 : 0;
  const std::string codes =
      shift == 0 ? ctx.input(0) : ctx.cast(export_difference(ctx, ctx.input(0), -shift), DType::kU8);
  std::string zero = ctx.add_scalar(DType::kU8, a.x_zero() + shift);
  const auto product = [&](const std::string& w, const std::string& w_zero, const std::string& y) {
    OnnxNode n = ExportContext::node("ConvInteger", {codes, w, zero});
    if (!w_zero.empty()) n.inputs.push_back(w_zero);
    export_window_attributes(a, &n);
    n.number("group", a.group()).outputs = {y};
    (void)ctx.done_in_layout(std::move(n), a.layout());
  };
  const int behind = a.layout() == 0 ? rank - 2 : 0;
  std::string acc = ctx.fresh("sum");
  int32_t w_zero = 0;
  if (ctx.input(4).empty() || export_uniform(ctx, 4, &w_zero)) {
    product(ctx.input(1), w_zero == 0 ? "" : ctx.add_scalar(DType::kI8, w_zero), acc);
  } else {  // sum (x - x_zero)(w - w_zero) = sum (x - x_zero) w - w_zero sum (x - x_zero)
    product(ctx.input(1), "", acc);
    OnnxNode fill = ExportContext::node("ConstantOfShape", {ctx.step("Shape", {ctx.input(1)})});
    const std::string ones = ctx.step(std::move(fill.set("value", OnnxTensor{{DType::kI8, Shape{1, {1}}}, {1}, {}})));
    const std::string sums = ctx.fresh("sum");
    product(ones, "", sums);
    const std::string zeros = ctx.cast(export_per_channel(ctx, 4, behind), DType::kI32);
    acc = ctx.step("Sub", {acc, ctx.step("Mul", {sums, zeros})});
  }
  if (!ctx.input(3).empty()) acc = ctx.step("Add", {acc, export_per_channel(ctx, 3, behind)});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), export_per_channel(ctx, 2, behind)}));
}

}  // namespace vireo

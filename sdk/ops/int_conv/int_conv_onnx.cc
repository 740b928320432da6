// ONNX has no operator that means what IntConv means: ConvInteger, and INTEGER.md's steps behind it.
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/shared/integer_export.h"
#include "sdk/ops/shared/window_export.h"

namespace vireo {

Status export_int_conv(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const TensorType x = ctx.input_type(0);
  const int rank = x.shape.rank;
  std::vector<ExportedBytes> parts = export_bytes(ctx, 0, a.x_zero());
  if (x.dtype == DType::kI8) {
    // ONNX Runtime's ConvInteger takes uint8 alone: a code of int8 and its zero point move up by 128 together.
    parts[0] = {export_moved_up(ctx, ctx.input(0)), DType::kU8, a.x_zero() + 128, 1};
  }
  const bool wide = parts.size() != 1;
  std::string weights = ctx.input_type(1).dtype == DType::kI4 ? ctx.cast(ctx.input(1), DType::kI8) : ctx.input(1);
  if (wide) weights = export_moved_up(ctx, weights);
  const auto zero_point = [&](int32_t zero) {
    if (wide) return ctx.add_scalar(DType::kU8, zero + 128);
    return zero == 0 ? std::string() : ctx.add_scalar(DType::kI8, zero);
  };
  const auto product = [&](const std::string& w, const std::string& w_zero) {
    return export_sums(ctx, parts, [&](const ExportedBytes& part) {
      OnnxNode n = ExportContext::node("ConvInteger", {part.codes, w, ctx.add_scalar(DType::kU8, part.zero)});
      if (!w_zero.empty()) n.inputs.push_back(w_zero);
      export_window_attributes(a, &n);
      std::string sum = ctx.fresh("sum");
      n.number("group", a.group()).outputs = {sum};
      (void)ctx.done_in_layout(std::move(n), a.layout());
      return sum;
    });
  };
  const DType sum_type = wide ? DType::kI64 : DType::kI32;
  const auto as_sum = [&](const std::string& v) { return sum_type == DType::kI32 ? v : ctx.cast(v, sum_type); };
  const int behind = a.layout() == 0 ? rank - 2 : 0;
  std::string acc;
  int32_t w_zero = 0;
  if (ctx.input(4).empty() || export_uniform(ctx, 4, &w_zero)) {
    acc = product(weights, zero_point(w_zero));
  } else {  // sum (x - x_zero)(w - w_zero) = sum (x - x_zero) w - w_zero sum (x - x_zero)
    acc = product(weights, zero_point(0));
    OnnxNode fill = ExportContext::node("ConstantOfShape", {ctx.step("Shape", {weights})});
    const std::string ones = ctx.step(std::move(fill.set("value", OnnxTensor{{DType::kI8, Shape{1, {1}}}, {1}, {}})));
    const std::string sums = product(ones, "");
    const std::string zeros = ctx.cast(export_per_channel(ctx, 4, behind), sum_type);
    acc = ctx.step("Sub", {acc, ctx.step("Mul", {sums, zeros})});
  }
  if (!ctx.input(3).empty()) acc = ctx.step("Add", {acc, as_sum(export_per_channel(ctx, 3, behind))});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), export_per_channel(ctx, 2, behind)}));
}

}  // namespace vireo

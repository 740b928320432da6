// ONNX has no operator that means what IntResize means: axis after axis, the taps by Gather, times their weights,
// summed. Integers wrap around alike in any order.
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_resize(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntResize>();
  const int rank = ctx.input_type(0).shape.rank;
  std::string acc = export_difference(ctx, ctx.input(0), a.x_zero());
  for (unsigned k = 0; k < a.axes()->size(); ++k) {
    const int axis = a.axes()->Get(k), places = static_cast<int>(1 + 2 * k);
    OnnxNode taps = ExportContext::node("Gather", {acc, ctx.input(places)});  // [..., positions, taps, ...]
    const std::string read = ctx.step(std::move(taps.number("axis", axis)));
    std::vector<int64_t> shape(static_cast<size_t>(rank - axis + 1), 1);
    shape[0] = shape[1] = 0;
    const std::string weights = ctx.step("Reshape", {ctx.input(places + 1), ctx.add_i64(shape)});
    OnnxNode sum = ExportContext::node("ReduceSum", {ctx.step("Mul", {read, weights}), ctx.add_i64({axis + 1})});
    acc = ctx.step(std::move(sum.flag("keepdims", false)));
  }
  const std::string m = ctx.add_scalar(DType::kF32, static_cast<double>(a.multiplier()));
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), m}));
}

}  // namespace vireo

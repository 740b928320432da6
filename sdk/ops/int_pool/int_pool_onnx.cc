// ONNX has no operator that means what IntAveragePool means. Sums come from LpPool with p = 1, which sums |x|: of codes
// moved up to 0 and above, exact in float32 up to 2^24, and of ones, which gives the taps.
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/shared/integer_export.h"
#include "sdk/ops/shared/window_export.h"

namespace vireo {

Status export_int_pool(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntAveragePool>();
  const TensorType x = ctx.input_type(0);
  int64_t taps = 1;
  for (const int32_t k : *a.kernel_shape()) taps *= k;
  const bool wide = dtype_bits(x.dtype) == 16;
  if (taps * (wide ? 65535 : 255) > (int64_t{1} << 24)) {
    return ctx.fail(Status::kUnsupported,
                    "a window of " + std::to_string(taps) + " taps: no operator of ONNX sums so many exactly",
                    "convert with --skip fold_quantization");
  }
  const bool many = is_symbolic(ctx.input_type(1).shape[0]) || ctx.input_type(1).shape[0] != 1;
  const auto sums = [&](const std::string& of, bool padded) {
    OnnxNode n = ExportContext::node("LpPool", {of});
    n.numbers("kernel_shape", a.kernel_shape()).numbers("strides", a.strides()).numbers("dilations", a.dilations());
    if (!padded) {
      n.numbers("pads", a.pads());
      const char* const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
      if (a.auto_pad() != 0) n.text("auto_pad", names[a.auto_pad() & 3]);
    }
    n.flag("ceil_mode", a.ceil_mode()).number("p", 1).outputs = {ctx.fresh("sum")};
    std::string y = n.outputs[0];
    (void)ctx.done_in_layout(std::move(n), a.layout());
    return y;
  };
  const int32_t shift = x.dtype == DType::kI8 ? 128 : x.dtype == DType::kI16 ? 32768 : 0, zero = a.x_zero() + shift;
  const std::string codes = ctx.cast(export_difference(ctx, ctx.input(0), -shift), DType::kF32);
  const std::string total = ctx.cast(sums(codes, false), DType::kI32);
  OnnxNode fill = ExportContext::node("ConstantOfShape", {ctx.step("Shape", {codes})});
  float one = 1;
  const auto* p = reinterpret_cast<const uint8_t*>(&one);
  const std::string ones =
      ctx.step(std::move(fill.set("value", OnnxTensor{{DType::kF32, Shape{1, {1}}}, {p, p + sizeof(one)}, {}})));
  const std::string inside = ctx.cast(sums(ones, false), DType::kI32);
  std::string acc = total;
  if (zero != 0) acc = ctx.step("Sub", {total, ctx.step("Mul", {inside, ctx.add_scalar(DType::kI32, zero)})});
  std::string m = ctx.input(1);
  if (many) {
    std::string count = inside;
    if (a.count_include_pad()) {
      if (a.auto_pad() == 1 || a.auto_pad() == 2) {
        return ctx.fail(Status::kUnsupported, "padding that follows from the extents and counts",
                        "convert with --skip fold_quantization");
      }
      std::string frame = ones;
      if (a.pads() != nullptr && a.pads()->size() != 0) {  // in the layout of x
        std::vector<int64_t> pads(static_cast<size_t>(2 * x.shape.rank), 0);
        const auto spatial = static_cast<unsigned>(x.shape.rank - 2);
        for (unsigned i = 0; i < 2 * spatial; ++i)
          pads[i % spatial + (a.layout() == 0 ? 2U : 1U) + (i / spatial) * static_cast<unsigned>(x.shape.rank)] =
              a.pads()->Get(i);
        frame = ctx.step("Pad", {ones, ctx.add_i64(pads), ctx.add_scalar(DType::kF32, 1)});
      }
      count = ctx.cast(sums(frame, true), DType::kI32);
    }
    m = ctx.step("Gather", {m, count});
  }
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), m}));
}

}  // namespace vireo

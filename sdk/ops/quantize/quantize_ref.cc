#include "sdk/base/requantize.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/quantize/quantize.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo {
namespace {

// Calls f(element, its parameters' index) for all elements of input 0. Ranges given to threads begin at multiples of 8
// elements: packed types share no byte.
template <class F>
void for_each_element(const KernelContext& ctx, int64_t axis_attr, int64_t block, const F& f) {
  const Shape& x = ctx.in(0)->shape;
  const bool whole = ctx.in(1)->count() == 1 && block == 0;
  const int axis = whole ? 0 : normalize_axis(axis_attr, x.rank);
  const int64_t extent = whole ? 1 : x[axis];
  const int64_t inner = whole ? ctx.in(0)->count() : product(x, axis + 1, x.rank);
  const int64_t blocks = block > 0 ? ctx.in(1)->shape[axis] : 0;
  const int64_t count = ctx.in(0)->count();
  ctx.parallel.for_range((count + 7) / 8, 128, [&](int64_t begin, int64_t end, int32_t) {
    const int64_t last = end * 8 < count ? end * 8 : count;
    int64_t i = begin * 8;
    while (i < last) {  // one run of elements that differ in the inner index alone
      const int64_t row = i / inner, outer = row / extent, at = row % extent;
      const int64_t row_end = (row + 1) * inner < last ? (row + 1) * inner : last;
      if (block > 0) {
        const int64_t first = (outer * blocks + at / block) * inner - row * inner;
        for (; i < row_end; ++i) f(i, first + i);
      } else {
        for (; i < row_end; ++i) f(i, at);
      }
    }
  });
}

bool is_float6(DType t) { return t == DType::kF6E2M3 || t == DType::kF6E3M2; }

Status run_quantize(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::QuantizeLinear>();
  const Tensor& x = *ctx.in(0);
  const Tensor& scale = *ctx.in(1);
  const Tensor* zero_point = ctx.in(2);
  const Tensor& y = *ctx.out(0);
  DType precision = static_cast<DType>(a.precision());
  if (precision == DType::kNone) precision = scale.dtype;
  const bool half = precision == DType::kF16, brain = precision == DType::kBF16;
  const auto rounded = [half, brain](float v) {
    return half ? f16_to_f32(f32_to_f16(v)) : brain ? bf16_to_f32(f32_to_bf16(v)) : v;
  };
  const auto quotient = [&](int64_t i, int64_t p) {
    return rounded(rounded(read_float(x.dtype, x.data, i)) / rounded(read_float(scale.dtype, scale.data, p)));
  };
  int32_t low = 0, high = 0;
  if (small_integer_range(y.dtype, &low, &high)) {
    for_each_element(ctx, a.axis(), a.block_size(), [&](int64_t i, int64_t p) {
      const int32_t z = zero_point != nullptr ? read_small_integer(y.dtype, zero_point->data, p) : 0;
      write_code(y.dtype, y.data, i, static_cast<unsigned>(round_and_clamp(quotient(i, p), z, low, high)));
    });
    return Status::kOk;
  }
  const NarrowFloat& format = *narrow_float(y.dtype);
  // The formula has a zero point for every type. ONNX's own interpreter adds that of float4e2m1 and float6, and leaves
  // out that of float8, which must be 0.
  const bool shifted = zero_point != nullptr && (y.dtype == DType::kF4E2M1 || is_float6(y.dtype));
  for_each_element(ctx, a.axis(), a.block_size(), [&](int64_t i, int64_t p) {
    float q = quotient(i, p);
    if (shifted) q += narrow_to_f32(format, static_cast<uint8_t>(read_code(y.dtype, zero_point->data, p)));
    write_code(y.dtype, y.data, i, f64_to_narrow(format, static_cast<double>(q), a.saturate()));
  });
  return Status::kOk;
}

Status run_dequantize(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::DequantizeLinear>();
  const Tensor& x = *ctx.in(0);
  const Tensor& scale = *ctx.in(1);
  const Tensor* zero_point = ctx.in(2);
  const Tensor& y = *ctx.out(0);
  const NarrowFloat* format = narrow_float(x.dtype);
  const auto centred = [&](int64_t i, int64_t p) {
    if (format != nullptr) {
      const float v = narrow_to_f32(*format, static_cast<uint8_t>(read_code(x.dtype, x.data, i)));
      if (zero_point == nullptr || !is_float6(x.dtype)) return v;
      return v - narrow_to_f32(*format, static_cast<uint8_t>(read_code(x.dtype, zero_point->data, p)));
    }
    if (x.dtype == DType::kI32) {
      const int64_t z = zero_point != nullptr ? zero_point->as<const int32_t>()[p] : 0;
      return static_cast<float>(x.as<const int32_t>()[i] - z);
    }
    const int32_t z = zero_point != nullptr ? read_small_integer(x.dtype, zero_point->data, p) : 0;
    return static_cast<float>(read_small_integer(x.dtype, x.data, i) - z);
  };
  for_each_element(ctx, a.axis(), a.block_size(), [&](int64_t i, int64_t p) {
    write_float(y.dtype, y.data, i, centred(i, p) * read_float(scale.dtype, scale.data, p));
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kQuantizeLinearRef;
const RefKernel kQuantizeLinearRef = {run_quantize, nullptr};
extern const RefKernel kDequantizeLinearRef;
const RefKernel kDequantizeLinearRef = {run_dequantize, nullptr};

}  // namespace vireo

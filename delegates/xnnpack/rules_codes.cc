// Codes by the formulas of INTEGER.md, other than products with weights.
#include <math.h>

#include "delegates/xnnpack/codes.h"
#include "delegates/xnnpack/rules.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/integer.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/shared/window.h"

namespace vireo::xnnpack {
namespace {

constexpr const char* kBounds = "XNNPACK has no bounds for it";

template <class Attrs>
bool whole_range(const Attrs& a, DType t) {
  return a.low() == least_code(t) && a.high() == greatest_code(t);
}

// A scale s for which XNNPACK's s * (1 / n), both steps rounded, is just m. It is s = m n or beside it, if it exists.
bool mean_scale(float m, int64_t n, float* s) {
  const float share = 1.0f / static_cast<float>(n);
  float at = m * static_cast<float>(n);
  for (int step = 0; step < 4; ++step) at = nextafterf(at, 0);
  for (int step = 0; step < 9; ++step, at = nextafterf(at, INFINITY)) {
    if (!isnormal(at) || at * share != m) continue;
    *s = at;
    return true;
  }
  return false;
}

}  // namespace

// float(a b) * m, to the nearest, halves to even; on Arm in fixed point.
const char* define_int_mul(Writer& w, const Step& s) {
#if defined(__arm__) || defined(__aarch64__)
  (void)w, (void)s;
  return "XNNPACK multiplies codes in fixed point on Arm: other bits than IntMul";
#else
  const auto& t = s.node->read<attrs::IntMul>();
  const Value &a = *s.node->in(0), &b = *s.node->in(1);
  Codes ac, bc, yc;
  if (const char* reason = read_codes(a, Place::kInput, t.a_zero(), &ac)) return reason;
  if (const char* reason = read_codes(b, Place::kInput, t.b_zero(), &bc)) return reason;
  if (const char* reason = read_codes(*s.out, Place::kOutput, t.y_zero(), &yc)) return reason;
  if (!whole_range(t, s.out->type.dtype)) return kBounds;
  ac.scale = t.multiplier();
  if (!(ac.scale >= 0x1p-16f && ac.scale < 256)) return "XNNPACK's multipliers are 2^-16 to 256";
  Dims ad, bd, yd;
  if (!dims_of(a.type.shape, &ad) || !dims_of(b.type.shape, &bd) || !dims_of(s.out->type.shape, &yd))
    return "more dimensions than XNNPACK has";
  const uint32_t left = w.in(a, ad, ac), right = w.in(b, bd, bc), out = w.out(*s.out, yd, yc);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_binary(w.graph(), xnn_binary_multiply, nullptr, left, right, out, 0));
#endif
}

// Over a whole image; XNNPACK has no other pool of codes.
const char* define_int_average_pool(Writer& w, const Step& s) {
  const auto& t = s.node->read<attrs::IntAveragePool>();
  const Value &x = *s.node->in(0), *m = s.node->in(1);
  if (t.layout() != static_cast<uint8_t>(Layout::kNhwc)) return "channels first: XNNPACK wants channels last";
  Window win = read_window(x.type.shape.rank, t.layout(), t.auto_pad(), t.strides(), t.dilations(), t.pads());
  for (int i = 0; i < win.spatial; ++i) win.kernel[i] = t.kernel_shape()->Get(static_cast<uint32_t>(i));
  const Geometry g = make_geometry(win, x.type.shape, s.out->type.shape);
  int64_t pixels = 1;
  for (int i = 0; i < 3; ++i) {
    if (g.kernel[i] != g.in[i] || g.out[i] != 1 || g.pad[i] != 0 || g.pad_end[i] != 0)
      return "XNNPACK averages codes over whole images alone";
    pixels *= g.in[i];
  }
  if (m->constant == nullptr) return "its multiplier is not constant";
  Codes in, out;
  if (const char* reason = read_codes(x, Place::kInput, t.x_zero(), &in)) return reason;
  if (const char* reason = read_codes(*s.out, Place::kOutput, t.y_zero(), &out)) return reason;
  if (!whole_range(t, s.out->type.dtype)) return kBounds;
  const auto multiplier = read_element<float>(m->constant, element_count(m->type.shape) == 1 ? 0 : pixels);
  if (!(multiplier > 0 && multiplier < 1) || !mean_scale(multiplier, pixels, &in.scale))
    return "XNNPACK rounds the mean's scale twice and does not meet its multiplier";
  const size_t axis = 1;
  const uint32_t from = w.in(x, {g.batch, pixels, g.channels_in}, in);
  const uint32_t to = w.out(*s.out, {g.batch, 1, g.channels_in}, out);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_static_reduce(w.graph(), xnn_reduce_mean, 1, &axis, from, to, XNN_FLAG_KEEP_DIMS));
}

// (x - zero) * scale: an exact difference and one float32 product, everywhere.
const char* define_dequantize(Writer& w, const Step& s) {
  const auto& t = s.node->read<attrs::DequantizeLinear>();
  const Value &x = *s.node->in(0), &scale = *s.node->in(1), *zero = s.node->in(2);
  const DType type = x.type.dtype;
  if (x.place != Place::kInput || (type != DType::kI8 && type != DType::kU8) || s.out->type.dtype != DType::kF32 ||
      t.block_size() != 0)
    return "XNNPACK dequantizes int8 and uint8 to float32";
  Codes codes;
  if (!scale.scalar(&codes.scale) || scale.type.dtype != DType::kF32 || (zero != nullptr && zero->constant == nullptr))
    return "XNNPACK dequantizes by one constant scale";
  if (!(codes.scale > 0 && isnormal(codes.scale))) return "XNNPACK's scales are above 0";
  if (zero != nullptr) codes.zero = static_cast<int32_t>(read_integer(zero->type.dtype, zero->constant, 0));
  const uint32_t in = w.in(x, flat(x), codes), out = w.out(*s.out, flat(x));
  if (w.asks()) return nullptr;
  return w.done(xnn_define_unary(w.graph(), xnn_unary_convert, nullptr, in, out, 0));
}

}  // namespace vireo::xnnpack

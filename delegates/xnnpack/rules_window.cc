// Convolutions, pools and Resize, channels last. One spatial dimension is two, of which the first has an extent of 1.
#include "delegates/xnnpack/codes.h"
#include "delegates/xnnpack/rules.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::xnnpack {
namespace {

constexpr const char* kChannelsFirst = "channels first: XNNPACK wants channels last";
constexpr const char* kVolumes = "XNNPACK has no three spatial dimensions";

// Geometry counts three spatial dimensions; XNNPACK's are the last two.
constexpr int kH = 1, kW = 2;

uint32_t u32(int64_t v) { return static_cast<uint32_t>(v); }

// Padding behind that makes XNNPACK's floor((in + pads - span) / stride) + 1 the output's extent: what ceil_mode adds,
// or what no window reaches.
int64_t pad_behind(const Geometry& g, int i) {
  const int64_t span = (g.out[i] - 1) * g.stride[i] + g.dilation[i] * (g.kernel[i] - 1) + 1;
  const int64_t need = span - g.in[i] - g.pad[i];
  return need > 0 ? need : 0;
}

const char* spatial(uint8_t layout, int rank) {
  if (layout != static_cast<uint8_t>(Layout::kNhwc)) return kChannelsFirst;
  return rank == 3 || rank == 4 ? nullptr : kVolumes;
}

bool is_depthwise(const Geometry& g, int64_t group) { return group == g.channels_in && group == g.channels_out; }

Dims input_dims(const Geometry& g) { return {g.batch, g.in[kH], g.in[kW], g.channels_in}; }
Dims output_dims(const Geometry& g) { return {g.batch, g.out[kH], g.out[kW], g.channels_out}; }

inline float given(float v) { return v; }
inline int8_t given(int8_t v) { return v; }
inline float given(F16 v) { return v; }

// [O, I, taps] -> [O, taps, I]
template <class To, class From>
void taps_before_inputs(const void* filter, int64_t outputs, int64_t inputs, int64_t taps, void* out) {
  const auto* const from = static_cast<const From*>(filter);
  auto* to = static_cast<To*>(out);
  for (int64_t o = 0; o < outputs; ++o) {
    const From* const row = from + o * inputs * taps;
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t i = 0; i < inputs; ++i) *to++ = given(row[i * taps + t]);
    }
  }
}

// [groups, I, O, taps] -> [groups, O, taps, I]
template <class From>
void transposed(const void* filter, int64_t groups, int64_t inputs, int64_t outputs, int64_t taps, void* out) {
  const auto* const from = static_cast<const From*>(filter);
  auto* to = static_cast<float*>(out);
  for (int64_t c = 0; c < groups; ++c) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t i = 0; i < inputs; ++i) *to++ = given(from[((c * inputs + i) * outputs + o) * taps + t]);
      }
    }
  }
}

uint32_t conv_filter(Writer& w, const Value& f, const Geometry& g, int64_t inputs, const Fixed& as) {
  const int64_t taps = g.kernel[kH] * g.kernel[kW];
  const Dims dims = {g.channels_out, g.kernel[kH], g.kernel[kW], inputs};
  const bool as_it_lies = taps == 1 || inputs == 1;
  if (as_it_lies) return f.type.dtype == DType::kI8 ? w.fixed(f, dims, as) : w.fixed(f, dims);
  return w.reordered(f, kTapsBeforeInputs, dims, as, [&](void* to) {
    switch (f.type.dtype) {
      case DType::kI8:
        return taps_before_inputs<int8_t, int8_t>(f.constant, g.channels_out, inputs, taps, to);
      case DType::kF16:
        return taps_before_inputs<float, F16>(f.constant, g.channels_out, inputs, taps, to);
      default:
        return taps_before_inputs<float, float>(f.constant, g.channels_out, inputs, taps, to);
    }
  });
}

// Depthwise ones too: XNNPACK's node for those passes its weights cache by.
const char* convolution(Writer& w, const Geometry& g, int64_t group, float low, float high, uint32_t x, uint32_t filter,
                        uint32_t bias, uint32_t y) {
  const uint32_t top = u32(g.pad[kH]), left = u32(g.pad[kW]);
  const uint32_t bottom = u32(pad_behind(g, kH)), right = u32(pad_behind(g, kW));
  return w.done(xnn_define_convolution_2d(
      w.graph(), top, right, bottom, left, u32(g.kernel[kH]), u32(g.kernel[kW]), u32(g.stride[kH]), u32(g.stride[kW]),
      u32(g.dilation[kH]), u32(g.dilation[kW]), u32(group), static_cast<size_t>(g.channels_in / group),
      static_cast<size_t>(g.channels_out / group), low, high, x, filter, bias, y, 0));
}

}  // namespace

const char* define_conv(Writer& w, const Step& s) {
  const Node& n = *s.node;
  const auto& a = n.read<attrs::Conv>();
  const Value &x = *n.in(0), &f = *n.in(1), *bias = n.in(2) != nullptr ? n.in(2) : s.bias;
  if (const char* reason = spatial(a.layout(), x.type.shape.rank)) return reason;
  if (f.constant == nullptr || (bias != nullptr && bias->constant == nullptr)) return "its weights are not constant";
  const Geometry g = conv_geometry(a, x.type.shape, f.type.shape, s.out->type.shape);
  if (const char* reason = half_sums(x, is_depthwise(g, a.group()) ? kernels().half_depthwise : kernels().half_dense))
    return reason;
  const uint32_t in = w.in(x, input_dims(g));
  const uint32_t filter = conv_filter(w, f, g, g.channels_in / a.group(), {});
  const uint32_t b = bias == nullptr ? XNN_INVALID_VALUE_ID : w.fixed(*bias, {g.channels_out});
  const uint32_t y = w.out(*s.out, output_dims(g));
  if (w.asks()) return nullptr;
  return convolution(w, g, a.group(), s.low, s.high, in, filter, b, y);
}

const char* define_int_conv(Writer& w, const Step& s) {
  const auto& a = s.node->read<attrs::IntConv>();
  const Value &x = *s.node->in(0), &f = *s.node->in(1);
  if (const char* reason = spatial(a.layout(), x.type.shape.rank)) return reason;
  const Geometry g = conv_geometry(a, x.type.shape, f.type.shape, s.out->type.shape);
  CodesProduct p;
  const bool depthwise = is_depthwise(g, a.group());
  if (const char* reason = read_codes_product(s, depthwise, a.x_zero(), a.y_zero(), a.low(), a.high(), &p))
    return reason;
#if defined(__arm__)
  // On Cortex-A5 and A7 its table has a kernel of matrices in the place of a convolution's, for one pixel at a time.
  if (g.kernel[kH] * g.kernel[kW] != 1 && !depthwise)
    return "XNNPACK has a wrong kernel for it on some 32-bit Arm cores";
#endif
  const uint32_t in = w.in(x, input_dims(g), p.in);
  const float* const m = w.per_channel(*p.multiplier, g.channels_out);
  const uint32_t filter = conv_filter(w, f, g, g.channels_in / a.group(), p.filter(m, 0));
  const uint32_t b = p.bias == nullptr ? XNN_INVALID_VALUE_ID : w.fixed(*p.bias, {g.channels_out}, p.sums(m));
  const uint32_t y = w.out(*s.out, output_dims(g), p.out);
  if (w.asks()) return nullptr;
  return convolution(w, g, a.group(), p.low, p.high, in, filter, b, y);
}

const char* define_conv_transpose(Writer& w, const Step& s) {
  const Node& n = *s.node;
  const auto& a = n.read<attrs::ConvTranspose>();
  const Value &x = *n.in(0), &f = *n.in(1), *bias = n.in(2) != nullptr ? n.in(2) : s.bias;
  if (const char* reason = spatial(a.layout(), x.type.shape.rank)) return reason;
  if (f.constant == nullptr || (bias != nullptr && bias->constant == nullptr)) return "its weights are not constant";
  if (const char* reason = half_sums(x, kernels().half_dense)) return reason;
  const Geometry g = conv_transpose_geometry(a, x.type.shape, f.type.shape, s.out->type.shape);
  const int64_t group = a.group(), inputs = g.channels_in / group, outputs = g.channels_out / group;
  const int64_t taps = g.kernel[kH] * g.kernel[kW];
  // out = stride * (in - 1) + span - pads + adjustment
  int64_t behind[2] = {}, adjust[2] = {};
  for (const int i : {kH, kW}) {
    const int64_t whole = g.stride[i] * (g.in[i] - 1) + g.dilation[i] * (g.kernel[i] - 1) + 1;
    const int64_t over = whole - g.pad[i] - g.out[i];
    behind[i - kH] = over > 0 ? over : 0;
    adjust[i - kH] = over < 0 ? -over : 0;
    if (adjust[i - kH] >= g.stride[i]) return "its output is padded by more than XNNPACK does";
  }
  const uint32_t in = w.in(x, input_dims(g));
  const Dims dims = {g.channels_out, g.kernel[kH], g.kernel[kW], inputs};
  const uint32_t filter = w.reordered(f, kTransposed, dims, {}, [&](void* to) {
    f.type.dtype == DType::kF16 ? transposed<F16>(f.constant, group, inputs, outputs, taps, to)
                                : transposed<float>(f.constant, group, inputs, outputs, taps, to);
  });
  const uint32_t b = bias == nullptr ? XNN_INVALID_VALUE_ID : w.fixed(*bias, {g.channels_out});
  const uint32_t y = w.out(*s.out, output_dims(g));
  if (w.asks()) return nullptr;
  return w.done(xnn_define_deconvolution_2d(w.graph(), u32(g.pad[kH]), u32(behind[1]), u32(behind[0]), u32(g.pad[kW]),
                                            u32(adjust[0]), u32(adjust[1]), u32(g.kernel[kH]), u32(g.kernel[kW]),
                                            u32(g.stride[kH]), u32(g.stride[kW]), u32(g.dilation[kH]),
                                            u32(g.dilation[kW]), u32(group), static_cast<size_t>(inputs),
                                            static_cast<size_t>(outputs), s.low, s.high, in, filter, b, y, 0));
}

namespace {

// The geometry of a pool, or why XNNPACK has none for it.
const char* pool(const Step& s, Geometry* g) {
  const auto& a = s.node->read<attrs::Pool>();
  const Value& x = *s.node->in(0);
  if (const char* reason = spatial(a.layout(), x.type.shape.rank)) return reason;
  Window win = read_window(x.type.shape.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < win.spatial; ++i) win.kernel[i] = a.kernel_shape()->Get(static_cast<uint32_t>(i));
  *g = make_geometry(win, x.type.shape, s.out->type.shape);
  if (g->kernel[kH] * g->kernel[kW] == 1) return "XNNPACK has no pool over one element";
  for (const int i : {kH, kW}) {
    if (g->stride[i] > g->kernel[i]) return "its stride is larger than its window";
  }
  return nullptr;
}

}  // namespace

const char* define_max_pool(Writer& w, const Step& s) {
  Geometry g;
  if (const char* reason = pool(s, &g)) return reason;
  const uint32_t x = w.in(*s.node->in(0), input_dims(g)), y = w.out(*s.out, output_dims(g));
  if (w.asks()) return nullptr;
  return w.done(xnn_define_max_pooling_2d(w.graph(), u32(g.pad[kH]), u32(pad_behind(g, kW)), u32(pad_behind(g, kH)),
                                          u32(g.pad[kW]), u32(g.kernel[kH]), u32(g.kernel[kW]), u32(g.stride[kH]),
                                          u32(g.stride[kW]), u32(g.dilation[kH]), u32(g.dilation[kW]), s.low, s.high, x,
                                          y, 0));
}

const char* define_average_pool(Writer& w, const Step& s) {
  Geometry g;
  if (const char* reason = pool(s, &g)) return reason;
  if (const char* reason = half_sums(*s.node->in(0), kernels().half_pool)) return reason;
  if (g.dilation[kH] != 1 || g.dilation[kW] != 1) return "XNNPACK's average has no dilation";
  const bool pads = g.pad[kH] + g.pad[kW] + pad_behind(g, kH) + pad_behind(g, kW) > 0;
  if (pads && s.node->read<attrs::Pool>().count_include_pad()) return "XNNPACK's average does not count the padding";
  const uint32_t x = w.in(*s.node->in(0), input_dims(g)), y = w.out(*s.out, output_dims(g));
  if (w.asks()) return nullptr;
  return w.done(xnn_define_average_pooling_2d(w.graph(), u32(g.pad[kH]), u32(pad_behind(g, kW)), u32(pad_behind(g, kH)),
                                              u32(g.pad[kW]), u32(g.kernel[kH]), u32(g.kernel[kW]), u32(g.stride[kH]),
                                              u32(g.stride[kW]), s.low, s.high, x, y, 0));
}

const char* define_global_average_pool(Writer& w, const Step& s) {
  const Value& x = *s.node->in(0);
  const Shape& shape = x.type.shape;
  if (s.node->read<attrs::GlobalPool>().layout() != static_cast<uint8_t>(Layout::kNhwc)) return kChannelsFirst;
  if (const char* reason = half_sums(x, kernels().half_mean)) return reason;
  const int64_t channels = shape[shape.rank - 1], pixels = product(shape, 1, shape.rank - 1);
  const size_t axis = 1;
  const uint32_t from = w.in(x, {shape[0], pixels, channels}), to = w.out(*s.out, {shape[0], 1, channels});
  if (w.asks()) return nullptr;
  return w.done(xnn_define_static_reduce(w.graph(), xnn_reduce_mean, 1, &axis, from, to, XNN_FLAG_KEEP_DIMS));
}

const char* define_resize(Writer& w, const Step& s) {
  const auto& a = s.node->read<attrs::Resize>();
  const Value &x = *s.node->in(0), *scales = s.node->in(2);
  const Shape &in = x.type.shape, &out = s.out->type.shape;
  if (a.mode() != attrs::ResizeMode::linear || a.antialias() || a.exclude_outside() ||
      a.policy() != attrs::ResizePolicy::stretch)
    return "XNNPACK resizes bilinearly";
  if (in.rank != 4 || in[0] != out[0] || in[3] != out[3]) return kChannelsFirst;
  uint32_t flags = 0;
  if (a.coordinate() == attrs::ResizeCoordinate::align_corners) {
    flags = XNN_FLAG_ALIGN_CORNERS;
  } else if (a.coordinate() == attrs::ResizeCoordinate::asymmetric) {
    flags = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  } else if (a.coordinate() != attrs::ResizeCoordinate::half_pixel) {
    return "XNNPACK places the output's elements otherwise";
  }
  if (out[1] == 1 || out[2] == 1) return "XNNPACK places a single row or column otherwise";
  // XNNPACK takes the scale from the extents; a given one may be another, which was rounded down to them.
  if (scales != nullptr && element_count(scales->type.shape) > 0) {
    if (scales->constant == nullptr) return "its scales are not constant";
    const int64_t count = element_count(scales->type.shape);
    for (int64_t i = 0; i < count; ++i) {
      const int axis =
          a.axes() == nullptr ? static_cast<int>(i) : normalize_axis(a.axes()->Get(static_cast<uint32_t>(i)), in.rank);
      const double scaled = static_cast<double>(in[axis]) * read_real(scales->type.dtype, scales->constant, i);
      if (scaled != static_cast<double>(out[axis])) return "its scale is not the quotient of its extents";
    }
  }
  Dims from, to;
  (void)dims_of(in, &from);
  (void)dims_of(out, &to);
  const uint32_t source = w.in(x, from), y = w.out(*s.out, to);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_static_resize_bilinear_2d(w.graph(), static_cast<size_t>(out[1]),
                                                     static_cast<size_t>(out[2]), source, y, flags));
}

}  // namespace vireo::xnnpack

#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

struct Lines {
  const float* x;        // one image
  const float* filters;  // [kh, kw, C]
  const float* zeros;    // [C]
  float* y;              // one image
  bool clip;
  VF lo, hi;
};

// Up to a vector of channels. Where there are at least as many as lanes, the last vector overlaps the one before it.
template <bool kPart>
HWY_INLINE VF load(const float* from, size_t lanes) {
  if constexpr (kPart) return hn::LoadN(DF(), from, lanes);
  return hn::LoadU(DF(), from);
}
template <bool kPart>
HWY_INLINE void store(VF v, const Lines& l, float* to, size_t lanes) {
  if (l.clip) v = clip(DF(), v, l.lo, l.hi);
  if constexpr (kPart) {
    hn::StoreN(v, DF(), to, lanes);
  } else {
    hn::StoreU(v, DF(), to);
  }
}

// kCount neighbouring lines of a 3 x 3 window, channels [c, c + lanes), with the nine filters in registers. Input lines
// above and below the image are one pixel of zeros, zero floats apart.
template <int kCount, bool kPart>
HWY_INLINE void lines_3x3(const DepthwiseF32& s, const Lines& l, int64_t oy, int64_t c, size_t lanes) {
  const Window& w = s.window;
  const int64_t channels = s.channels, in_w = w.in_w, out_w = w.out_w;
  VF k[9];
  VIREO_UNROLL
  for (int i = 0; i < 9; ++i) k[i] = load<kPart>(l.filters + i * channels + c, lanes);
  const VF bias = s.bias != nullptr ? load<kPart>(s.bias + c, lanes) : hn::Zero(DF());
  const float* line[kCount + 2];
  int64_t step[kCount + 2];
  VIREO_UNROLL
  for (int i = 0; i < kCount + 2; ++i) {
    const int64_t y = oy * w.stride_h - w.pad_top + i * w.dilation_h;
    const bool inside = y >= 0 && y < w.in_h;
    line[i] = inside ? l.x + y * in_w * channels + c : l.zeros + c;
    step[i] = inside ? channels : 0;
  }
  float* to = l.y + oy * out_w * channels + c;
  for (int64_t x = 0; x < out_w; ++x, to += channels) {
    const int64_t x0 = x * w.stride_w - w.pad_left;
    VF acc[kCount];
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) acc[i] = bias;
    VIREO_UNROLL
    for (int j = 0; j < 3; ++j) {
      const int64_t at = x0 + j * w.dilation_w;
      if (at < 0 || at >= in_w) continue;
      VIREO_UNROLL
      for (int in = 0; in < kCount + 2; ++in) {
        const VF v = load<kPart>(line[in] + at * step[in], lanes);
        VIREO_UNROLL
        for (int i = 0; i < kCount; ++i) {
          if (in - i >= 0 && in - i < 3) acc[i] = hn::MulAdd(v, k[(in - i) * 3 + j], acc[i]);
        }
      }
    }
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) store<kPart>(acc[i], l, to + i * out_w * channels, lanes);
  }
}

// Any window: four vectors of a pixel at a time.
template <int kVectors, bool kPart>
HWY_INLINE void pixel_any(const DepthwiseF32& s, const Lines& l, int64_t oy, int64_t ox, int64_t c, size_t lanes) {
  const Window& w = s.window;
  VF acc[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v)
    acc[v] = s.bias != nullptr ? load<kPart>(s.bias + c + v * kLanes, lanes) : hn::Zero(DF());
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    const int64_t y = oy * w.stride_h - w.pad_top + i * w.dilation_h;
    if (y < 0 || y >= w.in_h) continue;
    for (int64_t j = 0; j < w.kernel_w; ++j) {
      const int64_t x = ox * w.stride_w - w.pad_left + j * w.dilation_w;
      if (x < 0 || x >= w.in_w) continue;
      const float* const from = l.x + (y * w.in_w + x) * s.channels + c;
      const float* const k = l.filters + (i * w.kernel_w + j) * s.channels + c;
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v)
        acc[v] = hn::MulAdd(load<kPart>(from + v * kLanes, lanes), load<kPart>(k + v * kLanes, lanes), acc[v]);
    }
  }
  float* const to = l.y + (oy * w.out_w + ox) * s.channels + c;
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) store<kPart>(acc[v], l, to + v * kLanes, lanes);
}

HWY_INLINE void line_any(const DepthwiseF32& s, const Lines& l, int64_t oy) {
  for (int64_t ox = 0; ox < s.window.out_w; ++ox) {
    int64_t c = 0;
    for (; c + 4 * kLanes <= s.channels; c += 4 * kLanes) pixel_any<4, false>(s, l, oy, ox, c, 0);
    for (; c + kLanes <= s.channels; c += kLanes) pixel_any<1, false>(s, l, oy, ox, c, 0);
    if (c == s.channels) continue;
    if (s.channels >= kLanes) {
      pixel_any<1, false>(s, l, oy, ox, s.channels - kLanes, 0);
    } else {
      pixel_any<1, true>(s, l, oy, ox, c, static_cast<size_t>(s.channels - c));
    }
  }
}

template <int kCount>
HWY_INLINE void all_channels_3x3(const DepthwiseF32& s, const Lines& l, int64_t oy) {
  if (s.channels < kLanes) {
    lines_3x3<kCount, true>(s, l, oy, 0, static_cast<size_t>(s.channels));
    return;
  }
  for (int64_t c = 0; c < s.channels; c += kLanes)
    lines_3x3<kCount, false>(s, l, oy, c + kLanes <= s.channels ? c : s.channels - kLanes, 0);
}

// Output lines [begin, end) of N * OH.
void depthwise_lines(const DepthwiseF32& s, const float* x, const float* filters, float* y, int64_t begin,
                     int64_t end) {
  const Window& w = s.window;
  const int64_t in_image = w.in_h * w.in_w * s.channels, out_line = w.out_w * s.channels;
  const bool bounds = s.residual == nullptr && s.slope == nullptr &&
                      (s.act.kind == Activation::kRelu || s.act.kind == Activation::kClip);
  Lines l;
  l.filters = filters;
  l.zeros = filters + w.kernel_h * w.kernel_w * s.channels;
  l.clip = bounds;
  l.lo = hn::Set(DF(), s.act.kind == Activation::kRelu ? 0 : s.act.a);
  l.hi = hn::Set(DF(), s.act.kind == Activation::kRelu ? HUGE_VALF : s.act.b);
  const bool small = w.kernel_h == 3 && w.kernel_w == 3, dense = small && w.stride_h == 1 && w.dilation_h == 1;
  for (int64_t line = begin; line < end;) {
    const int64_t image = line / w.out_h, oy = line % w.out_h;
    l.x = x + image * in_image;
    l.y = y + image * w.out_h * out_line;
    int64_t count = 1;
    if (dense && line + 1 < end && oy + 1 < w.out_h) {
      count = 2;
      all_channels_3x3<2>(s, l, oy);
    } else if (small) {
      all_channels_3x3<1>(s, l, oy);
    } else {
      line_any(s, l, oy);
    }
    if (!bounds && (s.residual != nullptr || s.slope != nullptr || s.act.kind != Activation::kNone)) {
      // Slopes are as many as channels: a pixel at a time.
      const int64_t floats = count * out_line, each = s.slope != nullptr ? s.channels : floats;
      for (int64_t i = 0; i < floats; i += each) {
        RowFinish finish;
        finish.f = s.act;
        finish.slope = s.slope;
        const float* const row = s.residual != nullptr ? s.residual + line * out_line + i : nullptr;
        (s.residual_times ? finish.late_factor : s.residual_last ? finish.late_residual : finish.residual) = row;
        finish_row_f32(y + line * out_line + i, each, finish);
      }
    }
    line += count;
  }
}

// [C, taps] to [taps, C].
void turn_filters(const float* from, int64_t channels, int64_t taps, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d4;
  for (; c + 4 <= channels; c += 4) {
    const float* r = from + c * taps;
    int64_t t = 0;
    for (; t + 4 <= taps; t += 4) {
      const auto v0 = hn::LoadU(d4, r + t), v1 = hn::LoadU(d4, r + taps + t);
      const auto v2 = hn::LoadU(d4, r + 2 * taps + t), v3 = hn::LoadU(d4, r + 3 * taps + t);
      const auto low01 = hn::InterleaveLower(d4, v0, v1), low23 = hn::InterleaveLower(d4, v2, v3);
      const auto high01 = hn::InterleaveUpper(d4, v0, v1), high23 = hn::InterleaveUpper(d4, v2, v3);
      hn::StoreU(hn::ConcatLowerLower(d4, low23, low01), d4, to + t * channels + c);
      hn::StoreU(hn::ConcatUpperUpper(d4, low23, low01), d4, to + (t + 1) * channels + c);
      hn::StoreU(hn::ConcatLowerLower(d4, high23, high01), d4, to + (t + 2) * channels + c);
      hn::StoreU(hn::ConcatUpperUpper(d4, high23, high01), d4, to + (t + 3) * channels + c);
    }
    for (; t < taps; ++t) {
      for (int64_t i = 0; i < 4; ++i) to[t * channels + c + i] = r[i * taps + t];
    }
  }
#endif
  for (; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) to[t * channels + c] = from[c * taps + t];
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_lines);
HWY_EXPORT(turn_filters);

namespace {
bool empty(const DepthwiseF32& s) { return s.n <= 0 || s.channels <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0; }
}  // namespace

size_t depthwise_nhwc_f32_scratch_bytes(const DepthwiseF32& s) {
  return empty(s) ? 0 : static_cast<size_t>((s.window.kernel_h * s.window.kernel_w + 1) * s.channels) * sizeof(float);
}

void depthwise_nhwc_f32(const DepthwiseF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                        void* scratch) {
  if (empty(s)) return;
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  float* const filters = static_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(turn_filters)(weights, s.channels, taps, filters);
  for (int64_t c = 0; c < s.channels; ++c) filters[taps * s.channels + c] = 0;
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines);
  // As many multiplications take about 5 us; lines go in pairs. Small pieces pay here: the input lies in the caches of
  // the cores that wrote it.
  const int64_t grain = ((int64_t{3} << 16) / (s.window.out_w * s.channels * taps + 1) + 2) / 2 * 2;
  parallel.for_range(s.n * s.window.out_h, grain,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, filters, y, begin, end); });
}
}  // namespace vireo::cpu
#endif

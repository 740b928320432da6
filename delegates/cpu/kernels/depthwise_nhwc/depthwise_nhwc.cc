#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#include "sdk/base/half.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

enum class End { kAsItIs, kClip, kHardSwish };
// T: float, or bfloat16 as uint16_t.
template <class T>
struct Lines {
  const T* x;            // one image
  const float* filters;  // [kh, kw, C]
  T* y;                  // one image
  End end;
  VF lo, hi;
};

// Up to a vector of channels. Where there are at least as many as lanes, the last vector overlaps the one before it.
template <bool kPart>
HWY_INLINE VF load(const float* from, size_t lanes) {
  if constexpr (kPart) return hn::LoadN(DF(), from, lanes);
  return hn::LoadU(DF(), from);
}
template <bool kPart>
HWY_INLINE VF load(const uint16_t* from, size_t lanes) {
  if constexpr (kPart) return widened(from, lanes);
  return widened(from);
}
template <bool kPart, class T>
HWY_INLINE void store(VF v, const Lines<T>& l, T* to, size_t lanes) {
  if (l.end == End::kClip) {
    v = clip(DF(), v, l.lo, l.hi);
  } else if (l.end == End::kHardSwish) {
    v = hard_swish_f32(DF(), v);
  }
  if constexpr (sizeof(T) == sizeof(uint16_t)) {
    const hn::Rebind<uint16_t, DF> half;
    const auto words = narrowed(v);
    if constexpr (kPart) {
      hn::StoreN(words, half, to, lanes);
    } else {
      hn::StoreU(words, half, to);
    }
  } else if constexpr (kPart) {
    hn::StoreN(v, DF(), to, lanes);
  } else {
    hn::StoreU(v, DF(), to);
  }
}

// Some neighbouring outputs of a line, and the input that they see.
struct Strip {
  int64_t oy, ox;
  int64_t c0, c1;     // channels
  int64_t low, high;  // columns of the window of all, from the first output's on, that lie in the image
};

// kCount outputs whose windows are kWidth columns wide and kStride apart: a column is loaded once for all that see it,
// and a row of the filter once for all. 7 sums, 5 of the filter and a column fit into 16 registers, and are more chains
// than the latency of two FMA ports asks for. Taps are summed row by row, as in `pixel_any`.
template <class T, int kCount, int kWidth, int kStride, bool kEdge, bool kPart>
HWY_NOINLINE void strip_outputs(const DepthwiseF32& s, const Lines<T>& l, const Strip& t) {
  const Window& w = s.window;
  const int64_t channels = s.channels, line = w.in_w * channels;
  const int64_t top = t.oy * w.stride_h - w.pad_top;
  int64_t i0 = 0, i1 = w.kernel_h;
  while (i0 < i1 && top + i0 * w.dilation_h < 0) ++i0;
  while (i1 > i0 && top + (i1 - 1) * w.dilation_h >= w.in_h) --i1;
  const int64_t corner = (top + i0 * w.dilation_h) * line + (t.ox * kStride - w.pad_left) * channels;
  const float* const filters = l.filters + i0 * kWidth * channels;
  T* const to = l.y + (t.oy * w.out_w + t.ox) * channels;
  const size_t lanes = kPart ? static_cast<size_t>(t.c1 - t.c0) : 0;
  for (int64_t next = t.c0; next < t.c1; next += kLanes) {
    const int64_t c = kPart || next + kLanes <= t.c1 ? next : t.c1 - kLanes;
    VF acc[kCount];
    const VF bias = s.bias != nullptr ? load<kPart>(s.bias + c, lanes) : hn::Zero(DF());
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) acc[n] = bias;
    int64_t from = corner + c;
    const float* filter = filters + c;
    for (int64_t i = i0; i < i1; ++i) {
      VF k[kWidth];
      VIREO_UNROLL
      for (int j = 0; j < kWidth; ++j) k[j] = load<kPart>(filter + j * channels, lanes);
      VIREO_UNROLL
      for (int j = 0; j < (kCount - 1) * kStride + kWidth; ++j) {
        if (kEdge && (j < t.low || j >= t.high)) continue;
        const VF v = load<kPart>(l.x + from + j * channels, lanes);
        VIREO_UNROLL
        for (int n = 0; n < kCount; ++n) {
          const int tap = j - n * kStride;
          if (tap >= 0 && tap < kWidth) acc[n] = hn::MulAdd(v, k[tap], acc[n]);
        }
      }
      from += w.dilation_h * line;
      filter += kWidth * channels;
    }
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) store<kPart>(acc[n], l, to + n * channels + c, lanes);
  }
}

template <class T>
using StripOutputs = void (*)(const DepthwiseF32&, const Lines<T>&, const Strip&);
constexpr int kMostOutputs = 7;
template <class T, int kWidth, int kStride, bool kEdge>
constexpr StripOutputs<T> kStrips[kMostOutputs + 1] = {nullptr,
                                                       strip_outputs<T, 1, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 2, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 3, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 4, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 5, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 6, kWidth, kStride, kEdge, false>,
                                                       strip_outputs<T, 7, kWidth, kStride, kEdge, false>};

// Lines [oy0, oy1) of one image. Columns go in strips from top to bottom, of so few channels that the rows of a window
// stay in the first-level cache for the lines that follow.
constexpr int64_t kStripFloats = 6 * 1024;
template <class T, int kWidth, int kStride>
HWY_INLINE void lines_of_strips(const DepthwiseF32& s, const Lines<T>& l, int64_t oy0, int64_t oy1) {
  const Window& w = s.window;
  const int64_t strips = (w.out_w + kMostOutputs - 1) / kMostOutputs, low = w.out_w / strips, extra = w.out_w % strips;
  const bool part = s.channels < kLanes;
  const int64_t seen = w.kernel_h * ((kMostOutputs - 1) * kStride + kWidth);
  int64_t step = kStripFloats / seen / kLanes * kLanes;
  if (step < 2 * kLanes) step = 2 * kLanes;
  Strip t;
  t.ox = 0;
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t count = low + (strip < extra ? 1 : 0), left = t.ox * kStride - w.pad_left;
    const int64_t columns = (count - 1) * kStride + kWidth;
    t.low = left < 0 ? -left : 0;
    t.high = w.in_w - left;
    const bool edge = t.low > 0 || t.high < columns;
    const StripOutputs<T> kernel =
        (edge ? kStrips<T, kWidth, kStride, true> : kStrips<T, kWidth, kStride, false>)[count];
    for (t.c0 = 0; t.c0 < s.channels; t.c0 = t.c1) {
      // The last vector of a block may overlap the one before: it needs one whole vector.
      t.c1 = s.channels - t.c0 < step + kLanes ? s.channels : t.c0 + step;
      for (t.oy = oy0; t.oy < oy1; ++t.oy) {
        if (!part) {
          kernel(s, l, t);
          continue;
        }
        Strip one = t;
        for (; one.ox < t.ox + count; ++one.ox) {
          strip_outputs<T, 1, kWidth, kStride, true, true>(s, l, one);
          one.low -= kStride;
          one.high -= kStride;
        }
      }
    }
    t.ox += count;
  }
}

// Any window: four vectors of a pixel at a time.
template <int kVectors, bool kPart, class T>
HWY_INLINE void pixel_any(const DepthwiseF32& s, const Lines<T>& l, int64_t oy, int64_t ox, int64_t c, size_t lanes) {
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
      const T* const from = l.x + (y * w.in_w + x) * s.channels + c;
      const float* const k = l.filters + (i * w.kernel_w + j) * s.channels + c;
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v)
        acc[v] = hn::MulAdd(load<kPart>(from + v * kLanes, lanes), load<kPart>(k + v * kLanes, lanes), acc[v]);
    }
  }
  T* const to = l.y + (oy * w.out_w + ox) * s.channels + c;
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) store<kPart>(acc[v], l, to + v * kLanes, lanes);
}

template <class T>
HWY_INLINE void line_any(const DepthwiseF32& s, const Lines<T>& l, int64_t oy) {
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

template <class T>
using LinesOf = void (*)(const DepthwiseF32&, const Lines<T>&, int64_t, int64_t);
template <class T>
void lines_any(const DepthwiseF32& s, const Lines<T>& l, int64_t oy0, int64_t oy1) {
  for (int64_t oy = oy0; oy < oy1; ++oy) line_any(s, l, oy);
}
template <class T>
LinesOf<T> lines_of(const Window& w) {
  if (w.dilation_w != 1 || w.stride_w > 2) return lines_any<T>;
  if (w.kernel_w == 3) return w.stride_w == 1 ? lines_of_strips<T, 3, 1> : lines_of_strips<T, 3, 2>;
  if (w.kernel_w == 5) return w.stride_w == 1 ? lines_of_strips<T, 5, 1> : lines_of_strips<T, 5, 2>;
  return lines_any<T>;
}

template <class T>
Lines<T> lines_for(const DepthwiseF32& s, const float* filters, Activation kind) {
  Lines<T> l;
  l.filters = filters;
  l.end = kind == Activation::kRelu || kind == Activation::kClip ? End::kClip
          : kind == Activation::kHardSwish                       ? End::kHardSwish
                                                                 : End::kAsItIs;
  l.lo = hn::Set(DF(), kind == Activation::kClip ? s.act.a : 0);
  l.hi = hn::Set(DF(), kind == Activation::kClip ? s.act.b : HUGE_VALF);
  return l;
}

// Output lines [begin, end) of N * OH. What strips cannot do follows while some lines are in the cache.
constexpr int64_t kLaterFloats = 16 * 1024;
void depthwise_lines(const DepthwiseF32& s, const float* x, const float* filters, float* y, int64_t begin,
                     int64_t end) {
  const Window& w = s.window;
  const int64_t in_image = w.in_h * w.in_w * s.channels, out_line = w.out_w * s.channels;
  const Activation kind = s.residual == nullptr && s.slope == nullptr ? s.act.kind : Activation::kNone;
  const bool later = s.residual != nullptr || s.slope != nullptr || !depthwise_nhwc_ends(kind);
  Lines<float> l = lines_for<float>(s, filters, kind);
  const LinesOf<float> lines = lines_of<float>(w);
  const int64_t few = 1 + kLaterFloats / out_line;
  for (int64_t line = begin; line < end;) {
    const int64_t image = line / w.out_h, oy = line % w.out_h;
    int64_t count = end - line < w.out_h - oy ? end - line : w.out_h - oy;
    if (later && count > few) count = few;
    l.x = x + image * in_image;
    l.y = y + image * w.out_h * out_line;
    lines(s, l, oy, oy + count);
    if (later) {
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

// The same in bfloat16, with an end that strips can do.
void depthwise_lines_bf16(const DepthwiseF32& s, const uint16_t* x, const float* filters, uint16_t* y, int64_t begin,
                          int64_t end) {
  const Window& w = s.window;
  Lines<uint16_t> l = lines_for<uint16_t>(s, filters, s.act.kind);
  const LinesOf<uint16_t> lines = lines_of<uint16_t>(w);
  for (int64_t line = begin, count = 0; line < end; line += count) {
    const int64_t image = line / w.out_h, oy = line % w.out_h;
    count = end - line < w.out_h - oy ? end - line : w.out_h - oy;
    l.x = x + image * w.in_h * w.in_w * s.channels;
    l.y = y + image * w.out_h * w.out_w * s.channels;
    lines(s, l, oy, oy + count);
  }
}

void widen_filters(const uint16_t* from, int64_t channels, int64_t taps, float* to) {
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t c = 0; c < channels; ++c) to[t * channels + c] = bf16_to_f32(from[c * taps + t]);
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
HWY_EXPORT(depthwise_lines_bf16);
HWY_EXPORT(turn_filters);
HWY_EXPORT(widen_filters);

namespace {
// As many multiplications take about 5 us; lines go in pairs. Small pieces pay here: the input lies in the caches of
// the cores that wrote it.
int64_t grain_of(const DepthwiseF32& s) {
  const Window& w = s.window;
  return ((int64_t{3} << 16) / (w.out_w * s.channels * w.kernel_h * w.kernel_w + 1) + 2) / 2 * 2;
}
bool empty(const DepthwiseF32& s) { return s.n <= 0 || s.channels <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0; }
}  // namespace

size_t depthwise_nhwc_f32_scratch_bytes(const DepthwiseF32& s) {
  return empty(s) ? 0 : static_cast<size_t>(s.window.kernel_h * s.window.kernel_w * s.channels) * sizeof(float);
}

void depthwise_nhwc_f32(const DepthwiseF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                        void* scratch) {
  if (empty(s)) return;
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  float* const filters = static_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(turn_filters)(weights, s.channels, taps, filters);
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines);
  parallel.for_range(s.n * s.window.out_h, grain_of(s),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, filters, y, begin, end); });
}

bool depthwise_nhwc_ends(Activation kind) {
  return kind == Activation::kNone || kind == Activation::kRelu || kind == Activation::kClip ||
         kind == Activation::kHardSwish;
}

void depthwise_nhwc_bf16(const DepthwiseF32& s, const uint16_t* x, const uint16_t* weights, uint16_t* y,
                         const Parallel& parallel, void* scratch) {
  if (empty(s)) return;
  float* const filters = static_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(widen_filters)(weights, s.channels, s.window.kernel_h * s.window.kernel_w, filters);
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines_bf16);
  parallel.for_range(s.n * s.window.out_h, grain_of(s),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, filters, y, begin, end); });
}
}  // namespace vireo::cpu
#endif

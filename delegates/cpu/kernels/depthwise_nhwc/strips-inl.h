// Lines of a depthwise convolution channels last, in strips of neighbouring outputs; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_STRIPS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_STRIPS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_STRIPS_INL_H_
#endif

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/depthwise/depthwise.h"
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
template <bool kPart>
HWY_INLINE void store(VF v, float* to, size_t lanes) {
  if constexpr (kPart) {
    hn::StoreN(v, DF(), to, lanes);
  } else {
    hn::StoreU(v, DF(), to);
  }
}
template <bool kPart>
HWY_INLINE void store(VF v, uint16_t* to, size_t lanes) {
  const hn::Rebind<uint16_t, DF> half;
  const auto words = narrowed(v);
  if constexpr (kPart) {
    hn::StoreN(words, half, to, lanes);
  } else {
    hn::StoreU(words, half, to);
  }
}
// The sums of kCount outputs, `step` elements apart. bfloat16 where the core does not round to it takes them from
// memory, one after the other: unrolled it would be as much code as the window.
template <class T>
constexpr bool kStoresAtOnce = sizeof(T) == sizeof(float) || (HWY_ARCH_X86 && HWY_NATIVE_DOT_BF16);
template <bool kPart, int kCount, class T>
HWY_INLINE void store_all(VF* acc, const Lines<T>& l, T* to, int64_t step, size_t lanes) {
  if (!kStoresAtOnce<T>) {
    HWY_ALIGN float sums[kCount * kLanes];
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) hn::Store(acc[n], DF(), sums + n * kLanes);
    VIREO_ROLLED
    for (int n = 0; n < kCount; ++n) {
      VF sum = hn::Load(DF(), sums + n * kLanes);
      if (l.end == End::kHardSwish) {
        sum = hard_swish_f32(DF(), sum);
      } else if (l.end == End::kClip) {
        sum = clip(DF(), sum, l.lo, l.hi);
      }
      store<kPart>(sum, to + n * step, lanes);
    }
    return;
  }
  if (l.end == End::kClip) {
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) acc[n] = clip(DF(), acc[n], l.lo, l.hi);
  } else if (l.end == End::kHardSwish) {
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) acc[n] = hard_swish_f32(DF(), acc[n]);
  }
  VIREO_UNROLL
  for (int n = 0; n < kCount; ++n) store<kPart>(acc[n], to + n * step, lanes);
}

// Some neighbouring outputs of a line, and what they see.
template <class T>
struct Strip {
  const T* x;  // what the first row of the first output's window begins at, which may lie outside of the image
  const float* filters;  // its first row
  int64_t rows;          // of the window that lie in the image
  int64_t row;           // elements from one to the next
  const float* bias;     // null: none
  T* y;
  int64_t c0, c1;     // channels
  int64_t low, high;  // columns of the window of all, from the first output's on, that lie in the image
};

// kCount outputs whose windows are kWidth columns wide and kStride apart: a column is loaded once for all that see it,
// and a row of the filter once for all. 7 sums, 5 of the filter and a column fit into 16 registers, and are more chains
// than the latency of two FMA ports asks for. Taps are summed row by row, as in `pixel_any`.
template <class T, int kCount, int kWidth, int kStride, bool kEdge>
HWY_NOINLINE void strip_outputs(int64_t channels, const Lines<T>& l, const Strip<T>& t) {
  for (int64_t next = t.c0; next < t.c1; next += kLanes) {
    const int64_t c = next + kLanes <= t.c1 ? next : t.c1 - kLanes;
    VF acc[kCount];
    const VF bias = t.bias != nullptr ? load<false>(t.bias + c, 0) : hn::Zero(DF());
    VIREO_UNROLL
    for (int n = 0; n < kCount; ++n) acc[n] = bias;
    const T* from = t.x + c;
    const float* filter = t.filters + c;
    for (int64_t i = t.rows; i > 0; --i) {
      VF k[kWidth];
      VIREO_UNROLL
      for (int j = 0; j < kWidth; ++j) k[j] = load<false>(filter + j * channels, 0);
      VIREO_UNROLL
      for (int j = 0; j < (kCount - 1) * kStride + kWidth; ++j) {
        if (kEdge && (j < t.low || j >= t.high)) continue;
        const VF v = load<false>(from + j * channels, 0);
        VIREO_UNROLL
        for (int n = 0; n < kCount; ++n) {
          const int tap = j - n * kStride;
          if (tap >= 0 && tap < kWidth) acc[n] = hn::MulAdd(v, k[tap], acc[n]);
        }
      }
      from += t.row;
      filter += kWidth * channels;
    }
    store_all<false, kCount>(acc, l, t.y + c, channels, 0);
  }
}

template <class T>
using StripOutputs = void (*)(int64_t, const Lines<T>&, const Strip<T>&);
// Where rounding takes many steps wider strips would save little beside it.
template <class T>
constexpr int kMostOutputs = kStoresAtOnce<T> ? 7 : 3;
template <class T>
constexpr int outputs_of(int count) {
  return count < kMostOutputs<T> ? count : kMostOutputs<T>;
}
// Long lines are strips of the most but for a few: those take the code of an edge where they have none.
template <class T, int kWidth, int kStride>
constexpr StripOutputs<T> kStrips[] = {nullptr,
                                       strip_outputs<T, 1, kWidth, kStride, true>,
                                       strip_outputs<T, 2, kWidth, kStride, true>,
                                       strip_outputs<T, 3, kWidth, kStride, true>,
                                       strip_outputs<T, outputs_of<T>(4), kWidth, kStride, true>,
                                       strip_outputs<T, outputs_of<T>(5), kWidth, kStride, true>,
                                       strip_outputs<T, outputs_of<T>(6), kWidth, kStride, true>,
                                       strip_outputs<T, outputs_of<T>(7), kWidth, kStride, true>};

// Lines [oy0, oy1) of one image. Columns go in strips from top to bottom, of so few channels that the rows of a window
// stay in the first-level cache for the lines that follow.
constexpr int64_t kStripFloats = 6 * 1024;
template <class T, int kWidth, int kStride>
HWY_INLINE void lines_of_strips(const DepthwiseF32& s, const Lines<T>& l, int64_t oy0, int64_t oy1) {
  const Window& w = s.window;
  constexpr int kMost = kMostOutputs<T>;
  const int64_t strips = (w.out_w + kMost - 1) / kMost, low = w.out_w / strips, extra = w.out_w % strips;
  const int64_t line = w.in_w * s.channels;
  const int64_t seen = w.kernel_h * ((kMost - 1) * kStride + kWidth);
  int64_t step = kStripFloats / seen / kLanes * kLanes;
  if (step < 2 * kLanes) step = 2 * kLanes;
  Strip<T> t;
  t.bias = s.bias;
  t.row = w.dilation_h * line;
  int64_t ox = 0;
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t count = low + (strip < extra ? 1 : 0), left = ox * kStride - w.pad_left;
    const int64_t columns = (count - 1) * kStride + kWidth;
    t.low = left < 0 ? -left : 0;
    t.high = w.in_w - left;
    const bool inside = t.low == 0 && t.high >= columns;
    const StripOutputs<T> kernel =
        inside && count == kMost ? strip_outputs<T, kMost, kWidth, kStride, false> : kStrips<T, kWidth, kStride>[count];
    for (t.c0 = 0; t.c0 < s.channels; t.c0 = t.c1) {
      // The last vector of a block may overlap the one before: it needs one whole vector.
      t.c1 = s.channels - t.c0 < step + kLanes ? s.channels : t.c0 + step;
      for (int64_t oy = oy0; oy < oy1; ++oy) {
        const int64_t top = oy * w.stride_h - w.pad_top;
        int64_t i0 = 0, i1 = w.kernel_h;
        while (i0 < i1 && top + i0 * w.dilation_h < 0) ++i0;
        while (i1 > i0 && top + (i1 - 1) * w.dilation_h >= w.in_h) --i1;
        t.x = l.x + (top + i0 * w.dilation_h) * line + left * s.channels;
        t.filters = l.filters + i0 * kWidth * s.channels;
        t.rows = i1 - i0;
        t.y = l.y + (oy * w.out_w + ox) * s.channels;
        kernel(s.channels, l, t);
      }
    }
    ox += count;
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
  store_all<kPart, kVectors>(acc, l, to, kLanes, lanes);
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

// Fewer channels than lanes, stride 1 along lines: a vector runs over neighbouring pixels, and so do the filters, each
// written out until it has a vector from any of its channels on. Pixels at the edges go one by one.
constexpr int64_t kMostFewTaps = 49;
struct FewTaps {
  int64_t i0, i1;  // rows of the window that lie in the image
  float filters[kMostFewTaps * 2 * kLanes];
  float bias[2 * kLanes];
};
// kVectors vectors of outputs from element `at` of a line on. from: what the first tap of its first element would see.
template <int kVectors, class T>
HWY_INLINE void few_channels(const DepthwiseF32& s, const Lines<T>& l, const FewTaps& t, const T* from, int64_t at,
                             T* to) {
  const Window& w = s.window;
  const float* filter[kVectors];
  VF acc[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t channel = (at + v * kLanes) % s.channels;
    filter[v] = t.filters + t.i0 * w.kernel_w * 2 * kLanes + channel;
    acc[v] = hn::LoadU(DF(), t.bias + channel);
  }
  for (int64_t i = t.i0; i < t.i1; ++i) {
    const T* x = from + at + i * w.dilation_h * w.in_w * s.channels;
    for (int64_t j = 0; j < w.kernel_w; ++j, x += w.dilation_w * s.channels) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[v] = hn::MulAdd(load<false>(x + v * kLanes, 0), hn::LoadU(DF(), filter[v]), acc[v]);
        filter[v] += 2 * kLanes;
      }
    }
  }
  store_all<false, kVectors>(acc, l, to + at, kLanes, 0);
}
HWY_INLINE bool has_few_channels(const DepthwiseF32& s) {
  const Window& w = s.window;
  const int64_t right = w.in_w + w.pad_left - (w.kernel_w - 1) * w.dilation_w;
  return w.stride_w == 1 && s.channels < kLanes && w.kernel_h * w.kernel_w <= kMostFewTaps &&
         ((right < w.out_w ? right : w.out_w) - w.pad_left) * s.channels >= kLanes;
}
template <class T>
void lines_of_few(const DepthwiseF32& s, const Lines<T>& l, int64_t oy0, int64_t oy1) {
  const Window& w = s.window;
  const int64_t channels = s.channels, taps = w.kernel_h * w.kernel_w;
  const int64_t inside = w.in_w + w.pad_left - (w.kernel_w - 1) * w.dilation_w;
  const int64_t left = w.pad_left, right = inside < w.out_w ? inside : w.out_w;
  FewTaps t;
  for (int64_t k = 0, c = 0; k < channels + kLanes - 1; ++k, c = c + 1 < channels ? c + 1 : 0) {
    t.bias[k] = s.bias != nullptr ? s.bias[c] : 0;
    for (int64_t tap = 0; tap < taps; ++tap) t.filters[tap * 2 * kLanes + k] = l.filters[tap * channels + c];
  }
  for (int64_t oy = oy0; oy < oy1; ++oy) {
    const int64_t top = oy * w.stride_h - w.pad_top;
    t.i0 = 0;
    t.i1 = w.kernel_h;
    while (t.i0 < t.i1 && top + t.i0 * w.dilation_h < 0) ++t.i0;
    while (t.i1 > t.i0 && top + (t.i1 - 1) * w.dilation_h >= w.in_h) --t.i1;
    const T* const from = l.x + (top * w.in_w - w.pad_left) * channels;
    T* const to = l.y + oy * w.out_w * channels;
    for (int64_t ox = 0; ox < left; ++ox) pixel_any<1, true>(s, l, oy, ox, 0, static_cast<size_t>(channels));
    for (int64_t ox = right; ox < w.out_w; ++ox) pixel_any<1, true>(s, l, oy, ox, 0, static_cast<size_t>(channels));
    const int64_t end = right * channels;
    int64_t at = left * channels;
    for (; at + 4 * kLanes <= end; at += 4 * kLanes) few_channels<4>(s, l, t, from, at, to);
    for (; at + kLanes <= end; at += kLanes) few_channels<1>(s, l, t, from, at, to);
    if (at < end) few_channels<1>(s, l, t, from, end - kLanes, to);
  }
}

template <class T>
LinesOf<T> lines_of(const DepthwiseF32& s) {
  const Window& w = s.window;
  if (has_few_channels(s)) return lines_of_few<T>;
  if (w.dilation_w != 1 || w.stride_w > 2 || s.channels < kLanes) return lines_any<T>;
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

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

#include "delegates/cpu/kernels/pool_nhwc/pool_nhwc.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool_nhwc/pool_nhwc.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/math-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_TAPS_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_TAPS_
namespace vireo::cpu {
// The pixels of x that one output sees: `rows` x `columns`, the first at `from`.
struct Taps {
  const float* from;
  int64_t rows, columns, row_step, column_step;  // in floats
  float divisor;                                 // of a sum
};
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Keeps a NaN once it is there: comparisons with it are false, so it must not lose to v.
template <bool kIsMax>
HWY_INLINE VF join(VF a, VF v) {
  if constexpr (kIsMax) return hn::IfThenElse(hn::Or(hn::Gt(v, a), hn::IsNaN(v)), v, a);
  return hn::Add(a, v);
}

template <bool kIsMax, int kVectors>
HWY_INLINE void whole_vectors(const Taps& t, int64_t c, float* to) {
  const DF d;
  VF acc[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::Set(d, kIsMax ? -HUGE_VALF : 0.0f);
  for (int64_t i = 0; i < t.rows; ++i) {
    const float* from = t.from + i * t.row_step + c;
    for (int64_t j = 0; j < t.columns; ++j, from += t.column_step) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[v] = join<kIsMax>(acc[v], hn::LoadU(d, from + v * kLanes));
    }
  }
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(kIsMax ? acc[v] : divide(d, acc[v], hn::Set(d, t.divisor)), d, to + c + v * kLanes);
}

template <bool kIsMax>
HWY_INLINE void pixel(const Taps& t, int64_t channels, float* to) {
  const DF d;
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) whole_vectors<kIsMax, 4>(t, c, to);
  for (; c + kLanes <= channels; c += kLanes) whole_vectors<kIsMax, 1>(t, c, to);
  if (c == channels) return;
  const size_t lanes = static_cast<size_t>(channels - c);
  VF acc = hn::Set(d, kIsMax ? -HUGE_VALF : 0.0f);
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int64_t j = 0; j < t.columns; ++j)
      acc = join<kIsMax>(acc, hn::LoadN(d, t.from + i * t.row_step + j * t.column_step + c, lanes));
  }
  hn::StoreN(kIsMax ? acc : divide(d, acc, hn::Set(d, t.divisor)), d, to + c, lanes);
}

void pool_pixel(const Taps& t, int64_t channels, bool is_max, float* to) {
  is_max ? pixel<true>(t, channels, to) : pixel<false>(t, channels, to);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pool_pixel);

namespace {

// Taps that lie inside [0, size): the first one, and how many.
struct Inside {
  int64_t first, count;
  Inside(int64_t begin, int64_t taps, int64_t dilation, int64_t size) {
    first = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    const int64_t limit = size > begin ? (size - begin + dilation - 1) / dilation : 0;
    const int64_t last = limit < taps ? limit : taps;
    count = last > first ? last - first : 0;
  }
};

void global(const float* x, float* y, int64_t n, int64_t area, int64_t channels, bool is_max,
            const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(pool_pixel);
  constexpr int64_t kBlock = 64;  // channels
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  parallel.for_range(n * blocks, 65536 / (area * kBlock + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % blocks * kBlock, count = channels - c < kBlock ? channels - c : kBlock;
      const float* const from = x + i / blocks * area * channels + c;
      const Taps t = {from, 1, area, 0, channels, static_cast<float>(area)};
      kernel(t, count, is_max, y + i / blocks * channels + c);
    }
  });
}

}  // namespace

void pool_nhwc_f32(const PoolF32& s, int64_t channels, const float* x, float* y, const Parallel& parallel) {
  const Window& w = s.window;
  if (s.planes <= 0 || channels <= 0 || w.out_h <= 0 || w.out_w <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(pool_pixel);
  const bool is_max = s.kind == PoolKind::kMax, with_pad = s.kind == PoolKind::kAverageWithPad;
  const int64_t work = w.out_w * channels * w.kernel_h * w.kernel_w;
  parallel.for_range(
      s.planes / channels * w.out_h, (1 << 19) / (work + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
        for (int64_t line = begin; line < end; ++line) {
          const int64_t y0 = line % w.out_h * w.stride_h - w.pad_top;
          const float* const image = x + line / w.out_h * w.in_h * w.in_w * channels;
          const Inside rows(y0, w.kernel_h, w.dilation_h, w.in_h);
          const Inside high(y0 + w.pad_top, w.kernel_h, w.dilation_h, w.in_h + w.pad_top + s.pad_bottom);
          for (int64_t ox = 0; ox < w.out_w; ++ox) {
            const int64_t x0 = ox * w.stride_w - w.pad_left;
            const Inside columns(x0, w.kernel_w, w.dilation_w, w.in_w);
            const Inside wide(x0 + w.pad_left, w.kernel_w, w.dilation_w, w.in_w + w.pad_left + s.pad_right);
            Taps t;
            t.rows = rows.count;
            t.columns = columns.count;
            t.row_step = w.dilation_h * w.in_w * channels;
            t.column_step = w.dilation_w * channels;
            t.from = image + ((y0 + rows.first * w.dilation_h) * w.in_w + x0 + columns.first * w.dilation_w) * channels;
            t.divisor = static_cast<float>(with_pad ? high.count * wide.count : rows.count * columns.count);
            kernel(t, channels, is_max, y + (line * w.out_w + ox) * channels);
          }
        }
      });
}

void global_average_nhwc_f32(const float* x, float* y, int64_t n, int64_t area, int64_t channels,
                             const Parallel& parallel) {
  global(x, y, n, area, channels, false, parallel);
}
void global_max_nhwc_f32(const float* x, float* y, int64_t n, int64_t area, int64_t channels,
                         const Parallel& parallel) {
  global(x, y, n, area, channels, true, parallel);
}
}  // namespace vireo::cpu
#endif

// Copies the band of a plane that a run of output rows sees; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_WINDOW_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_WINDOW_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_WINDOW_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/window.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void fill_floats(float* to, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

// Some tap of a row of `taps` reads positions of this remainder modulo the stride.
HWY_INLINE bool is_seen(int64_t remainder, int64_t taps, int64_t dilation, int64_t stride) {
  for (int64_t i = 0; i < taps; ++i) {
    if (i * dilation % stride == remainder) return true;
  }
  return false;
}

// `to` starts out filled with the padding value; only what can change between planes and bands is written. `fresh`: no
// band of other rows was there before, so rows of padding still hold it.
HWY_INLINE void copy_band(const Window& w, const Band& band, const float* plane, int64_t y0, int64_t rows,
                          float padding, bool fresh, float* to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  const int64_t in_rows = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
  // Columns that any tap reaches: behind them the copy has no room.
  const int64_t reach = (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1 - w.pad_left;
  const int64_t width = reach < w.in_w ? reach : w.in_w;
  const float* const plane_end = plane + w.in_h * w.in_w;
  const bool all_rows = w.kernel_h >= w.stride_h;
  for (int64_t r = 0; r < in_rows; ++r, to += band.pitch) {
    if (!all_rows && !is_seen(r % w.stride_h, w.kernel_h, w.dilation_h, w.stride_h)) continue;
    const int64_t y = y0 * w.stride_h - w.pad_top + r;
    if (y < 0 || y >= w.in_h) {
      if (!fresh) fill_floats(to, band.pitch, padding);
      continue;
    }
    const float* from = plane + y * w.in_w;
    if (band.phases == 1) {
      int64_t x = 0;
      float* const row = to + w.pad_left;
      for (; x + kLanes <= width; x += kLanes) hn::StoreU(hn::LoadU(d, from + x), d, row + x);
      if (x < width) {
        const size_t rest = static_cast<size_t>(width - x);
        hn::StoreN(hn::LoadN(d, from + x, rest), d, row + x, rest);
      }
      continue;
    }
    int64_t x = 0;
    if (band.phases == 2) {
      // The first column's remainder decides which half goes where.
      const int64_t even = w.pad_left % 2, at = w.pad_left / 2;
      float* const first = to + even * band.phase + at;
      float* const second = to + (1 - even) * band.phase + at + even;
      for (; x + 2 * kLanes <= width; x += 2 * kLanes) {
        hn::Vec<decltype(d)> low, high;
        hn::LoadInterleaved2(d, from + x, low, high);
        hn::StoreU(low, d, first + x / 2);
        hn::StoreU(high, d, second + x / 2);
      }
      if (x < width && from + x + 2 * kLanes <= plane_end) {
        hn::Vec<decltype(d)> low, high;
        hn::LoadInterleaved2(d, from + x, low, high);
        hn::StoreN(low, d, first + x / 2, static_cast<size_t>((width - x + 1) / 2));
        hn::StoreN(high, d, second + x / 2, static_cast<size_t>((width - x) / 2));
        continue;
      }
      for (; x < width; x += 2) {
        first[x / 2] = from[x];
        if (x + 1 < width) second[x / 2] = from[x + 1];
      }
      continue;
    }
    for (int64_t p = 0; p < band.phases; ++p) {
      if (!is_seen(p, w.kernel_w, w.dilation_w, band.phases)) continue;
      const int64_t column = w.pad_left + (p + band.phases - w.pad_left % band.phases) % band.phases;
      float* next = to + p * band.phase + column / band.phases;
      for (x = column - w.pad_left; x < width; x += band.phases) *next++ = from[x];
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

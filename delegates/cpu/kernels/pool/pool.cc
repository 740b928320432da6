#include "delegates/cpu/kernels/pool/pool.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool/pool.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"
#include "delegates/cpu/kernels/window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// Inputs that a window sees along one axis, from its first position.
HWY_INLINE int64_t seen(int64_t begin, int64_t taps, int64_t dilation, int64_t size) {
  // Without a division where there is no need: they take longer than small windows.
  const auto steps = [dilation](int64_t n) { return dilation == 1 ? n : (n + dilation - 1) / dilation; };
  const int64_t first = begin < 0 ? steps(-begin) : 0;
  const int64_t limit = size > begin ? steps(size - begin) : 0;
  const int64_t last = limit < taps ? limit : taps;
  return last > first ? last - first : 0;
}

template <bool kIsMax, class D>
HWY_INLINE void pool_rows(D d, const PoolF32& s, const Band& band, const float* copy, const int64_t* taps, int64_t y0,
                          int64_t rows, float* to) {
  using V = hn::Vec<D>;
  const Window& w = s.window;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t count = w.kernel_h * w.kernel_w;
  const bool with_pad = s.kind == PoolKind::kAverageWithPad;
  const int64_t top = with_pad ? w.pad_top : 0, left = with_pad ? w.pad_left : 0;
  const int64_t height = w.in_h + (with_pad ? w.pad_top + s.pad_bottom : 0);
  const int64_t width = w.in_w + (with_pad ? w.pad_left + s.pad_right : 0);
  for (int64_t row = 0; row < rows; ++row, to += w.out_w) {
    const float* from = copy + row * w.stride_h * band.pitch;
    for (int64_t x = 0; x < w.out_w; x += kLanes) {
      V acc = hn::LoadU(d, from + taps[0] + x);
      for (int64_t t = 1; t < count; ++t) {
        const V v = hn::LoadU(d, from + taps[t] + x);
        if constexpr (kIsMax) {
          // Keeps a NaN once it is there: comparisons with it are false, so it must not lose to v.
          acc = hn::IfThenElse(hn::Or(hn::Gt(v, acc), hn::IsNaN(v)), v, acc);
        } else {
          acc = hn::Add(acc, v);
        }
      }
      const int64_t lanes = w.out_w - x < kLanes ? w.out_w - x : kLanes;
      hn::StoreN(acc, d, to + x, static_cast<size_t>(lanes));
    }
    if constexpr (!kIsMax) {
      const int64_t high = seen((y0 + row) * w.stride_h - w.pad_top + top, w.kernel_h, w.dilation_h, height);
      const int64_t reach = (w.kernel_w - 1) * w.dilation_w + 1;
      for (int64_t x = 0; x < w.out_w; ++x) {
        const int64_t at = x * w.stride_w - w.pad_left + left;
        const bool inside = at >= 0 && at + reach <= width;  // saves two integer divisions per output
        to[x] /= static_cast<float>(high * (inside ? w.kernel_w : seen(at, w.kernel_w, w.dilation_w, width)));
      }
    }
  }
}

// Windows that overlap little, as they lie: large strides leave most of what a band would copy unread.
constexpr int64_t kDirectColumns = 256;
HWY_INLINE bool is_direct(const Window& w) {
  return w.stride_w > 2 && w.out_w <= kDirectColumns && w.out_h * w.out_w * w.kernel_h * w.kernel_w <= w.in_h * w.in_w;
}

// The taps of a window that lie inside, along one axis.
struct Inside {
  int64_t at = 0;  // of the first of them
  int64_t taps = 0;
  int64_t divisor = 0;  // taps that an average counts
};
HWY_INLINE Inside inside(int64_t begin, int64_t taps, int64_t dilation, int64_t size, int64_t before, int64_t after) {
  Inside in;
  in.taps = seen(begin, taps, dilation, size);
  in.at = begin;
  if (begin < 0) in.at = dilation == 1 ? 0 : begin + (-begin + dilation - 1) / dilation * dilation;
  in.divisor = seen(begin + before, taps, dilation, size + before + after);
  return in;
}

template <bool kIsMax>
void pool_windows(const PoolF32& s, const float* x, float* y, int64_t begin, int64_t end) {
  const Window& w = s.window;
  const bool with_pad = s.kind == PoolKind::kAverageWithPad;
  const hn::CappedTag<float, 1> one;
  Inside columns[kDirectColumns];
  for (int64_t i = 0; i < w.out_w; ++i)
    columns[i] = inside(i * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, w.in_w, with_pad ? w.pad_left : 0,
                        with_pad ? s.pad_right : 0);
  for (int64_t plane = begin; plane < end; ++plane) {
    const float* const from = x + plane * w.in_h * w.in_w;
    float* to = y + plane * w.out_h * w.out_w;
    for (int64_t row = 0; row < w.out_h; ++row, to += w.out_w) {
      const Inside r = inside(row * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, w.in_h, with_pad ? w.pad_top : 0,
                              with_pad ? s.pad_bottom : 0);
      for (int64_t i = 0; i < w.out_w; ++i) {
        const Inside& c = columns[i];
        auto acc = hn::Set(one, kIsMax ? -HUGE_VALF : 0);
        const float* line = from + r.at * w.in_w + c.at;
        for (int64_t a = 0; a < r.taps; ++a, line += w.dilation_h * w.in_w) {
          for (int64_t b = 0; b < c.taps; ++b) {
            const auto v = hn::LoadU(one, line + b * w.dilation_w);
            if constexpr (kIsMax) {  // without branches, which values would decide
              acc = hn::IfThenElse(hn::Or(hn::Gt(v, acc), hn::IsNaN(v)), v, acc);
            } else {
              acc = hn::Add(acc, v);
            }
          }
        }
        to[i] = kIsMax ? hn::GetLane(acc) : hn::GetLane(acc) / static_cast<float>(r.divisor * c.divisor);
      }
    }
  }
}

void pool_planes(const PoolF32& s, const float* x, float* y, int64_t begin, int64_t end, void* scratch) {
  const Window& w = s.window;
  if (is_direct(w)) {
    s.kind == PoolKind::kMax ? pool_windows<true>(s, x, y, begin, end) : pool_windows<false>(s, x, y, begin, end);
    return;
  }
  const Band band(w);
  const int64_t count = w.kernel_h * w.kernel_w;
  int64_t* const taps = static_cast<int64_t*>(scratch);
  float* const copy = reinterpret_cast<float*>(taps + (count + 7) / 8 * 8);
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    for (int64_t j = 0; j < w.kernel_w; ++j) taps[i * w.kernel_w + j] = band.tap(w, i, j);
  }
  const bool is_max = s.kind == PoolKind::kMax;
  const float padding = is_max ? -HUGE_VALF : 0;
  fill_floats(copy, band.floats, padding);
  const bool one_band = band.rows == w.out_h;
  for (int64_t plane = begin; plane < end; ++plane) {
    for (int64_t y0 = 0; y0 < w.out_h; y0 += band.rows) {
      const int64_t rows = w.out_h - y0 < band.rows ? w.out_h - y0 : band.rows;
      copy_band(w, band, x + plane * w.in_h * w.in_w, y0, rows, padding, one_band, copy);
      float* const to = y + (plane * w.out_h + y0) * w.out_w;
      const hn::ScalableTag<float> wide;
      const hn::CappedTag<float, 8> narrow;
      if (is_max) {
        w.out_w <= 8 ? pool_rows<true>(narrow, s, band, copy, taps, y0, rows, to)
                     : pool_rows<true>(wide, s, band, copy, taps, y0, rows, to);
      } else {
        w.out_w <= 8 ? pool_rows<false>(narrow, s, band, copy, taps, y0, rows, to)
                     : pool_rows<false>(wide, s, band, copy, taps, y0, rows, to);
      }
    }
  }
}

template <bool kIsMax>
HWY_INLINE float fold(const float* x, int64_t area) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  const auto join = [](V a, V v) HWY_ATTR {
    if constexpr (kIsMax) {
      return hn::IfThenElse(hn::Or(hn::Gt(v, a), hn::IsNaN(v)), v, a);
    } else {
      return hn::Add(a, v);
    }
  };
  // Four chains hide the latency of addition.
  const V start = hn::Set(d, kIsMax ? -HUGE_VALF : 0.0f);
  V acc[4] = {start, start, start, start};
  int64_t i = 0;
  for (; i + 4 * kLanes <= area; i += 4 * kLanes) {
    VIREO_UNROLL
    for (int j = 0; j < 4; ++j) acc[j] = join(acc[j], hn::LoadU(d, x + i + j * kLanes));
  }
  for (; i + kLanes <= area; i += kLanes) acc[0] = join(acc[0], hn::LoadU(d, x + i));
  if (i < area) {
    const V rest = hn::LoadN(d, x + i, static_cast<size_t>(area - i));
    const auto valid = hn::FirstN(d, static_cast<size_t>(area - i));
    acc[1] = hn::IfThenElse(valid, join(acc[1], rest), acc[1]);
  }
  const V all = join(join(acc[0], acc[1]), join(acc[2], acc[3]));
  if constexpr (kIsMax) {
    if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(all)))) return hn::ReduceMax(d, all);
    return NAN;
  } else {
    return sum_lanes(d, all) / static_cast<float>(area);
  }
}

void global_pool(const float* x, float* y, int64_t planes, int64_t area, bool is_max) {
  for (int64_t i = 0; i < planes; ++i) y[i] = is_max ? fold<true>(x + i * area, area) : fold<false>(x + i * area, area);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pool_planes);
HWY_EXPORT(global_pool);

namespace {
size_t slot_bytes(const PoolF32& s, Sizes sizes) {
  const Band band(s.window);
  const size_t taps = static_cast<size_t>((s.window.kernel_h * s.window.kernel_w + 7) / 8 * 8) * sizeof(int64_t);
  return (taps + static_cast<size_t>(sizes == Sizes::kFixed ? band.floats : band.most) * sizeof(float) + 63) &
         ~size_t{63};
}
bool empty(const PoolF32& s) { return s.planes <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0; }

void global(const float* x, float* y, int64_t planes, int64_t area, bool is_max, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(global_pool);
  parallel.for_range(planes, 65536 / (area + 8) + 1, [&](int64_t begin, int64_t end, int32_t) {
    kernel(x + begin * area, y + begin, end - begin, area, is_max);
  });
}
}  // namespace

size_t pool_f32_scratch_bytes(const PoolF32& s, int32_t slots, Sizes sizes) {
  return empty(s) ? 0 : slot_bytes(s, sizes) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void pool_f32(const PoolF32& s, const float* x, float* y, const Parallel& parallel, void* scratch) {
  if (empty(s)) return;
  const auto kernel = HWY_DYNAMIC_POINTER(pool_planes);
  const size_t room = slot_bytes(s, Sizes::kFixed);
  const int64_t work = s.window.out_h * s.window.out_w * s.window.kernel_h * s.window.kernel_w + 500;
  parallel.for_range(s.planes, (1 << 19) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, y, begin, end, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}

void global_average_f32(const float* x, float* y, int64_t planes, int64_t area, const Parallel& parallel) {
  global(x, y, planes, area, false, parallel);
}
void global_max_f32(const float* x, float* y, int64_t planes, int64_t area, const Parallel& parallel) {
  global(x, y, planes, area, true, parallel);
}
}  // namespace vireo::cpu
#endif

#include "delegates/cpu/kernels/pool/pool.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool/pool.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_LINES_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_LINES_
namespace vireo::cpu {
constexpr int64_t kPoolFloats = 2048;  // of lines at a time: twice that is half of a first-level cache
constexpr int64_t kPoolSlack = 32;     // what vectors read beyond

// What `columns` outputs see of a line; a multiple of small strides, so that windows of several lines are picked alike.
inline int64_t pool_line(const Window& w, int64_t columns) {
  const int64_t seen = (columns - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1;
  return w.stride_w > 4 ? seen : (seen + w.stride_w - 1) / w.stride_w * w.stride_w;
}
// Outputs of a line at a time, and lines.
inline int64_t pool_columns(const Window& w) {
  const int64_t most = (kPoolFloats - pool_line(w, 1)) / w.stride_w + 1;
  return most < 1 ? 1 : most < w.out_w ? most : w.out_w;
}
inline int64_t pool_rows(const Window& w, int64_t columns) {
  const int64_t rows = kPoolFloats / pool_line(w, columns);
  return rows < 1 ? 1 : rows;
}
// Floats of lines, and of what the last of them reads beyond its end.
inline int64_t pool_line_floats(const PoolF32& s) {
  const int64_t reach = pool_line(s.window, 1), most = kPoolFloats < reach ? reach : kPoolFloats;
  const int64_t all = s.planes * s.window.out_h * pool_line(s.window, s.window.out_w);
  return (all < most ? all : most) + reach + kPoolSlack;
}
}  // namespace vireo::cpu
#endif

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

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// load(0), ..., load(taps - 1) joined. A NaN is looked for beside the maximum, which may lose it.
template <bool kIsMax, class Load>
HWY_INLINE VF join_taps(int64_t taps, const Load& load) {
  const DF d;
  VF acc = load(0);
  if (taps == 1) return acc;
  if constexpr (kIsMax) {
    auto nan = hn::IsNaN(acc);
    int64_t t = 1;
    for (; t + 1 < taps; t += 2) {
      const VF a = load(t), b = load(t + 1);
      acc = hn::Max(acc, hn::Max(a, b));
      nan = hn::Or(nan, hn::IsEitherNaN(a, b));
    }
    if (t < taps) {
      const VF v = load(t);
      acc = hn::Max(acc, v);
      nan = hn::Or(nan, hn::IsNaN(v));
    }
    return hn::IfThenElse(nan, hn::NaN(d), acc);
  } else {
    for (int64_t t = 1; t < taps; ++t) acc = hn::Add(acc, load(t));
    return acc;
  }
}

// `taps` lines that lie `step` apart.
template <bool kIsMax>
HWY_INLINE void join_lines(const float* from, int64_t taps, int64_t step, int64_t count, float* to) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(join_taps<kIsMax>(taps, [&](int64_t t) HWY_ATTR { return hn::LoadU(d, from + i + t * step); }), d,
               to + i);
  if (i == count) return;
  const auto rest = static_cast<size_t>(count - i);
  const VF v = join_taps<kIsMax>(taps, [&](int64_t t) HWY_ATTR { return hn::LoadN(d, from + i + t * step, rest); });
  hn::StoreN(v, d, to + i, rest);
}

HWY_INLINE void fill_line(float value, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

// to[i] = from[i stride] factors[i]; of maxima without factors.
template <bool kIsMax>
HWY_INLINE void pick(const float* from, int64_t stride, int64_t count, const float* factors, float* to) {
  const DF d;
  int64_t i = 0;
  for (; stride <= 4 && i + kLanes <= count; i += kLanes) {
    const float* const x = from + i * stride;
    VF v, rest;
    if (stride == 1) v = hn::LoadU(d, x);
    if (stride == 2) hn::LoadInterleaved2(d, x, v, rest);
    if (stride == 3) hn::LoadInterleaved3(d, x, v, rest, rest);
    if (stride == 4) hn::LoadInterleaved4(d, x, v, rest, rest, rest);
    hn::StoreU(kIsMax ? v : hn::Mul(v, hn::LoadU(d, factors + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = kIsMax ? from[i * stride] : from[i * stride] * factors[i];
}

// Columns [x0, x0 + columns) of the output; of lines, what lies before the image and in it.
struct PoolColumns {
  int64_t x0, columns, wide, left, inside;
  const float *along, *factors;  // inputs that a window sees along a line; one over as many in a whole window
  bool joined;                   // outputs of lines that follow each other do, too: `factors` has those of all lines
};

// Output rows [row0, row0 + rows) of the planes. Each line is joined over the rows of its window first. Those lines
// lie one behind the other in `lines`, with their padding, and are joined over the columns at once: what goes across
// their ends is not picked.
template <bool kIsMax>
void pool_block(const PoolF32& s, const float* x, float* y, int64_t row0, int64_t rows, const PoolColumns& c,
                float* lines, float* joined) {
  const DF d;
  const Window& w = s.window;
  const float padding = kIsMax ? -HUGE_VALF : 0;
  const bool with_pad = s.kind == PoolKind::kAverageWithPad;
  const int64_t top = with_pad ? w.pad_top : 0, height = w.in_h + (with_pad ? w.pad_top + s.pad_bottom : 0);
  const int64_t start = c.x0 * w.stride_w - w.pad_left + c.left, reach = (w.kernel_h - 1) * w.dilation_h;
  const auto begin_of = [&](int64_t row) { return row * w.stride_h - w.pad_top; };
  const float* plane = x + row0 / w.out_h * w.in_h * w.in_w + start;
  int64_t at = row0 % w.out_h;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t begin = begin_of(at), taps = w.kernel_h;
    if (begin < 0 || begin + reach >= w.in_h) {
      taps = seen(begin, w.kernel_h, w.dilation_h, w.in_h);
      if (begin < 0) begin += (w.dilation_h - 1 - begin) / w.dilation_h * w.dilation_h;
    }
    float* const line = lines + r * c.wide + c.left;
    if (taps > 0) {
      join_lines<kIsMax>(plane + begin * w.in_w, taps, w.dilation_h * w.in_w, c.inside, line);
    } else {
      fill_line(padding, c.inside, line);
    }
    if (++at < w.out_h) continue;
    at = 0;
    plane += w.in_h * w.in_w;
  }
  if (w.kernel_w == 1) {
    joined = lines;
  } else {
    for (int64_t i = 0; i < rows * c.wide; i += kLanes) {
      const auto load = [&](int64_t t) HWY_ATTR { return hn::LoadU(d, lines + i + t * w.dilation_w); };
      hn::StoreU(join_taps<kIsMax>(w.kernel_w, load), d, joined + i);
    }
  }
  at = row0 % w.out_h;
  float* to = y + row0 * w.out_w + c.x0;
  if (c.joined) pick<kIsMax>(joined, w.stride_w, rows * w.out_w, c.factors, to);
  for (int64_t r = 0; (!kIsMax || !c.joined) && r < rows; ++r, to += w.out_w) {
    const float* const line = joined + r * c.wide;
    const int64_t high = kIsMax ? w.kernel_h : seen(begin_of(at) + top, w.kernel_h, w.dilation_h, height);
    if (high == w.kernel_h) {
      if (!c.joined) pick<kIsMax>(line, w.stride_w, c.columns, c.factors, to);
    } else {
      for (int64_t i = 0; i < c.columns; ++i) to[i] = line[i * w.stride_w] / (static_cast<float>(high) * c.along[i]);
    }
    if (++at == w.out_h) at = 0;
  }
}

void pool_planes(const PoolF32& s, const float* x, float* y, int64_t begin, int64_t end, float* scratch) {
  const Window& w = s.window;
  const int64_t columns = pool_columns(w), end_row = end * w.out_h, room = pool_line_floats(s);
  const bool is_max = s.kind == PoolKind::kMax, with_pad = s.kind == PoolKind::kAverageWithPad;
  const int64_t before = with_pad ? w.pad_left : 0, after = with_pad ? s.pad_right : 0;
  float *const lines = scratch, *const joined = lines + room, *const along = joined + room;
  float* const factors = along + columns + kPoolSlack;
  PoolColumns c{};
  c.along = along;
  c.factors = factors;
  for (c.x0 = 0; c.x0 < w.out_w; c.x0 += columns) {
    c.columns = w.out_w - c.x0 < columns ? w.out_w - c.x0 : columns;
    c.wide = pool_line(w, c.columns);
    const int64_t first = c.x0 * w.stride_w - w.pad_left, beyond = w.in_w - first;
    c.left = first < 0 ? (-first < c.wide ? -first : c.wide) : 0;
    c.inside = beyond < c.left ? 0 : (beyond < c.wide ? beyond : c.wide) - c.left;
    for (int64_t i = 0; !is_max && i < c.columns; ++i) {
      along[i] = static_cast<float>(
          seen((c.x0 + i) * w.stride_w - w.pad_left + before, w.kernel_w, w.dilation_w, w.in_w + before + after));
      factors[i] = 1 / (static_cast<float>(w.kernel_h) * along[i]);
    }
    const int64_t rows = pool_rows(w, c.columns), first_row = begin * w.out_h;
    c.joined = c.columns == w.out_w && c.wide == w.out_w * w.stride_w;
    for (int64_t i = c.columns;
         !is_max && c.joined && i < (rows < end_row - first_row ? rows : end_row - first_row) * c.columns; ++i)
      factors[i] = factors[i - c.columns];
    for (int64_t r = 0; r < rows && r < end_row - first_row; ++r) {
      float* const line = lines + r * c.wide;
      fill_line(is_max ? -HUGE_VALF : 0, c.left, line);
      fill_line(is_max ? -HUGE_VALF : 0, c.wide - c.left - c.inside, line + c.left + c.inside);
    }
    for (int64_t row = first_row; row < end_row; row += rows) {
      (is_max ? pool_block<true> : pool_block<false>)(s, x, y, row, end_row - row < rows ? end_row - row : rows, c,
                                                      lines, joined);
    }
  }
}

template <bool kIsMax>
HWY_INLINE float fold(const float* x, int64_t area) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto join = [](V a, V v) HWY_ATTR {  // keeps a NaN once it is there: comparisons with it are false
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
// Lines before and after columns are joined, and divisors.
size_t slot_bytes(const PoolF32& s) {
  const int64_t out_w = s.window.out_w, columns = out_w < kPoolFloats ? out_w : kPoolFloats;
  const int64_t divisors = s.kind == PoolKind::kMax ? 0 : columns + pool_line_floats(s);
  return (static_cast<size_t>(2 * pool_line_floats(s) + divisors + 2 * kPoolSlack) * sizeof(float) + 63) & ~size_t{63};
}
bool empty(const PoolF32& s) { return s.planes <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0; }

void global(const float* x, float* y, int64_t planes, int64_t area, bool is_max, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(global_pool);
  parallel.for_range(planes, 65536 / (area + 8) + 1, [&](int64_t begin, int64_t end, int32_t) {
    kernel(x + begin * area, y + begin, end - begin, area, is_max);
  });
}
}  // namespace

size_t pool_f32_scratch_bytes(const PoolF32& s, int32_t slots) {
  return empty(s) ? 0 : slot_bytes(s) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void pool_f32(const PoolF32& s, const float* x, float* y, const Parallel& parallel, void* scratch) {
  if (empty(s)) return;
  const auto kernel = HWY_DYNAMIC_POINTER(pool_planes);
  const size_t room = slot_bytes(s);
  const int64_t work = s.window.out_h * s.window.out_w * (s.window.kernel_h + s.window.kernel_w) + 100;
  parallel.for_range(s.planes, (1 << 19) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, y, begin, end,
           reinterpret_cast<float*>(static_cast<char*>(scratch) + static_cast<size_t>(slot) * room));
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

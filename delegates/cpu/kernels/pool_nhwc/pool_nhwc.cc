#include "delegates/cpu/kernels/pool_nhwc/pool_nhwc.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool_nhwc/pool_nhwc.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/math-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_TAPS_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_TAPS_
namespace vireo::cpu {
// The pixels of x that an output sees: `rows` x `columns`, the first at `from`; and so do `outputs` neighbours, each
// `next` elements on. T: float, or bfloat16 as uint16_t.
template <class T>
struct Taps {
  const T* from;
  int64_t rows, columns, row_step, column_step;  // in elements
  float divisor;                                 // of a sum
  int64_t outputs, next;
};

// A line of maxima: the outputs of one line, and the rows of x that they see, of which the first begins at `from`.
// Windows step by `stride` and are `kernel` pixels wide, `dilation` apart.
template <class T>
struct MaxLine {
  static constexpr int64_t kMostColumns = 64;  // that a few outputs see at once

  const T* from;
  int64_t rows, row_step;  // in elements
  int64_t in_w, out_w, kernel, dilation, stride, pad_left, channels;
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

HWY_INLINE VF load(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE VF load(const float* from, size_t lanes) { return hn::LoadN(DF(), from, lanes); }
HWY_INLINE VF load(const uint16_t* from) { return widened(from); }
HWY_INLINE VF load(const uint16_t* from, size_t lanes) { return widened(from, lanes); }
HWY_INLINE void store(VF v, float* to) { hn::StoreU(v, DF(), to); }
HWY_INLINE void store(VF v, float* to, size_t lanes) { hn::StoreN(v, DF(), to, lanes); }
HWY_INLINE void store(VF v, uint16_t* to) {
  const hn::Rebind<uint16_t, DF> half;
  hn::StoreU(narrowed(v), half, to);
}
HWY_INLINE void store(VF v, uint16_t* to, size_t lanes) {
  const hn::Rebind<uint16_t, DF> half;
  hn::StoreN(narrowed(v), half, to, lanes);
}

// kVectors vectors of outputs: `from_step` elements apart in what they see, `to_step` in y.
template <bool kIsMax, int kVectors, class T>
HWY_INLINE void whole_vectors(const Taps<T>& t, const T* first, int64_t from_step, T* to, int64_t to_step) {
  const DF d;
  VF acc[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::Set(d, kIsMax ? -HUGE_VALF : 0.0f);
  for (int64_t i = 0; i < t.rows; ++i) {
    const T* from = first + i * t.row_step;
    for (int64_t j = 0; j < t.columns; ++j, from += t.column_step) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[v] = join<kIsMax>(acc[v], load(from + v * from_step));
    }
  }
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v)
    store(kIsMax ? acc[v] : divide(d, acc[v], hn::Set(d, t.divisor)), to + v * to_step);
}

template <bool kIsMax, class T>
HWY_INLINE void outputs_of(const Taps<T>& t, int64_t channels, T* to) {
  const DF d;
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
    for (int64_t o = 0; o < t.outputs; ++o)
      whole_vectors<kIsMax, 4>(t, t.from + o * t.next + c, kLanes, to + o * channels + c, kLanes);
  }
  for (; c + kLanes <= channels; c += kLanes) {
    int64_t o = 0;
    for (; o + 4 <= t.outputs; o += 4)
      whole_vectors<kIsMax, 4>(t, t.from + o * t.next + c, t.next, to + o * channels + c, channels);
    for (; o < t.outputs; ++o) whole_vectors<kIsMax, 1>(t, t.from + o * t.next + c, 0, to + o * channels + c, 0);
  }
  if (c == channels) return;
  const size_t lanes = static_cast<size_t>(channels - c);
  for (int64_t o = 0; o < t.outputs; ++o) {
    VF acc = hn::Set(d, kIsMax ? -HUGE_VALF : 0.0f);
    const T* const from = t.from + o * t.next + c;
    for (int64_t i = 0; i < t.rows; ++i) {
      for (int64_t j = 0; j < t.columns; ++j)
        acc = join<kIsMax>(acc, load(from + i * t.row_step + j * t.column_step, lanes));
    }
    store(kIsMax ? acc : divide(d, acc, hn::Set(d, t.divisor)), to + o * channels + c, lanes);
  }
}

// The greatest of values as they are compared: float32, whose NaN is kept once it is there, and bfloat16 as integers in
// the same order, whose least is -inf and whose greatest are the NaN of both signs.
struct MaxF32 {
  using V = VF;
  static constexpr size_t kWidth = hn::MaxLanes(DF());
  static V least() { return hn::Set(DF(), -HUGE_VALF); }
  static HWY_INLINE V load(const float* from, size_t lanes) {
    return lanes == kWidth ? hn::LoadU(DF(), from) : hn::LoadN(DF(), from, lanes);
  }
  static HWY_INLINE V max(V a, V b) { return join<true>(a, b); }
  static HWY_INLINE void store(V v, float* to, size_t lanes) {
    lanes == kWidth ? hn::StoreU(v, DF(), to) : hn::StoreN(v, DF(), to, lanes);
  }
};
struct MaxBf16 {
  using D = hn::ScalableTag<int16_t>;
  using V = hn::Vec<D>;
  static constexpr size_t kWidth = hn::MaxLanes(D());
  static constexpr int16_t kAboveLeast = 0x7F;  // below -inf in the order of integers: NaN with a sign
  static V least() { return hn::Set(D(), INT16_MIN); }
  static HWY_INLINE V turned(V v) {  // the magnitude of negative ones; its own inverse
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), hn::Set(D(), INT16_MAX)));
  }
  static HWY_INLINE V load(const uint16_t* from, size_t lanes) {
    const hn::RebindToUnsigned<D> du;
    const V bits = hn::BitCast(D(), lanes == kWidth ? hn::LoadU(du, from) : hn::LoadN(du, from, lanes));
    return hn::Sub(turned(bits), hn::Set(D(), kAboveLeast));
  }
  static HWY_INLINE V max(V a, V b) { return hn::Max(a, b); }
  static HWY_INLINE void store(V v, uint16_t* to, size_t lanes) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, turned(hn::Add(v, hn::Set(D(), kAboveLeast))));
    lanes == kWidth ? hn::StoreU(bits, du, to) : hn::StoreN(bits, du, to, lanes);
  }
};

// Down the columns first, then along the line: kernel_h + kernel_w comparisons where a window at a time takes their
// product. A window that is wider than columns are kept goes down each of its own.
template <class M, class T>
HWY_INLINE void max_of_line(const MaxLine<T>& l, T* to) {
  constexpr int64_t kMost = MaxLine<T>::kMostColumns;
  constexpr auto kWidth = static_cast<int64_t>(M::kWidth);
  const int64_t span = (l.kernel - 1) * l.dilation + 1;
  const bool keeps = span <= kMost;
  const int64_t outputs = keeps ? (kMost - span) / l.stride + 1 : 1;  // that see kMost columns
  for (int64_t c = 0; c < l.channels; c += kWidth) {
    const auto lanes = static_cast<size_t>(l.channels - c < kWidth ? l.channels - c : kWidth);
    const auto down = [&](int64_t x) HWY_ATTR {
      auto most = M::least();
      if (x < 0 || x >= l.in_w) return most;
      const T* from = l.from + x * l.channels + c;
      for (int64_t i = 0; i < l.rows; ++i, from += l.row_step) most = M::max(most, M::load(from, lanes));
      return most;
    };
    for (int64_t begin = 0; begin < l.out_w; begin += outputs) {
      const int64_t end = begin + outputs < l.out_w ? begin + outputs : l.out_w;
      const int64_t first = begin * l.stride - l.pad_left, behind = (end - 1) * l.stride - l.pad_left + span;
      typename M::V columns[kMost];
      for (int64_t x = first; keeps && x < behind; ++x) columns[x - first] = down(x);
      for (int64_t ox = begin; ox < end; ++ox) {
        auto most = M::least();
        for (int64_t j = 0; j < l.kernel; ++j) {
          const int64_t x = (ox - begin) * l.stride + j * l.dilation;
          most = M::max(most, keeps ? columns[x] : down(first + x));
        }
        M::store(most, to + ox * l.channels + c, lanes);
      }
    }
  }
}

void max_line(const MaxLine<float>& l, float* to) { max_of_line<MaxF32>(l, to); }
void max_line_bf16(const MaxLine<uint16_t>& l, uint16_t* to) { max_of_line<MaxBf16>(l, to); }

void pool_outputs(const Taps<float>& t, int64_t channels, bool is_max, float* to) {
  is_max ? outputs_of<true>(t, channels, to) : outputs_of<false>(t, channels, to);
}
// Averages: maxima are taken by lines.
void pool_outputs_bf16(const Taps<uint16_t>& t, int64_t channels, bool, uint16_t* to) {
  outputs_of<false>(t, channels, to);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pool_outputs);
HWY_EXPORT(pool_outputs_bf16);
HWY_EXPORT(max_line);
HWY_EXPORT(max_line_bf16);

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

auto kernel_for(const float*) { return HWY_DYNAMIC_POINTER(pool_outputs); }
auto kernel_for(const uint16_t*) { return HWY_DYNAMIC_POINTER(pool_outputs_bf16); }
auto lines_for(const float*) { return HWY_DYNAMIC_POINTER(max_line); }
auto lines_for(const uint16_t*) { return HWY_DYNAMIC_POINTER(max_line_bf16); }

constexpr int64_t kMost = 1 << 17;  // values that are compared or added: about 5 us

// Whether maxima down the columns are worth keeping: windows see them more than once. In bfloat16 lines are faster in
// any case, twice as many values to a vector.
bool by_lines(const PoolF32& s, const uint16_t*) { return s.kind == PoolKind::kMax; }
bool by_lines(const PoolF32& s, const float*) {
  const Window& w = s.window;
  return s.kind == PoolKind::kMax && w.dilation_w == 1 && w.kernel_w <= MaxLine<float>::kMostColumns / 2 &&
         w.kernel_h * w.stride_w + w.kernel_w < w.kernel_h * w.kernel_w;
}

template <class T>
void lines(const PoolF32& s, int64_t channels, const T* x, T* y, const Parallel& parallel) {
  const Window& w = s.window;
  const auto kernel = lines_for(x);
  const int64_t work = w.out_w * channels * (w.kernel_h * w.stride_w + w.kernel_w);
  parallel.for_range(s.planes / channels * w.out_h, kMost / work + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t y0 = line % w.out_h * w.stride_h - w.pad_top;
      const Inside rows(y0, w.kernel_h, w.dilation_h, w.in_h);
      const int64_t first = line / w.out_h * w.in_h + y0 + rows.first * w.dilation_h;
      const MaxLine<T> l = {x + first * w.in_w * channels,
                            rows.count,
                            w.dilation_h * w.in_w * channels,
                            w.in_w,
                            w.out_w,
                            w.kernel_w,
                            w.dilation_w,
                            w.stride_w,
                            w.pad_left,
                            channels};
      kernel(l, y + line * w.out_w * channels);
    }
  });
}

template <class T>
void global(const T* x, T* y, int64_t n, int64_t area, int64_t channels, bool is_max, const Parallel& parallel) {
  const auto kernel = kernel_for(x);
  constexpr int64_t kBlock = 64;  // channels
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  parallel.for_range(n * blocks, 65536 / (area * kBlock + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % blocks * kBlock, count = channels - c < kBlock ? channels - c : kBlock;
      const T* const from = x + i / blocks * area * channels + c;
      const Taps<T> t = {from, 1, area, 0, channels, static_cast<float>(area), 1, 0};
      kernel(t, count, is_max, y + i / blocks * channels + c);
    }
  });
}

template <class T>
void windows(const PoolF32& s, int64_t channels, const T* x, T* y, const Parallel& parallel) {
  const Window& w = s.window;
  if (s.planes <= 0 || channels <= 0 || w.out_h <= 0 || w.out_w <= 0) return;
  if (by_lines(s, x)) {
    lines(s, channels, x, y, parallel);
    return;
  }
  const auto kernel = kernel_for(x);
  const bool is_max = s.kind == PoolKind::kMax, with_pad = s.kind == PoolKind::kAverageWithPad;
  const int64_t work = w.out_w * channels * w.kernel_h * w.kernel_w;
  // Outputs that see no edge on either side.
  const int64_t left = (w.pad_left + w.stride_w - 1) / w.stride_w;
  const int64_t last = w.in_w - 1 - (w.kernel_w - 1) * w.dilation_w + w.pad_left;
  const int64_t right = last < 0 ? 0 : last / w.stride_w + 1 < w.out_w ? last / w.stride_w + 1 : w.out_w;
  parallel.for_range(s.planes / channels * w.out_h, kMost / (work + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t y0 = line % w.out_h * w.stride_h - w.pad_top;
      const T* const image = x + line / w.out_h * w.in_h * w.in_w * channels;
      const Inside rows(y0, w.kernel_h, w.dilation_h, w.in_h);
      const Inside high(y0 + w.pad_top, w.kernel_h, w.dilation_h, w.in_h + w.pad_top + s.pad_bottom);
      for (int64_t ox = 0; ox < w.out_w;) {
        const int64_t x0 = ox * w.stride_w - w.pad_left;
        const Inside columns(x0, w.kernel_w, w.dilation_w, w.in_w);
        const Inside wide(x0 + w.pad_left, w.kernel_w, w.dilation_w, w.in_w + w.pad_left + s.pad_right);
        Taps<T> t;
        t.rows = rows.count;
        t.columns = columns.count;
        t.row_step = w.dilation_h * w.in_w * channels;
        t.column_step = w.dilation_w * channels;
        t.from = image + ((y0 + rows.first * w.dilation_h) * w.in_w + x0 + columns.first * w.dilation_w) * channels;
        t.divisor = static_cast<float>(with_pad ? high.count * wide.count : rows.count * columns.count);
        t.outputs = ox >= left && ox < right ? right - ox : 1;
        t.next = w.stride_w * channels;
        kernel(t, channels, is_max, y + (line * w.out_w + ox) * channels);
        ox += t.outputs;
      }
    }
  });
}

}  // namespace

void pool_nhwc_f32(const PoolF32& s, int64_t channels, const float* x, float* y, const Parallel& parallel) {
  windows(s, channels, x, y, parallel);
}
void pool_nhwc_bf16(const PoolF32& s, int64_t channels, const uint16_t* x, uint16_t* y, const Parallel& parallel) {
  windows(s, channels, x, y, parallel);
}
void global_average_nhwc_bf16(const uint16_t* x, uint16_t* y, int64_t n, int64_t area, int64_t channels,
                              const Parallel& parallel) {
  global(x, y, n, area, channels, false, parallel);
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

#include "delegates/cpu/kernels/resample/resample.h"

#include <math.h>
#include <string.h>

#include <limits>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/resample/resample.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#ifndef VIREO_DELEGATES_CPU_KERNELS_RESAMPLE_COLUMNS_
#define VIREO_DELEGATES_CPU_KERNELS_RESAMPLE_COLUMNS_
namespace vireo::cpu {

// Columns whose sums are kept at a time: pixels of 16 KB a row of sums, planes whole.
inline int64_t resample_columns(int64_t out_w, int64_t depth) {
  constexpr int64_t kSums = 2048;
  if (depth == 1 || out_w * depth <= kSums) return out_w;
  return depth < kSums ? kSums / depth : 1;
}

// Rows of sums of planes, their places and weights fill a vector of doubles at least, on every core.
inline int64_t resample_room(int64_t columns, int64_t depth) {
  constexpr int64_t kLeast = 8;
  return depth == 1 && columns < kLeast ? kLeast : columns * depth;
}

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE int64_t within(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

// How vectors of double are loaded from elements, and stored as such.
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
#define VIREO_RESAMPLE_VECTORS 1
using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DD()));
template <class T>
HWY_INLINE VD load_wide(const T* x) {
  const hn::Rebind<T, DD> dt;
  if constexpr (sizeof(T) == 4) return hn::PromoteTo(DD(), hn::LoadU(dt, x));
  if constexpr (sizeof(T) == 1) return hn::PromoteTo(DD(), hn::PromoteTo(hn::Rebind<int32_t, DD>(), hn::LoadU(dt, x)));
}
// The first n lanes.
template <class T>
HWY_INLINE void store_narrow(VD v, T* y, int64_t n) {
  const hn::Rebind<T, DD> dt;
  hn::Vec<decltype(dt)> narrow;
  if constexpr (sizeof(T) == 4) narrow = hn::DemoteTo(dt, v);
  if constexpr (sizeof(T) == 1) narrow = hn::DemoteTo(dt, hn::DemoteTo(hn::Rebind<int32_t, DD>(), hn::Round(v)));
  if (n < kLanes) return hn::StoreN(narrow, dt, y, static_cast<size_t>(n));
  hn::StoreU(narrow, dt, y);
}
// `step(i, n)` for n columns from i on, a vector's but where fewer have `room` for one; vectors may repeat columns.
// False where there is no room.
template <class Step>
HWY_INLINE bool by_vectors(int64_t count, int64_t room, const Step& step) {
  if (count < kLanes) {
    if (room < kLanes) return false;
    step(0, count);
    return true;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) step(i, kLanes);
  if (i < count) step(count - kLanes, kLanes);
  return true;
}
#else
#define VIREO_RESAMPLE_VECTORS 0
#endif

template <class T>
HWY_INLINE T narrow(double v) {
  if constexpr (sizeof(T) == 1) {
    const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(), r = rint(v);
    return static_cast<T>(r < low ? low : r > high ? high : r);
  } else {
    return static_cast<T>(v);
  }
}

// The addends of sums of two taps along a row, for all rows.
struct Pairs {
  const int32_t* places[2];
  const double* weights[2];
  float* row;  // of floats, for one of bytes
};
void find_pairs(const Axis& axis, int32_t* places, double* weights, Pairs* p) {
  const int64_t room = resample_room(axis.out, 1);
  for (int64_t t = 0; t < 2; ++t, places += room, weights += room) {
    p->places[t] = places;
    p->weights[t] = weights;
    for (int64_t i = axis.out; i < room; ++i) {
      places[i] = 0;
      weights[i] = 0;
    }
    for (int64_t i = 0; i < axis.out; ++i) {
      places[i] = static_cast<int32_t>(within(axis.first[i] + t, axis.in));
      weights[i] = axis.weights[i * 2 + t];
    }
  }
}

// One input row at all output columns. Taps of weight 0 are left out: what they would multiply may be infinite.
template <class T>
void along_row(const Axis& axis, const Pairs& pairs, const T* row, double* to) {
  if (axis.weights == nullptr) {
    for (int64_t i = 0; i < axis.out; ++i) to[i] = static_cast<double>(row[axis.first[i]]);
    return;
  }
  if (axis.taps == 2) {
#if VIREO_RESAMPLE_VECTORS
    const float* wide = nullptr;
    if constexpr (sizeof(T) == 4) {
      wide = row;
    } else {
      for (int64_t i = 0; i < axis.in; ++i) pairs.row[i] = static_cast<float>(row[i]);
      wide = pairs.row;
    }
    const DD d;
    const hn::Rebind<float, DD> df;
    const hn::Rebind<int32_t, DD> di;
    const auto addend = [&](int64_t t, int64_t i) HWY_ATTR {
      const VD w = hn::LoadU(d, pairs.weights[t] + i);
      const VD v = hn::PromoteTo(d, hn::GatherIndex(df, wide, hn::LoadU(di, pairs.places[t] + i)));
      return hn::IfThenElseZero(hn::Ne(w, hn::Zero(d)), hn::Mul(w, v));
    };
    const auto step = [&](int64_t i, int64_t) HWY_ATTR {
      hn::StoreU(hn::Add(hn::Add(hn::Zero(d), addend(0, i)), addend(1, i)), d, to + i);
    };
    if (by_vectors(axis.out, resample_room(axis.out, 1), step)) return;
#endif
    for (int64_t i = 0; i < axis.out; ++i) {
      double sum = 0;
      for (int t = 0; t < 2; ++t) {
        const double w = pairs.weights[t][i];
        if (w != 0) sum += w * static_cast<double>(row[pairs.places[t][i]]);
      }
      to[i] = sum;
    }
    return;
  }
  for (int64_t i = 0; i < axis.out; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < axis.taps; ++t) {
      const double w = axis.weights[i * axis.taps + t];
      if (w != 0) sum += w * static_cast<double>(row[within(axis.first[i] + t, axis.in)]);
    }
    to[i] = sum;
  }
}

// The same of pixels, columns [begin, end): to[i - begin, c] = sum over the taps of weight * row[at, c].
template <class T>
void along_pixels(const Axis& axis, int64_t depth, int64_t begin, int64_t end, const T* row, double* to) {
  for (int64_t i = begin; i < end; ++i, to += depth) {
    const double* const w = axis.weights == nullptr ? nullptr : axis.weights + i * axis.taps;
    const int64_t first = axis.first[i];
#if VIREO_RESAMPLE_VECTORS
    const DD d;
    const auto step = [&](int64_t c, int64_t) HWY_ATTR {
      if (w == nullptr) {
        hn::StoreU(load_wide(row + first * depth + c), d, to + c);
        return;
      }
      auto sum = hn::Zero(d);
      for (int64_t t = 0; t < axis.taps; ++t) {
        if (w[t] == 0) continue;
        sum = hn::Add(sum, hn::Mul(hn::Set(d, w[t]), load_wide(row + within(first + t, axis.in) * depth + c)));
      }
      hn::StoreU(sum, d, to + c);
    };
    if (by_vectors(depth, depth, step)) continue;
#endif
    for (int64_t c = 0; c < depth; ++c) {
      if (w == nullptr) {
        to[c] = static_cast<double>(row[first * depth + c]);
        continue;
      }
      double sum = 0;
      for (int64_t t = 0; t < axis.taps; ++t) {
        if (w[t] != 0) sum += w[t] * static_cast<double>(row[within(first + t, axis.in) * depth + c]);
      }
      to[c] = sum;
    }
  }
}

// y = sum of w[t] rows[t] in the order of t, from 0 on; products and sums are rounded one by one. Rows have `room`.
template <class T>
void across_rows(int64_t taps, const double* w, const double* const* rows, int64_t count, int64_t room, T* y) {
#if VIREO_RESAMPLE_VECTORS
  const DD d;
  const auto step = [&](int64_t i, int64_t n) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < taps; ++t) {
      if (w[t] != 0) sum = hn::Add(sum, hn::Mul(hn::Set(d, w[t]), hn::LoadU(d, rows[t] + i)));
    }
    store_narrow(sum, y + i, n);
  };
  if (by_vectors(count, room, step)) return;
#endif
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      if (w[t] != 0) sum += w[t] * rows[t][i];
    }
    y[i] = narrow<T>(sum);
  }
}

// Columns [left, right) of output rows [begin, end) of all planes, counted through. `memory`: [taps, columns * depth]
// doubles; `held` says which input rows they are, so that neighbours share them.
template <class T>
void resample_block(const Planes& s, const T* x, T* y, int64_t begin, int64_t end, int64_t left, int64_t right,
                    const Pairs& pairs, double* memory) {
  const double* rows[kMostTaps];
  int64_t held[kMostTaps];
  const int64_t taps = s.y.taps, wide = (right - left) * s.depth, room = resample_room(right - left, s.depth);
  for (int64_t t = 0; t < kMostTaps; ++t) held[t] = -1;
  int64_t plane = begin / s.y.out, i = begin % s.y.out;
  for (int64_t r = begin; r < end; ++r, ++i) {
    if (i == s.y.out) {
      i = 0;
      ++plane;
    }
    for (int64_t t = 0; t < taps; ++t) {
      // A row's place is its number modulo the taps: neighbours never share one, clamped ones are the same row.
      const int64_t source = within(s.y.first[i] + t, s.y.in), number = plane * s.y.in + source;
      const int64_t place = source & (taps - 1);
      double* const row = memory + place * room;
      rows[t] = row;
      if (s.y.weights != nullptr && s.y.weights[i * taps + t] == 0) continue;
      if (held[place] == number) continue;
      const T* const from = x + number * s.x.in * s.depth;
      if (s.depth == 1) {
        along_row(s.x, pairs, from, row);
      } else {
        along_pixels(s.x, s.depth, left, right, from, row);
      }
      held[place] = number;
    }
    T* const to = y + (r * s.x.out + left) * s.depth;
    if (s.y.weights == nullptr) {
      for (int64_t c = 0; c < wide; ++c) to[c] = narrow<T>(rows[0][c]);
    } else {
      across_rows(taps, s.y.weights + i * taps, rows, wide, room, to);
    }
  }
}

template <class T>
void resample_of(const Planes& s, const void* x, void* y, int64_t begin, int64_t end, char* memory) {
  const int64_t columns = resample_columns(s.x.out, s.depth), room = resample_room(columns, s.depth);
  Pairs pairs{};
  double* const sums = reinterpret_cast<double*>(memory) + (s.depth == 1 ? 2 * room : 0);
  if (s.depth == 1) {
    int32_t* const places = reinterpret_cast<int32_t*>(sums + s.y.taps * room);
    pairs.row = reinterpret_cast<float*>(places + 2 * room);
    if (s.x.taps == 2) find_pairs(s.x, places, reinterpret_cast<double*>(memory), &pairs);
  }
  for (int64_t left = 0; left < s.x.out; left += columns) {
    resample_block(s, static_cast<const T*>(x), static_cast<T*>(y), begin, end, left,
                   left + columns < s.x.out ? left + columns : s.x.out, pairs, sums);
  }
}
void resample_rows(const Planes& s, Elements elements, const void* x, void* y, int64_t begin, int64_t end,
                   char* memory) {
  if (elements == Elements::kF32) return resample_of<float>(s, x, y, begin, end, memory);
  if (elements == Elements::kU8) return resample_of<uint8_t>(s, x, y, begin, end, memory);
  resample_of<int8_t>(s, x, y, begin, end, memory);
}

// Each element twice: vectors, from element i on. -> the first that is left.
template <class D>
HWY_INLINE int64_t double_by(D d, const hn::TFromD<D>* x, int64_t i, int64_t count, hn::TFromD<D>* y) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreInterleaved2(v, v, d, y + 2 * i);
  }
  return i;
}
template <class T>
void double_row(const void* from, int64_t count, void* to) {
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  int64_t i = double_by(hn::ScalableTag<T>(), x, 0, count, y);
  i = double_by(hn::CappedTag<T, 8>(), x, i, count, y);
  for (; i < count; ++i) y[2 * i] = y[2 * i + 1] = x[i];
}
void double_elements(const void* x, int64_t count, int64_t bytes, void* y) {
  if (bytes == 1) return double_row<uint8_t>(x, count, y);
  if (bytes == 2) return double_row<uint16_t>(x, count, y);
  double_row<uint32_t>(x, count, y);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(resample_rows);
HWY_EXPORT(double_elements);

namespace {
// Weights and places of pairs, a row of floats; rows of sums.
size_t slot_bytes(int64_t taps_y, int64_t in_w, int64_t out_w, int64_t depth) {
  const int64_t sums = resample_room(resample_columns(out_w, depth), depth);
  const int64_t pairs = depth == 1 ? sums * 24 + in_w * 4 : 0;
  return (static_cast<size_t>(taps_y * sums * 8 + pairs) + 63) & ~size_t{63};
}

template <class T>
void pick_rows(const Planes& s, const void* x, void* y, int64_t begin, int64_t end) {
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(y);
  const auto twice = HWY_DYNAMIC_POINTER(double_elements);
  bool doubled = sizeof(T) <= 4 && s.x.out == 2 * s.x.in;
  for (int64_t c = 0; doubled && c < s.x.out; ++c) doubled = s.x.first[c] == c / 2;
  int64_t before = -1;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t number = r / s.y.out * s.y.in + s.y.first[r % s.y.out];
    T* const row = to + r * s.x.out;
    if (number == before) {
      memcpy(row, row - s.x.out, static_cast<size_t>(s.x.out) * sizeof(T));
      continue;
    }
    before = number;
    const T* const source = from + number * s.x.in;
    if (doubled) {
      twice(source, s.x.in, sizeof(T), row);
      continue;
    }
    for (int64_t c = 0; c < s.x.out; ++c) row[c] = source[s.x.first[c]];
  }
}

// Pixels of `bytes`.
void pick_pixels(const Planes& s, const void* x, void* y, int64_t bytes, int64_t begin, int64_t end) {
  const auto size = static_cast<size_t>(bytes);
  const int64_t row_bytes = s.x.out * bytes;
  int64_t before = -1;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t number = r / s.y.out * s.y.in + s.y.first[r % s.y.out];
    char* const row = static_cast<char*>(y) + r * row_bytes;
    if (number == before) {
      memcpy(row, row - row_bytes, static_cast<size_t>(row_bytes));
      continue;
    }
    before = number;
    const char* const source = static_cast<const char*>(x) + number * s.x.in * bytes;
    for (int64_t c = 0; c < s.x.out; ++c) memcpy(row + c * bytes, source + s.x.first[c] * bytes, size);
  }
}
}  // namespace

size_t resample_scratch_bytes(int64_t taps_y, int64_t in_w, int64_t out_w, int64_t depth, int32_t slots) {
  return slot_bytes(taps_y, in_w, out_w, depth) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void resample(const Planes& s, Elements elements, const void* x, void* y, const Parallel& parallel, void* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(resample_rows);
  const int64_t wide = s.x.out * s.depth;
  const size_t room = slot_bytes(s.y.taps, s.x.in, s.x.out, s.depth);
  parallel.for_range(s.count * s.y.out, 16384 / (wide + 1) + 2, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, elements, x, y, begin, end, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}

void pick_elements(const Planes& s, const void* x, void* y, int64_t element_bytes, const Parallel& parallel) {
  const int64_t wide = s.x.out * s.depth;
  parallel.for_range(s.count * s.y.out, 32768 / (wide + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
    if (s.depth != 1) return pick_pixels(s, x, y, s.depth * element_bytes, begin, end);
    switch (element_bytes) {
      case 1:
        return pick_rows<uint8_t>(s, x, y, begin, end);
      case 2:
        return pick_rows<uint16_t>(s, x, y, begin, end);
      case 4:
        return pick_rows<uint32_t>(s, x, y, begin, end);
      default:
        return pick_rows<uint64_t>(s, x, y, begin, end);
    }
  });
}
}  // namespace vireo::cpu
#endif

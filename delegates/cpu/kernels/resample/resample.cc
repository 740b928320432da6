#include "delegates/cpu/kernels/resample/resample.h"

#include <string.h>

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

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE int64_t within(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

// One input row at all output columns. Taps of weight 0 are left out: what they would multiply may be infinite.
void along_row(const Axis& axis, const float* row, double* to) {
  if (axis.weights == nullptr) {
    for (int64_t i = 0; i < axis.out; ++i) to[i] = static_cast<double>(row[axis.first[i]]);
    return;
  }
  if (axis.taps == 2) {
    const double* w = axis.weights;
    for (int64_t i = 0; i < axis.out; ++i, w += 2) {
      const int64_t at = axis.first[i];
      double sum = 0;
      if (w[0] != 0) sum += w[0] * static_cast<double>(row[within(at, axis.in)]);
      if (w[1] != 0) sum += w[1] * static_cast<double>(row[within(at + 1, axis.in)]);
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
void along_pixels(const Axis& axis, int64_t depth, int64_t begin, int64_t end, const float* row, double* to) {
  for (int64_t i = begin; i < end; ++i, to += depth) {
    const double* const w = axis.weights == nullptr ? nullptr : axis.weights + i * axis.taps;
    const int64_t first = axis.first[i];
    int64_t c = 0;
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<double> d;
    const hn::Rebind<float, decltype(d)> df;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; c + lanes <= depth; c += lanes) {
      if (w == nullptr) {
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(df, row + first * depth + c)), d, to + c);
        continue;
      }
      auto sum = hn::Zero(d);
      for (int64_t t = 0; t < axis.taps; ++t) {
        if (w[t] == 0) continue;
        const auto v = hn::PromoteTo(d, hn::LoadU(df, row + within(first + t, axis.in) * depth + c));
        sum = hn::Add(sum, hn::Mul(hn::Set(d, w[t]), v));
      }
      hn::StoreU(sum, d, to + c);
    }
#endif
    for (; c < depth; ++c) {
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

// y = sum of w[t] rows[t] in the order of t, from 0 on; products and sums are rounded one by one.
void across_rows(int64_t taps, const double* w, const double* const* rows, int64_t count, float* y) {
  int64_t i = 0;
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < taps; ++t) {
      if (w[t] != 0) sum = hn::Add(sum, hn::Mul(hn::Set(d, w[t]), hn::LoadU(d, rows[t] + i)));
    }
    hn::StoreU(hn::DemoteTo(df, sum), df, y + i);
  }
#endif
  for (; i < count; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      if (w[t] != 0) sum += w[t] * rows[t][i];
    }
    y[i] = static_cast<float>(sum);
  }
}

// Columns [left, right) of output rows [begin, end) of all planes, counted through. `memory`: [taps, columns * depth]
// doubles; `held` says which input rows they are, so that neighbours share them.
void resample_block(const Planes& s, const float* x, float* y, int64_t begin, int64_t end, int64_t left, int64_t right,
                    double* memory) {
  const double* rows[kMostTaps];
  int64_t held[kMostTaps];
  const int64_t taps = s.y.taps, wide = (right - left) * s.depth;
  for (int64_t t = 0; t < kMostTaps; ++t) held[t] = -1;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t plane = r / s.y.out, i = r % s.y.out;
    for (int64_t t = 0; t < taps; ++t) {
      // A row's place is its number modulo the taps: neighbours never share one, clamped ones are the same row.
      const int64_t source = within(s.y.first[i] + t, s.y.in), place = source % taps, number = plane * s.y.in + source;
      double* const row = memory + place * wide;
      rows[t] = row;
      if (s.y.weights != nullptr && s.y.weights[i * taps + t] == 0) continue;
      if (held[place] == number) continue;
      const float* const from = x + number * s.x.in * s.depth;
      if (s.depth == 1) {
        along_row(s.x, from, row);
      } else {
        along_pixels(s.x, s.depth, left, right, from, row);
      }
      held[place] = number;
    }
    float* const to = y + (r * s.x.out + left) * s.depth;
    if (s.y.weights == nullptr) {
      for (int64_t c = 0; c < wide; ++c) to[c] = static_cast<float>(rows[0][c]);
    } else {
      across_rows(taps, s.y.weights + i * taps, rows, wide, to);
    }
  }
}

void resample_rows(const Planes& s, const float* x, float* y, int64_t begin, int64_t end, double* memory) {
  const int64_t columns = resample_columns(s.x.out, s.depth);
  for (int64_t left = 0; left < s.x.out; left += columns) {
    resample_block(s, x, y, begin, end, left, left + columns < s.x.out ? left + columns : s.x.out, memory);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(resample_rows);

namespace {
size_t slot_bytes(int64_t taps_y, int64_t out_w, int64_t depth) {
  const int64_t sums = resample_columns(out_w, depth) * depth;
  return (static_cast<size_t>(taps_y * sums) * sizeof(double) + 63) & ~size_t{63};
}

template <class T>
void pick_rows(const Planes& s, const void* x, void* y, int64_t begin, int64_t end) {
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(y);
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

size_t resample_f32_scratch_bytes(int64_t taps_y, int64_t out_w, int64_t depth, int32_t slots) {
  return slot_bytes(taps_y, out_w, depth) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void resample_f32(const Planes& s, const float* x, float* y, const Parallel& parallel, void* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(resample_rows);
  const int64_t wide = s.x.out * s.depth;
  const size_t room = slot_bytes(s.y.taps, s.x.out, s.depth);
  parallel.for_range(s.count * s.y.out, 16384 / (wide + 1) + 2, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, y, begin, end,
           reinterpret_cast<double*>(static_cast<char*>(scratch) + static_cast<size_t>(slot) * room));
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

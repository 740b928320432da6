#include "delegates/cpu/kernels/resize_i8/resize_i8.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/resize_i8/resize_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/requantize/finish-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_RESIZE_I8_LINES_
#define VIREO_DELEGATES_CPU_KERNELS_RESIZE_I8_LINES_
namespace vireo::cpu {

// Lines of x that a line of y reads, and their weights. As unsigned, because any file's products wrap around the same
// way everywhere.
struct ResizeLines {
  int64_t count;
  int64_t offset[kMostResizeLines];
  uint32_t weight[kMostResizeLines];

  // Of line `row` of y.
  void find(const ResizeI8& s, int64_t row) {
    count = 1;
    offset[0] = 0;
    weight[0] = 1;
    int64_t stride = s.axes[s.rank - 1].in;
    for (int k = s.rank - 2; k >= 0; --k) {
      const ResizeAxis& a = s.axes[k];
      const int64_t i = row % a.out;
      row /= a.out;
      if (a.taps == 0) {
        for (int64_t l = 0; l < count; ++l) offset[l] += i * stride;
      } else {
        int64_t made = 0;
        int64_t offsets[kMostResizeLines];
        uint32_t weights[kMostResizeLines];
        for (int64_t j = 0; j < a.taps; ++j) {
          const auto w = static_cast<uint32_t>(a.weights[i * a.taps + j]);
          if (w == 0) continue;
          const int64_t at = a.places[i * a.taps + j] * stride;
          for (int64_t l = 0; l < count; ++l, ++made) {
            offsets[made] = offset[l] + at;
            weights[made] = weight[l] * w;
          }
        }
        count = made;
        for (int64_t l = 0; l < made; ++l) {
          offset[l] = offsets[l];
          weight[l] = weights[l];
        }
      }
      stride *= a.in;
    }
  }
};

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// sum over the lines of weight (x - x_zero) of columns [i, i + lanes), of which `n` are there.
template <class D8>
HWY_INLINE VI line_sum(D8 d8, const hn::TFromD<D8>* x, const ResizeLines& lines, VI start, int64_t i, size_t n) {
  VI acc = start;
  for (int64_t l = 0; l < lines.count; ++l) {
    const auto* const from = x + lines.offset[l] + i;
    const auto v = n == static_cast<size_t>(kLanes) ? hn::LoadU(d8, from) : hn::LoadN(d8, from, n);
    acc = hn::Add(acc, hn::Mul(hn::PromoteTo(DI(), v), hn::Set(DI(), static_cast<int32_t>(lines.weight[l]))));
  }
  return acc;
}

template <class T>
HWY_INLINE void resize_rows_of(const ResizeI8& s, const T* x, uint8_t* y, int64_t begin, int64_t end,
                               const int32_t* places, const int32_t* weights, int32_t* line) {
  const hn::Rebind<T, DI> d8;
  const Finish finish(s.finish);
  const VF m = hn::Set(DF(), s.multiplier);
  const ResizeAxis& last = s.axes[s.rank - 1];
  ResizeLines lines;
  for (int64_t row = begin; row < end; ++row) {
    lines.find(s, row);
    uint32_t weight = 0;
    for (int64_t l = 0; l < lines.count; ++l) weight += lines.weight[l];
    const VI start = hn::Set(DI(), static_cast<int32_t>(0u - weight * static_cast<uint32_t>(s.x_zero)));
    uint8_t* const to = y + row * last.out;
    for (int64_t i = 0; i < last.in; i += kLanes) {
      const size_t n = static_cast<size_t>(last.in - i < kLanes ? last.in - i : kLanes);
      const VI acc = line_sum(d8, x, lines, start, i, n);
      if (last.taps == 0) {
        finish.store(finish.rounded(acc, m), n, to + i);
      } else {
        hn::StoreU(acc, DI(), line + i);
      }
    }
    for (int64_t i = 0; last.taps != 0 && i < last.out; i += kLanes) {
      const size_t n = static_cast<size_t>(last.out - i < kLanes ? last.out - i : kLanes);
      VI acc = hn::Zero(DI());
      for (int64_t j = 0; j < last.taps; ++j) {
        const int64_t at = j * last.out + i;
        const VI v = hn::GatherIndex(DI(), line, hn::LoadN(DI(), places + at, n));
        acc = hn::Add(acc, hn::Mul(v, hn::LoadN(DI(), weights + at, n)));
      }
      finish.store(finish.rounded(acc, m), n, to + i);
    }
  }
}

void resize_rows(const ResizeI8& s, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end, const int32_t* places,
                 const int32_t* weights, int32_t* line) {
  if (s.x_signed) {
    resize_rows_of(s, reinterpret_cast<const int8_t*>(x), y, begin, end, places, weights, line);
  } else {
    resize_rows_of(s, x, y, begin, end, places, weights, line);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(resize_rows);

namespace {
constexpr int64_t kWidest = 16;  // lanes of any instruction set

size_t line_bytes(int64_t in) { return (static_cast<size_t>(in + kWidest) * sizeof(int32_t) + 63) & ~size_t{63}; }
}  // namespace

size_t resize_i8_scratch_bytes(int64_t in, int64_t out, int64_t taps, int32_t slots) {
  if (taps == 0) return 0;
  const size_t tables = (static_cast<size_t>(2 * out * taps) * sizeof(int32_t) + 63) & ~size_t{63};
  return tables + line_bytes(in) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void resize_i8(const ResizeI8& s, const uint8_t* x, uint8_t* y, const Parallel& parallel, void* scratch) {
  const ResizeAxis& last = s.axes[s.rank - 1];
  int64_t rows = 1, taps = 1;
  for (int k = 0; k + 1 < s.rank; ++k) {
    rows *= s.axes[k].out;
    taps *= s.axes[k].taps == 0 ? 1 : s.axes[k].taps;
  }
  if (rows <= 0 || last.out <= 0) return;
  // By tap, as vectors read them.
  auto* const places = static_cast<int32_t*>(scratch);
  const int64_t count = last.out * last.taps;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t to = i % last.taps * last.out + i / last.taps;
    places[to] = last.places[i];
    places[count + to] = last.weights[i];
  }
  const size_t room = line_bytes(last.in);
  char* const rest = last.taps == 0 ? nullptr
                                    : static_cast<char*>(scratch) +
                                          ((static_cast<size_t>(2 * count) * sizeof(int32_t) + 63) & ~size_t{63});
  const int64_t work = last.in * taps + last.out * last.taps + 16;
  const auto kernel = HWY_DYNAMIC_POINTER(resize_rows);
  parallel.for_range(rows, (int64_t{1} << 17) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    auto* const line = rest == nullptr ? nullptr : reinterpret_cast<int32_t*>(rest + static_cast<size_t>(slot) * room);
    kernel(s, x, y, begin, end, places, places + count, line);
  });
}

}  // namespace vireo::cpu
#endif

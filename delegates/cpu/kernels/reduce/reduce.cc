#include "delegates/cpu/kernels/reduce/reduce.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/reduce/reduce.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

struct SumOf {
  static constexpr float kStart = 0;
  static HWY_INLINE VF map(VF v) { return v; }
  static HWY_INLINE VF join(VF a, VF v) { return hn::Add(a, v); }
};
struct SquareOf : SumOf {
  static HWY_INLINE VF map(VF v) { return hn::Mul(v, v); }
};
struct AbsOf : SumOf {
  static HWY_INLINE VF map(VF v) { return hn::Abs(v); }
};
struct ProductOf {
  static constexpr float kStart = 1;
  static HWY_INLINE VF map(VF v) { return v; }
  static HWY_INLINE VF join(VF a, VF v) { return hn::Mul(a, v); }
};
struct MaxOf {
  static constexpr float kStart = -HUGE_VALF;
  static HWY_INLINE VF map(VF v) { return v; }
  static HWY_INLINE VF join(VF a, VF v) { return hn::IfThenElse(hn::Or(hn::Gt(v, a), hn::IsNaN(v)), v, a); }
};
struct MinOf {
  static constexpr float kStart = HUGE_VALF;
  static HWY_INLINE VF map(VF v) { return v; }
  static HWY_INLINE VF join(VF a, VF v) { return hn::IfThenElse(hn::Or(hn::Lt(v, a), hn::IsNaN(v)), v, a); }
};

// Reduced elements lie together: lanes run along the axis in four chains.
template <class F>
HWY_INLINE void reduce_rows(const float* x, float* y, int64_t begin, int64_t end, int64_t axis, float divisor) {
  const DF d;
  const VF start = hn::Set(d, F::kStart);
  for (int64_t o = begin; o < end; ++o) {
    const float* row = x + o * axis;
    VF acc[4] = {start, start, start, start};
    int64_t i = 0;
    for (; i + 4 * kLanes <= axis; i += 4 * kLanes) {
      VIREO_UNROLL
      for (int j = 0; j < 4; ++j) acc[j] = F::join(acc[j], F::map(hn::LoadU(d, row + i + j * kLanes)));
    }
    for (; i + kLanes <= axis; i += kLanes) acc[0] = F::join(acc[0], F::map(hn::LoadU(d, row + i)));
    if (i < axis) {
      const size_t rest = static_cast<size_t>(axis - i);
      const VF joined = F::join(acc[1], F::map(hn::LoadN(d, row + i, rest)));
      acc[1] = hn::IfThenElse(hn::FirstN(d, rest), joined, acc[1]);
    }
    HWY_ALIGN float lanes[kLanes];
    hn::Store(F::join(F::join(acc[0], acc[1]), F::join(acc[2], acc[3])), d, lanes);
    VF all = hn::Set(d, lanes[0]);
    for (int64_t j = 1; j < kLanes; ++j) all = F::join(all, hn::Set(d, lanes[j]));
    y[o] = hn::GetLane(all) / divisor;
  }
}

// Short rows: lanes run across them, so that nothing is joined across lanes. One sum after the other, in the row's
// order.
constexpr int64_t kShortRow =
    2 * kLanes;  // up to here this is faster: 1.3 times at 2 lanes, 8 to 15 times at rows of 2
template <class F>
HWY_INLINE void reduce_short_rows(const float* x, float* y, int64_t begin, int64_t end, int64_t axis, float divisor) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto places = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(axis)));
  const VF start = hn::Set(d, F::kStart), by = hn::Set(d, divisor);
  for (int64_t o = begin; o < end; o += kLanes) {
    const auto rows = static_cast<size_t>(end - o < kLanes ? end - o : kLanes);
    VF acc = start;
    for (int64_t a = 0; a < axis; ++a) acc = F::join(acc, F::map(hn::GatherIndexN(d, x + o * axis + a, places, rows)));
    hn::StoreN(divide(d, acc, by), d, y + o, rows);
  }
}

// Reduced elements lie `inner` apart: lanes run across what is kept. Strips of 4 vectors; strip s of [begin, end).
template <class F>
HWY_INLINE void reduce_strips(const float* x, float* y, int64_t begin, int64_t end, int64_t axis, int64_t inner,
                              float divisor) {
  const DF d;
  const VF start = hn::Set(d, F::kStart), by = hn::Set(d, divisor);
  constexpr int64_t kStrip = 64;  // columns, on every instruction set
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  for (int64_t s = begin; s < end; ++s) {
    const int64_t first = s % strips * kStrip, stop = first + kStrip < inner ? first + kStrip : inner;
    const float* from = x + s / strips * axis * inner;
    float* to = y + s / strips * inner;
    int64_t column = first;
    for (; column + 4 * kLanes <= stop; column += 4 * kLanes) {
      VF acc[4] = {start, start, start, start};
      for (int64_t k = 0; k < axis; ++k) {
        const float* row = from + k * inner + column;
        VIREO_UNROLL
        for (int j = 0; j < 4; ++j) acc[j] = F::join(acc[j], F::map(hn::LoadU(d, row + j * kLanes)));
      }
      VIREO_UNROLL
      for (int j = 0; j < 4; ++j) hn::StoreU(hn::Div(acc[j], by), d, to + column + j * kLanes);
    }
    for (; column < stop; column += kLanes) {
      const size_t lanes = static_cast<size_t>(stop - column < kLanes ? stop - column : kLanes);
      VF acc = start;
      for (int64_t k = 0; k < axis; ++k) acc = F::join(acc, F::map(hn::LoadN(d, from + k * inner + column, lanes)));
      hn::StoreN(hn::Div(acc, by), d, to + column, lanes);
    }
  }
}

template <class F>
HWY_NOINLINE void reduce_with(const float* x, float* y, int64_t begin, int64_t end, int64_t axis, int64_t inner,
                              float divisor) {
  if (inner == 1 && axis <= kShortRow) {
    reduce_short_rows<F>(x, y, begin, end, axis, divisor);
  } else if (inner == 1) {
    reduce_rows<F>(x, y, begin, end, axis, divisor);
  } else {
    reduce_strips<F>(x, y, begin, end, axis, inner, divisor);
  }
}

void reduce_range(Reduce kind, const float* x, float* y, int64_t begin, int64_t end, int64_t axis, int64_t inner) {
  switch (kind) {
    case Reduce::kSum:
      return reduce_with<SumOf>(x, y, begin, end, axis, inner, 1);
    case Reduce::kMean:
      return reduce_with<SumOf>(x, y, begin, end, axis, inner, static_cast<float>(axis));
    case Reduce::kMax:
      return reduce_with<MaxOf>(x, y, begin, end, axis, inner, 1);
    case Reduce::kMin:
      return reduce_with<MinOf>(x, y, begin, end, axis, inner, 1);
    case Reduce::kSumSquare:
      return reduce_with<SquareOf>(x, y, begin, end, axis, inner, 1);
    case Reduce::kSumAbs:
      return reduce_with<AbsOf>(x, y, begin, end, axis, inner, 1);
    case Reduce::kProduct:
      return reduce_with<ProductOf>(x, y, begin, end, axis, inner, 1);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(reduce_range);

void reduce_f32(Reduce kind, const float* x, float* y, int64_t outer, int64_t axis, int64_t inner,
                const Parallel& parallel) {
  if (outer <= 0 || inner <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(reduce_range);
  constexpr int64_t kGrain = 65536;  // floats read: 5 to 10 us
  const int64_t strips = inner == 1 ? 1 : (inner + 63) / 64, per_strip = axis * (inner == 1 ? 1 : 64);
  parallel.for_range(outer * strips, kGrain / (per_strip + 1) + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(kind, x, y, begin, end, axis, inner); });
}
}  // namespace vireo::cpu
#endif

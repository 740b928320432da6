// Requantization of vectors; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_FINISH_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_FINISH_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/requantize/requantize.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<int32_t>;
using DF = hn::RebindToFloat<DI>;
using VI = hn::Vec<DI>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DI()));

// rne(v) for values inside of int32.
HWY_INLINE VI round_in_range(VF v) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // without the repair of what is outside
  return VI{_mm512_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VI{_mm256_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_SSE2
  return VI{_mm_cvtps_epi32(v.raw)};
#else
  return hn::NearestInt(v);
#endif
}

// The first `count` lanes of a vector of sums at column j as float32, in the bits of an integer.
HWY_INLINE VI real_of(const RealStep& s, VI sum, int64_t j, size_t count) {
  const DF d;
  const auto lanes = [&](const float* from, bool per_column) HWY_ATTR {
    if (!per_column) return hn::Set(d, *from);
    return count == static_cast<size_t>(kLanes) ? hn::LoadU(d, from + j) : hn::LoadN(d, from + j, count);
  };
  VF y = hn::Mul(hn::ConvertTo(d, sum), lanes(s.factor, s.factor_per_column));
  if (s.later != nullptr) y = hn::Mul(y, lanes(s.later, s.later_per_column));
  if (s.bias != nullptr) y = hn::Add(y, lanes(s.bias, s.bias_per_column));
  return hn::BitCast(DI(), y);
}

// Whether products of an int32 with any of these stay in int32: all of them below 1.
inline bool products_in_range(const float* multipliers, int64_t count) {
  bool below = true;
  for (int64_t i = 0; i < count; ++i) below = below && multipliers[i] < 1.0f && multipliers[i] > -1.0f;
  return below;
}

// The codes of sums, and of real numbers. Works on int8: uint8 is int8 with the top bit flipped.
class Finish {
 public:
  // `in_range`: no number that rounded() will see leaves int32 (none is NaN), and so the bounds can be left to the
  // saturating steps from 32 to 16 and 8 bits.
  explicit Finish(const Requantize& q, bool in_range = false) : in_range_(in_range) {
    const int32_t down = q.is_signed ? 0 : 128;
    int32_t low = q.low - down, high = q.high - down;
    low = low < -128 ? -128 : low;
    high = high > 127 ? 127 : high;
    zero_point_ = q.zero_point - down;
    low_ = static_cast<int8_t>(low);
    high_ = static_cast<int8_t>(high);
    flip_ = q.is_signed ? 0 : -128;
    lo_ = hn::Set(DF(), static_cast<float>(low - zero_point_));
    hi_ = hn::Set(DF(), static_cast<float>(high - zero_point_));
#if HWY_TARGET != HWY_SCALAR
    zeros_ = hn::Set(D16(), static_cast<int16_t>(zero_point_));
    lows_ = hn::Set(D8(), low_);
    highs_ = hn::Set(D8(), high_);
    flips_ = hn::Set(D8(), flip_);
#endif
  }

  bool in_range() const { return in_range_; }

  // rne(v), or any integer beyond the bounds where that is. The bounds are integers, so that clamping before rounding
  // changes nothing; a NaN is not above anything.
  HWY_INLINE VI rounded(VF v) const {
    if (!in_range_) {
      v = hn::IfThenElse(hn::Gt(v, lo_), v, lo_);
      v = hn::IfThenElse(hn::Lt(v, hi_), v, hi_);
    }
    return round_in_range(v);
  }
  HWY_INLINE VI rounded(VI sum, VF multiplier) const { return rounded(hn::Mul(hn::ConvertTo(DF(), sum), multiplier)); }

  // The first `count` lanes of what rounded() gave, as codes.
  HWY_INLINE void store(VI v, size_t count, uint8_t* to) const {
    const hn::Rebind<int16_t, DI> d16;
    const hn::Rebind<int8_t, DI> d8;
    const auto wide = hn::SaturatedAdd(hn::DemoteTo(d16, v), hn::Set(d16, static_cast<int16_t>(zero_point_)));
    const auto y =
        hn::Xor(hn::Min(hn::Max(hn::DemoteTo(d8, wide), hn::Set(d8, low_)), hn::Set(d8, high_)), hn::Set(d8, flip_));
    if (count == static_cast<size_t>(kLanes)) {
      hn::StoreU(y, d8, reinterpret_cast<int8_t*>(to));
    } else {
      hn::StoreN(y, d8, reinterpret_cast<int8_t*>(to), count);
    }
  }

#if HWY_TARGET != HWY_SCALAR
  using D8 = hn::Repartition<int8_t, DI>;
  using D16 = hn::Repartition<int16_t, DI>;
  // Four vectors of what rounded() gave. In each 128 bits of the result stand 4 codes of a, then of b, c and d.
  HWY_INLINE hn::Vec<D8> blocks(VI a, VI b, VI c, VI d) const {
    const auto ab = hn::SaturatedAdd(hn::ReorderDemote2To(D16(), a, b), zeros_);
    const auto cd = hn::SaturatedAdd(hn::ReorderDemote2To(D16(), c, d), zeros_);
    return hn::Xor(hn::Min(hn::Max(hn::ReorderDemote2To(D8(), ab, cd), lows_), highs_), flips_);
  }
  // The same as blocks(), in the order of the vectors.
  HWY_INLINE hn::Vec<D8> in_order(VI a, VI b, VI c, VI d) const {
    const auto y = blocks(a, b, c, d);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    alignas(64) static constexpr int32_t kOrder[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return hn::BitCast(D8(), hn::TableLookupLanes(hn::BitCast(DI(), y), hn::SetTableIndices(DI(), kOrder)));
#elif HWY_TARGET == HWY_AVX2
    alignas(32) static constexpr int32_t kOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};
    return hn::BitCast(D8(), hn::TableLookupLanes(hn::BitCast(DI(), y), hn::SetTableIndices(DI(), kOrder)));
#else
    return y;  // one block
#endif
  }
  // Two vectors of what rounded() gave, of which each 128 bits of `a` stand before those of `b`.
  HWY_INLINE void store_halves(VI a, VI b, size_t count, uint8_t* to) const {
    const hn::Repartition<int16_t, DI> d16;
    const hn::Rebind<int8_t, decltype(d16)> d8;
    const auto zero = hn::Set(d16, static_cast<int16_t>(zero_point_));
    const auto wide = hn::SaturatedAdd(hn::ReorderDemote2To(d16, a, b), zero);
    const auto y =
        hn::Xor(hn::Min(hn::Max(hn::DemoteTo(d8, wide), hn::Set(d8, low_)), hn::Set(d8, high_)), hn::Set(d8, flip_));
    if (count >= hn::Lanes(d8)) {
      hn::StoreU(y, d8, reinterpret_cast<int8_t*>(to));
    } else {
      hn::StoreN(y, d8, reinterpret_cast<int8_t*>(to), count);
    }
  }
  HWY_INLINE void store(hn::Vec<D8> y, size_t count, uint8_t* to) const {
    auto* const bytes = reinterpret_cast<int8_t*>(to);
    if (count >= hn::Lanes(D8())) {
      hn::StoreU(y, D8(), bytes);
    } else {
      hn::StoreN(y, D8(), bytes, count);
    }
  }
#endif

 private:
  int32_t zero_point_;
  int8_t low_, high_, flip_;
  bool in_range_;
  VF lo_, hi_;
#if HWY_TARGET != HWY_SCALAR  // as vectors: a broadcast of 8 or 16 bits takes a step of the port that packing needs
  hn::Vec<D16> zeros_;
  hn::Vec<D8> lows_, highs_, flips_;
#endif
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

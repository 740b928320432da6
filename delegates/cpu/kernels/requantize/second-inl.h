// Codes as numbers, and the second step of a product's codes (requantize.h); compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_SECOND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_SECOND_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_SECOND_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_SECOND_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/requantize/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// float(code - zero) of neighbouring codes, or of one that is repeated.
class CodesIn {
 public:
  CodesIn(const uint8_t* data, int64_t step, bool is_signed, int32_t zero)
      : data_(data), step_(step), flip_(is_signed ? 0x80 : 0), zero_(zero + (is_signed ? 128 : 0)) {}
  HWY_INLINE VF part(int64_t i, size_t count) const {
    const hn::Rebind<uint8_t, DI> d;
    return real(step_ == 0 ? hn::Set(d, *data_) : hn::LoadN(d, data_ + i, count));
  }

#if HWY_TARGET != HWY_SCALAR
  // 4 kLanes of them from i on: vector j has codes 4 j to 4 j + 3 of each 16. A code below the upper bits of 2^23 is
  // 2^23 + code, from which 2^23 + zero is taken exactly.
  HWY_INLINE void blocks(int64_t i, VF (&out)[4]) const {
    const hn::Repartition<uint8_t, DI> d;
    split(step_ == 0 ? hn::Set(d, *data_) : hn::LoadU(d, data_ + i), out);
  }
  // The first `count` of them, which alone are read.
  HWY_INLINE void blocks(int64_t i, size_t count, VF (&out)[4]) const {
    const hn::Repartition<uint8_t, DI> d;
    split(step_ == 0 ? hn::Set(d, *data_) : hn::LoadN(d, data_ + i, count), out);
  }
#endif

 private:
#if HWY_TARGET != HWY_SCALAR
  template <class V>
  HWY_INLINE void split(V raw, VF (&out)[4]) const {
    const hn::Repartition<uint8_t, DI> d;
    const hn::Repartition<uint16_t, DI> d16;
    const auto codes = hn::Xor(raw, hn::Set(d, flip_));
    const auto low = hn::BitCast(d16, hn::InterleaveLower(d, codes, hn::Zero(d)));
    const auto high = hn::BitCast(d16, hn::InterleaveUpper(d, codes, hn::Zero(d)));
    const auto top = hn::Set(d16, uint16_t{0x4B00});
    const VF base = hn::Set(DF(), 8388608.0f + static_cast<float>(zero_));
    out[0] = hn::Sub(hn::BitCast(DF(), hn::InterleaveLower(d16, low, top)), base);
    out[1] = hn::Sub(hn::BitCast(DF(), hn::InterleaveUpper(d16, low, top)), base);
    out[2] = hn::Sub(hn::BitCast(DF(), hn::InterleaveLower(d16, high, top)), base);
    out[3] = hn::Sub(hn::BitCast(DF(), hn::InterleaveUpper(d16, high, top)), base);
  }
#endif
  template <class V>
  HWY_INLINE VF real(V codes) const {
    const hn::Rebind<uint8_t, DI> d;
    const auto wide = hn::PromoteTo(DI(), hn::Xor(codes, hn::Set(d, flip_)));
    return hn::ConvertTo(DF(), hn::Sub(wide, hn::Set(DI(), zero_)));
  }
  const uint8_t* data_;
  int64_t step_;
  uint8_t flip_;
  int32_t zero_;
};

// d * (d < 0 ? below : factor)
HWY_INLINE VF times_by_sign(VF d, VF factor, VF below) {
  return hn::Mul(d, hn::IfThenElse(hn::Lt(d, hn::Zero(DF())), below, factor));
}

// Whether no number that the step's rounding sees leaves int32: differences of codes are at most 255.
inline bool step_in_range(const SecondStep& s, int64_t count) {
  const auto small = [](float v) { return v < 4e6f && v > -4e6f; };  // 2 255 4e6 < 2^31
  bool within = small(s.other_factor);
  for (int64_t i = 0; i < count; ++i) {
    within = within && small(s.factor[i]) && (s.below == nullptr || small(s.below[i])) &&
             (s.offset == nullptr || small(s.offset[i]));
  }
  return within;
}

// From a product's sums to the codes behind its second step. Without one, an object that nobody asks.
class Second : public Finish {
 public:
  // `in_range`: of the products of sums, as for Finish; `columns`: of the product.
  Second(const Requantize& q, bool in_range, int64_t columns)
      : Finish(q.then != nullptr ? q.then->y : q,
               q.then != nullptr && step_in_range(*q.then, q.then->per_column ? columns : 1)),
        step_(q.then),
        in_range_(in_range) {
    const int32_t least = q.is_signed ? -128 : 0, low = q.low < least ? least : q.low,
                  high = q.high > least + 255 ? least + 255 : q.high;
    lo_ = hn::Set(DF(), static_cast<float>(low - q.zero_point));
    hi_ = hn::Set(DF(), static_cast<float>(high - q.zero_point));
    // 1.5 2^23 leaves a float no room for a fraction: adding it rounds to nearest even. What is taken away again puts
    // the step's zero point in the place of the product's.
    up_ = hn::Set(DF(), 12582912.0f);
    down_ = hn::Set(DF(), 12582912.0f - static_cast<float>(q.zero_point - (step_ != nullptr ? step_->zero : 0)));
  }
  // Null: none.
  const SecondStep* step() const { return step_; }

  // float(code - zero) of the code that a sum has.
  HWY_INLINE VF difference(VI sum, VF multiplier) const {
    VF v = hn::Mul(hn::ConvertTo(DF(), sum), multiplier);
    if (in_range_) {
      v = hn::Min(hn::Max(v, lo_), hi_);
    } else {  // a NaN becomes the least
      v = hn::IfThenElse(hn::Gt(v, lo_), v, lo_);
      v = hn::IfThenElse(hn::Lt(v, hi_), v, hi_);
    }
    return hn::Sub(hn::Add(v, up_), down_);
  }

 private:
  const SecondStep* step_;
  bool in_range_;
  VF lo_, hi_, up_, down_;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

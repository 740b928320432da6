// Codes of 8 or 16 bits as numbers, and back; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_CODES_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_CODES_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/half_words/half_words.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace half_words {

// Codes as int8 or int16: an unsigned one with its highest bit flipped.
class Out {
 public:
  explicit Out(const CodesOut& o) : type_(o.type) {
    const int32_t down = o.type.is_signed ? 0 : o.type.wide ? 32768 : 128;
    zero_ = o.zero - down;
    lo_ = hn::Set(DF(), static_cast<float>(o.low - o.zero));
    hi_ = hn::Set(DF(), static_cast<float>(o.high - o.zero));
  }
  HWY_INLINE VI code(VF v) const {
    v = hn::IfThenElse(hn::Gt(v, lo_), v, lo_);  // a NaN is not above anything
    v = hn::IfThenElse(hn::Lt(v, hi_), v, hi_);
    return hn::Add(round_in_range(v), hn::Set(DI(), zero_));
  }
  HWY_INLINE void store(VI code, size_t count, void* y, int64_t at) const {
    const hn::Rebind<int16_t, DI> d16;
    const auto half = hn::DemoteTo(d16, code);
    if (type_.wide) {
      const auto bits = hn::Xor(half, hn::Set(d16, static_cast<int16_t>(type_.is_signed ? 0 : -32768)));
      put(bits, d16, count, static_cast<int16_t*>(y) + at);
    } else {
      const hn::Rebind<int8_t, DI> d8;
      const auto bits = hn::Xor(hn::DemoteTo(d8, half), hn::Set(d8, static_cast<int8_t>(type_.is_signed ? 0 : -128)));
      put(bits, d8, count, static_cast<int8_t*>(y) + at);
    }
  }
  HWY_INLINE void store(VF v, size_t count, void* y, int64_t at) const { store(code(v), count, y, at); }

 private:
  template <class V, class D, class T>
  static HWY_INLINE void put(V v, D d, size_t count, T* to) {
    if (count == static_cast<size_t>(kLanes)) {
      hn::StoreU(v, d, to);
    } else {
      hn::StoreN(v, d, to, count);
    }
  }
  CodeType type_;
  int32_t zero_;
  VF lo_, hi_;
};

// float(code - zero) of neighbouring codes, or of one that is repeated.
class In {
 public:
  In(const void* data, int64_t step, CodeType type, int32_t zero)
      : data_(data), step_(step), type_(type), zero_(hn::Set(DI(), zero)) {}
  HWY_INLINE VF part(int64_t at, size_t count) const {
    VI wide;
    if (type_.wide) {
      wide = type_.is_signed ? load<int16_t>(at, count) : load<uint16_t>(at, count);
    } else {
      wide = type_.is_signed ? load<int8_t>(at, count) : load<uint8_t>(at, count);
    }
    return hn::ConvertTo(DF(), hn::Sub(wide, zero_));
  }

 private:
  template <class T>
  HWY_INLINE VI load(int64_t at, size_t count) const {
    const hn::Rebind<T, DI> d;
    const T* const from = static_cast<const T*>(data_) + at;
    return hn::PromoteTo(DI(), step_ == 0 ? hn::Set(d, *from) : hn::LoadN(d, from, count));
  }
  const void* data_;
  int64_t step_;
  CodeType type_;
  VI zero_;
};

}  // namespace half_words
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

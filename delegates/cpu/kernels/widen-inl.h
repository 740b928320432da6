// Bytes as 16-bit differences to their zero point; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>
#include <stdint.h>

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 16-bit differences to[i] = from[i * step] - zero, in whole vectors for steps of 1 and 2: the last one overlaps the
// one before. No byte in front of from[0] or behind the last element is read.
template <class T>
HWY_INLINE void widen(const T* from, int64_t step, int64_t count, int32_t zero, int16_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<int16_t, 8> d8;
  const int64_t few = static_cast<int64_t>(hn::Lanes(d8));
  const auto z8 = hn::Set(d8, static_cast<int16_t>(zero));
  if (step == 1) {
    const hn::ScalableTag<int16_t> d;
    const hn::Rebind<T, decltype(d)> narrow;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto z = hn::Set(d, static_cast<int16_t>(zero));
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), z), d, to + i);
    if (i < count && count >= few) {
      const hn::Rebind<T, decltype(d8)> narrow8;
      const auto put = [&](int64_t at) HWY_ATTR {
        hn::StoreU(hn::Sub(hn::PromoteTo(d8, hn::LoadU(narrow8, from + at)), z8), d8, to + at);
      };
      for (; i + few <= count; i += few) put(i);
      if (i < count) put(count - few);
      return;
    }
  } else if (step == 2 && count > few) {
    // Each element is a half of a lane of 16 bits: the lower one of the first vector, the upper one of those behind it,
    // which begin a byte earlier and so end with their last element.
    const hn::Repartition<T, decltype(d8)> bytes;
    const hn::RebindToUnsigned<decltype(d8)> du;
    const auto upper = [&](const T* lanes) HWY_ATTR {
      const auto v = hn::LoadU(bytes, lanes);
      if constexpr (std::is_signed<T>::value) {
        return hn::ShiftRight<8>(hn::BitCast(d8, v));
      } else {
        return hn::BitCast(d8, hn::ShiftRight<8>(hn::BitCast(du, v)));
      }
    };
    const auto lower = hn::ShiftLeft<8>(hn::BitCast(du, hn::LoadU(bytes, from)));
    if constexpr (std::is_signed<T>::value) {
      hn::StoreU(hn::Sub(hn::ShiftRight<8>(hn::BitCast(d8, lower)), z8), d8, to);
    } else {
      hn::StoreU(hn::Sub(hn::BitCast(d8, hn::ShiftRight<8>(lower)), z8), d8, to);
    }
    for (i = few; i + few <= count; i += few) hn::StoreU(hn::Sub(upper(from + 2 * i - 1), z8), d8, to + i);
    if (i < count) hn::StoreU(hn::Sub(upper(from + 2 * (count - few) - 1), z8), d8, to + count - few);
    return;
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<int16_t>(from[i * step] - zero);
}

// The same of `data` from element `offset` on.
HWY_INLINE void widen_any(const void* data, bool is_signed, int64_t offset, int64_t step, int64_t count, int32_t zero,
                          int16_t* to) {
  if (is_signed) {
    widen(static_cast<const int8_t*>(data) + offset, step, count, zero, to);
  } else {
    widen(static_cast<const uint8_t*>(data) + offset, step, count, zero, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

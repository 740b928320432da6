// Bytes as 16-bit differences to their zero point; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>
#include <stdint.h>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 16-bit differences to[i] = from[i * step] - zero.
template <class T>
HWY_INLINE void widen(const T* from, int64_t step, int64_t count, int32_t zero, int16_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (step == 1) {
    const hn::ScalableTag<int16_t> d;
    const hn::Rebind<T, decltype(d)> narrow;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto z = hn::Set(d, static_cast<int16_t>(zero));
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), z), d, to + i);
    }
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

// bfloat16 between memory and vectors of float32; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_BF16_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_BF16_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_BF16_INL_H_
#endif

#include <hwy/highway.h>
#include <stddef.h>
#include <stdint.h>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// bfloat16 from memory as float32: a vector, or `count` of it and zeros behind.
HWY_INLINE auto widened(const uint16_t* from) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(half, from))));
}
HWY_INLINE auto widened(const uint16_t* from, size_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadN(half, from, count))));
}

// A vector of float32 as bfloat16 in the low halves of its words, to the nearest (even).
template <class V>
HWY_INLINE auto bf16_words(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto bits = hn::BitCast(du, x), high = hn::ShiftRight<16>(bits);
  const auto near = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(du, 0x7FFFu), hn::And(high, hn::Set(du, 1u)))));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), hn::Or(high, hn::Set(du, 0x40u)), near);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

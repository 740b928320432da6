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
#include <string.h>

#include "delegates/cpu/kernels/math-inl.h"

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

// Pairs of bfloat16, one after the other, as words: a word's low half is the first one, as float32 one shift away, its
// high half, as float32 one mask away, the second.
HWY_INLINE auto pairs_at(const uint16_t* from) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
#if HWY_TARGET == HWY_SCALAR  // has no vectors of other lanes
  uint32_t pair;
  memcpy(&pair, from, sizeof(pair));
  return hn::Set(du, pair);
#else
  return hn::BitCast(du, hn::LoadU(hn::Repartition<uint16_t, decltype(d)>(), from));
#endif
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

// The same as bfloat16. A core that rounds by itself takes numbers below 2^-126 as 0.
template <class V>
HWY_INLINE auto narrowed(V x) {
  const hn::DFromV<V> d;
  const hn::Rebind<uint16_t, decltype(d)> half;
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  return hn::BitCast(half, hn::DemoteTo(hn::Rebind<hwy::bfloat16_t, decltype(d)>(), x));
#else
  return hn::TruncateTo(half, bf16_words(x));
#endif
}

// SiLU, x / (1 + e^-ax), for results that are rounded to bfloat16 next: for ax > -84 its error is below 2^-13
// of the result, a sixteenth of that rounding's.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu_for_bf16(D d, V x, V a) {
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  const hn::RebindToSigned<D> di;
  // As a power of two, from 2^-126 to what is infinite.
  const V t = hn::Mul(clip(d, hn::Mul(x, a), hn::Set(d, -89.0f), hn::Set(d, 87.0f)), hn::Set(d, -1.44269504f));
  const V units = hn::Set(d, 12582912.0f + 127.0f);  // 1.5 * 2^23, and the exponent's bias
  const V n = hn::Add(t, units);
  const V r = hn::Sub(t, hn::Sub(n, units));
  // 2^r on [-1/2, 1/2].
  const V p = horner(d, r, 9.999992614e-01f, 6.931218147e-01f, 2.402474483e-01f, 5.591786031e-02f, 9.570101757e-03f);
  const V one = hn::Set(d, 1.0f);
  const V e = hn::MulAdd(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, n))), one);
  return hn::Mul(x, hn::ApproximateReciprocal(e));
#else
  return swish_f32(d, x, a);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

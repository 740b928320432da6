// float16 in memory as vectors of float32; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_INL_H_
#endif

#include <hwy/highway.h>
#include <stdint.h>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sets with an instruction for it.
#undef VIREO_CONVERTS_HALF
#if (HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86) || HWY_ARCH_ARM_A64
#define VIREO_CONVERTS_HALF 1
#else
#define VIREO_CONVERTS_HALF 0
#endif

// As many as `d` has lanes, exactly: subnormals, infinities and NaN too.
template <class D>
HWY_INLINE hn::Vec<D> load_half(D d, const uint16_t* from) {
  const hn::Rebind<uint16_t, D> d16;
  const auto bits = hn::LoadU(d16, from);
#if VIREO_CONVERTS_HALF
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#else
  // Exponents move from a bias of 15 to one of 127, that of infinities and NaN once more. Subnormals are integers of
  // 2^-24, which are normal numbers in float32.
  const hn::RebindToSigned<D> di;
  const auto wide = hn::PromoteTo(di, bits);
  const auto magnitude = hn::And(wide, hn::Set(di, 0x7FFF)), sign = hn::ShiftLeft<16>(hn::Xor(wide, magnitude));
  const auto move = hn::Set(di, 112 << 23);
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), move);
  const auto moved = hn::Add(normal, hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), move));
  const auto small = hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24f)));
  return hn::BitCast(d, hn::Or(hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), small, moved), sign));
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

// Which instruction sets the kernels are compiled for. Include before any header of Highway.
//
// Each set costs a compile of every kernel, so only those stay that change what a core can do per cycle: on x86-64 SSE2
// (the baseline: every core has it), AVX2 with FMA, and AVX-512 (Skylake's subset). On Arm the three NEON levels of
// Highway differ in AES and bfloat16 only, which float32 kernels do not use. Register tiles are arrays of vectors,
// which the vector-length-agnostic sets (SVE, RVV) do not allow: those cores run NEON, or 128-bit vectors in plain C++.
#ifndef VIREO_DELEGATES_CPU_KERNELS_TARGETS_H_
#define VIREO_DELEGATES_CPU_KERNELS_TARGETS_H_

#ifdef VIREO_KERNEL_USES_VNNI  // integer dot products: one more set
#define HWY_WANT_AVX3_DL
#define VIREO_DISABLED_VNNI 0
#else
#define VIREO_DISABLED_VNNI HWY_AVX3_DL
#endif

#ifdef VIREO_KERNEL_USES_BF16  // bfloat16 dot products: one more set (levels.h says why Intel's cores run it too)
#define VIREO_DISABLED_BF16 0
#else
#define VIREO_DISABLED_BF16 HWY_AVX3_ZEN4
#endif

#ifndef VIREO_LEVELS_LEFT_OUT  // VIREO_NATIVE_KERNELS: those that the machine at hand lacks
#define VIREO_LEVELS_LEFT_OUT 0
#endif

#define HWY_DISABLED_TARGETS                                                                                 \
  (VIREO_LEVELS_LEFT_OUT | HWY_SSSE3 | HWY_SSE4 | VIREO_DISABLED_VNNI | VIREO_DISABLED_BF16 | HWY_AVX3_SPR | \
   HWY_NEON | HWY_NEON_BF16 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// `#pragma GCC unroll` is spelled differently by clang, which also reads this form.
#define VIREO_UNROLL _Pragma("GCC unroll 16")
// For a loop that is not worth the code of its steps one after the other.
#define VIREO_ROLLED _Pragma("GCC unroll 1")

// Whether the set that is compiled has 32 vector registers, for which register tiles may be twice as high.
#define VIREO_32_REGISTERS ((HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) || HWY_ARCH_ARM_A64)

#endif  // VIREO_DELEGATES_CPU_KERNELS_TARGETS_H_

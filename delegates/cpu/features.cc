#include "delegates/cpu/features.h"

#include "sdk/base/config.h"

#if defined(__aarch64__) && VIREO_TUNED
#include "delegates/cpu/kernels/sme/sme.h"
#endif

namespace vireo {

const char* cpu_features_text() {
#if defined(__x86_64__) && !VIREO_TUNED
  return "x86-64";  // no kernel asks, so the detection (4.5 KB) is left out
#elif defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni")) return "x86-64 AVX-512 VNNI";
  if (__builtin_cpu_supports("avx512bw")) return "x86-64 AVX-512";
  if (__builtin_cpu_supports("avx2")) return "x86-64 AVX2";
  return "x86-64";
#elif defined(__aarch64__) && VIREO_TUNED
  if (!cpu::has_sme_f32()) return "aarch64 NEON";
  switch (cpu::sme_words()) {
    case 4:
      return "aarch64 NEON, SME of 128 bits";
    case 8:
      return "aarch64 NEON, SME of 256 bits";
    case 16:
      return "aarch64 NEON, SME of 512 bits";
    case 32:
      return "aarch64 NEON, SME of 1024 bits";
    default:
      return "aarch64 NEON, SME of 2048 bits";
  }
#elif defined(__aarch64__)
  return "aarch64 NEON";
#elif defined(__arm__) && defined(__ARM_NEON)
  return "armv7 NEON";
#elif defined(__arm__)
  return "Arm Cortex-M";
#elif defined(__riscv)
  return "riscv";
#elif defined(__wasm__)
  return "wasm";
#else
  return "generic";
#endif
}

}  // namespace vireo

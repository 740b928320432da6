#include "delegates/cpu/kernels/amx/amx.h"

#include <atomic>

#if defined(__x86_64__) && defined(__linux__) && VIREO_AMX
#include <cpuid.h>
#endif

namespace vireo::cpu {
namespace {

constexpr uint32_t kBf16 = 1, kInt8 = 2, kAsked = 4;

#if defined(__x86_64__) && defined(__linux__) && VIREO_AMX
uint32_t ask() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (uint32_t{1} << 27)) == 0) return 0;  // OSXSAVE
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0;
  const uint32_t bf16 = d >> 22 & 1, tile = d >> 24 & 1, int8 = d >> 25 & 1;
  if (tile == 0 || (bf16 | int8) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTileState = uint32_t{3} << 17;  // configuration and data
  if ((low & kTileState) != kTileState) return 0;
  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) without a C library: kernels know none.
  constexpr long kArchPrctl = 158, kAskForState = 0x1023, kTileData = 18;
  long result = kArchPrctl;
  __asm__ volatile("syscall" : "+a"(result) : "D"(kAskForState), "S"(kTileData) : "rcx", "r11", "memory");
  return result == 0 ? bf16 * kBf16 | int8 * kInt8 : 0;
}
#else
uint32_t ask() { return 0; }
#endif

std::atomic<uint32_t> known{0};

// Two threads may ask at once: both get the same answer.
uint32_t features() {
  uint32_t now = known.load(std::memory_order_relaxed);
  if (now == 0) {
    now = ask() | kAsked;
    known.store(now, std::memory_order_relaxed);
  }
  return now;
}

}  // namespace

void withhold_amx() { known.store(kAsked, std::memory_order_relaxed); }
bool has_amx_bf16() { return (features() & kBf16) != 0; }
bool has_amx_int8() { return (features() & kInt8) != 0; }

}  // namespace vireo::cpu

// Codes of 8 bits for the tests of kernels that work on them.
#ifndef VIREO_DELEGATES_CPU_KERNELS_BYTES_TESTING_H_
#define VIREO_DELEGATES_CPU_KERNELS_BYTES_TESTING_H_

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu::testing {

using Bytes = Guarded<uint8_t>;

template <class Index>
int value(const Bytes& b, bool is_signed, Index i) {
  const uint8_t v = b[static_cast<size_t>(i)];
  return is_signed ? static_cast<int8_t>(v) : v;
}

// Extremes are frequent.
inline void fill(Bytes& b, uint32_t seed) {
  std::mt19937 rng(seed);
  for (uint8_t& v : b) v = static_cast<uint8_t>(rng() % 7 == 0 ? (rng() % 2 ? 255 : 128) : rng());
}

}  // namespace vireo::cpu::testing

#endif  // VIREO_DELEGATES_CPU_KERNELS_BYTES_TESTING_H_

// Random numbers for the tests of microcontroller kernels.
#ifndef VIREO_DELEGATES_MCU_NUMBERS_TESTING_H_
#define VIREO_DELEGATES_MCU_NUMBERS_TESTING_H_

#include <cstdint>
#include <random>
#include <vector>

namespace vireo::mcu_testing {

// Of [low, high], which may be as far apart as numbers of 32 bits are.
inline int32_t pick(std::mt19937& numbers, int32_t low, int32_t high) {
  const uint32_t first = static_cast<uint32_t>(low), count = static_cast<uint32_t>(high) - first + 1;
  return static_cast<int32_t>(first + numbers() % count);
}

// Of [-most, most).
inline std::vector<float> noise(std::mt19937& numbers, int64_t count, float most) {
  constexpr float kHalf = 1 << 23;
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = (static_cast<float>(numbers() >> 8) - kHalf) / (kHalf / most);
  return v;
}

}  // namespace vireo::mcu_testing

#endif  // VIREO_DELEGATES_MCU_NUMBERS_TESTING_H_

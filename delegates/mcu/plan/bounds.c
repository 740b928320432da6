#include "delegates/mcu/plan/call.h"

uint32_t mcu_times(uint32_t a, uint32_t b) {
  const uint64_t product = (uint64_t)a * b;
  return product > VIREO_PLAN_MOST ? VIREO_PLAN_MOST + 1 : (uint32_t)product;
}

int mcu_are_between(const int32_t* numbers, uint32_t count, uint32_t low, uint32_t high) {
  for (; count > 0; --count) {
    if ((uint32_t)*numbers++ - low > high - low) return 0;
  }
  return 1;
}

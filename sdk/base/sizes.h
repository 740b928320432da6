// Sizes from numbers that nobody has checked yet.
#ifndef VIREO_SDK_BASE_SIZES_H_
#define VIREO_SDK_BASE_SIZES_H_

#include "sdk/base/checked.h"

namespace vireo {

// -1 where one of the two is negative or the result does not fit, so that calls can be nested.
inline int64_t size_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return a >= 0 && b >= 0 && checked_mul(a, b, &product) ? product : -1;
}
inline int64_t size_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a >= 0 && b >= 0 && checked_add(a, b, &sum) ? sum : -1;
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_SIZES_H_

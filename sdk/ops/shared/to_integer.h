// Real numbers as integers.
#ifndef VIREO_SDK_OPS_SHARED_TO_INTEGER_H_
#define VIREO_SDK_OPS_SHARED_TO_INTEGER_H_

#include <stdint.h>

#include <limits>
#include <type_traits>

namespace vireo {

// Towards 0. Beyond T's range: its end; NaN: the lowest. What is below 0 wraps in an unsigned T, as sums there do.
template <class T>
T to_integer(double v) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_unsigned<T>::value) {
    if (v < 0) return static_cast<T>(to_integer<int64_t>(v));
  }
  if (!(v > static_cast<double>(Limits::min()))) return Limits::min();
  return v < static_cast<double>(Limits::max()) ? static_cast<T>(v) : Limits::max();
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_TO_INTEGER_H_

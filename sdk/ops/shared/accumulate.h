// The type in which reference kernels add up products of T. float sums use double where the core has it in hardware:
// the reference is the yardstick for tuned kernels. On a core without (Cortex-M4), double would be emulated at 50 to
// 100 cycles an operation and the reference kernels are what runs there, so float it is.
#ifndef VIREO_SDK_OPS_SHARED_ACCUMULATE_H_
#define VIREO_SDK_OPS_SHARED_ACCUMULATE_H_

#include <stdint.h>

#include "sdk/base/half.h"

namespace vireo {

#if defined(__arm__) && (!defined(__ARM_FP) || (__ARM_FP & 8) == 0)
using wide_float = float;
#else
using wide_float = double;
#endif

// Integers add up in the unsigned type of their size: two's complement wraparound without undefined behaviour.
template <class T>
struct Accumulate;
template <>
struct Accumulate<float> {
  using type = wide_float;
};
template <>
struct Accumulate<double> {
  using type = double;
};
template <>
struct Accumulate<F16> {
  using type = wide_float;
};
template <>
struct Accumulate<BF16> {
  using type = wide_float;
};
template <>
struct Accumulate<int32_t> {
  using type = uint32_t;
};
template <>
struct Accumulate<uint32_t> {
  using type = uint32_t;
};
template <>
struct Accumulate<int64_t> {
  using type = uint64_t;
};
template <>
struct Accumulate<uint64_t> {
  using type = uint64_t;
};
template <class T>
using accumulate_t = typename Accumulate<T>::type;

// From the sum back to the element: 16-bit floats round twice (to float, then to 16 bits).
template <class T, class A>
inline T from_sum(A a) {
  return static_cast<T>(a);
}
template <>
inline F16 from_sum<F16>(double a) {
  return F16(static_cast<float>(a));
}
template <>
inline BF16 from_sum<BF16>(double a) {
  return BF16(static_cast<float>(a));
}
template <>
inline F16 from_sum<F16>(float a) {
  return F16(a);
}
template <>
inline BF16 from_sum<BF16>(float a) {
  return BF16(a);
}

// An element as a summand.
template <class A, class T>
inline A to_sum(T v) {
  return static_cast<A>(v);
}
template <>
inline double to_sum<double>(F16 v) {
  return static_cast<double>(static_cast<float>(v));
}
template <>
inline double to_sum<double>(BF16 v) {
  return static_cast<double>(static_cast<float>(v));
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_ACCUMULATE_H_

// Arithmetic that says when it does not fit. Used wherever a number comes from a file or a caller.
#ifndef VIREO_SDK_BASE_CHECKED_H_
#define VIREO_SDK_BASE_CHECKED_H_

#include <stdint.h>

namespace vireo {

template <class T>
[[nodiscard]] inline bool checked_add(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}
template <class T>
[[nodiscard]] inline bool checked_sub(T a, T b, T* out) {
  return !__builtin_sub_overflow(a, b, out);
}
template <class T>
[[nodiscard]] inline bool checked_mul(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// Rounds up to a power of two. Saturates: a result that does not fit is the largest multiple that does.
constexpr uint64_t align_up(uint64_t n, uint64_t alignment) {
  const uint64_t mask = alignment - 1;
  return n > UINT64_MAX - mask ? ~mask : (n + mask) & ~mask;
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_CHECKED_H_

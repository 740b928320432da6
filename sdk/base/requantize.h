// Integer requantization, the only place where it is written down:
//   y = clamp(rne(float(acc) * m) + zero_point)
// acc is an exact int32; m a positive finite float32 that comes with the model, never recomputed on a device; the
// product is one IEEE float32 multiplication; rne rounds to the nearest integer, ties to even. Builds keep contraction
// off, so every core gives the same bits; a core without an FPU gets them from its soft-float library.
#ifndef VIREO_SDK_BASE_REQUANTIZE_H_
#define VIREO_SDK_BASE_REQUANTIZE_H_

#include <stdint.h>

#include "sdk/base/half.h"

namespace vireo {

// rne(v) for |v| <= 2^21, without the C library and whatever rounding mode it is in but to nearest: at 1.5 * 2^23 the
// last bit of a float32 is worth 1, so the addition rounds as IEEE says, and the difference of the bits is the integer.
inline int32_t round_half_even(float v) {
  constexpr float kMagic = 12582912.0f;
  return static_cast<int32_t>(float_bits(v + kMagic)) - static_cast<int32_t>(float_bits(kMagic));
}

// clamp(rne(v) + zero_point) to [low, high]. low, high and zero_point within +-2^19. NaN becomes `low`.
inline int32_t round_and_clamp(float v, int32_t zero_point, int32_t low, int32_t high) {
  // The bounds are integers, so clamping before rounding changes nothing and keeps the sum in range.
  const float least = static_cast<float>(low - zero_point), most = static_cast<float>(high - zero_point);
  if (!(v > least)) return low;
  if (v >= most) return high;
  return round_half_even(v) + zero_point;
}

inline int32_t requantize(int32_t acc, float m, int32_t zero_point, int32_t low, int32_t high) {
  return round_and_clamp(static_cast<float>(acc) * m, zero_point, low, high);
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_REQUANTIZE_H_

// Rotary position embedding, float32:  y1 = cos x1 - sin x2,  y2 = sin x1 + cos x2  for pairs of a head's elements.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ROTARY_ROTARY_H_
#define VIREO_DELEGATES_CPU_KERNELS_ROTARY_ROTARY_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

struct RotaryF32 {
  int64_t batch = 0, heads = 0, tokens = 0, head = 0;
  int64_t half = 0;         // pairs that are turned: 2 half <= head; elements behind them are copied
  bool packed = false;      // x is [B, S, H D], else [B, H, S, D]
  bool neighbours = false;  // pairs are an element and the next one, else an element and that `half` further on
  // Rows of the tables, [half] each; null: token t of batch b has row b * tokens + t. All are rows of the tables.
  const int64_t* positions = nullptr;
};

// y may be x.
void rotary_f32(const RotaryF32& shape, const float* x, const float* cosines, const float* sines, float* y,
                const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ROTARY_ROTARY_H_

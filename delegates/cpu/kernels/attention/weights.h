// From the scores of a query to the weights of its keys.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_WEIGHTS_H_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_WEIGHTS_H_

#include <stdint.h>

namespace vireo::cpu {

struct WeightsOf {
  float scale = 1;
  // Row i, `mask_row` elements further on than the one before: added, or which keys may be seen. One of both or none.
  const float* added = nullptr;
  const uint8_t* allowed = nullptr;
  int64_t mask_row = 0;
  // Row i sees keys [0, seen + i * seen_step) at most, and none below 1.
  int64_t seen = 0, seen_step = 0;
};

// In place, rows of `keys` scores side by side: w[j] = exp(t[j] - max t), t = scale s + added; 0 for a key that is not
// seen. `inverse[i]` is 1 / sum w, 0 for a row that sees nothing (its weights are 0). Weights below 1.6e-38 are 0.
void attention_weights_f32(const WeightsOf& of, float* scores, int64_t rows, int64_t keys, float* inverse);

// y[i, :] *= inverse[i]. False when a product is not finite.
bool scale_rows_f32(float* y, int64_t row, int64_t rows, int64_t size, const float* inverse);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_WEIGHTS_H_

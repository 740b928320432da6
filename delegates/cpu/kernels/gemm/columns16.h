// Weights of 16 bits as they lie in the model.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_COLUMNS16_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_COLUMNS16_H_

#include <stdint.h>

namespace vireo::cpu {

// Where element (k, n) of B lies: at n * n_step + (k / inner) * outer_step + (k % inner) * inner_step.
struct Columns16 {
  const uint16_t* data = nullptr;
  int64_t n_step = 1, inner = 1, inner_step = 1, outer_step = 0;

  static Columns16 matrix(const void* data, int64_t n, int64_t k, bool transposed) {
    return {static_cast<const uint16_t*>(data), transposed ? k : 1, k, transposed ? 1 : n, 0};
  }
  // Filters [O, C, taps] for patches whose channels are last.
  static Columns16 filters(const void* data, int64_t channels, int64_t taps) {
    return {static_cast<const uint16_t*>(data), channels * taps, channels, taps, 1};
  }
  const uint16_t* at(int64_t k, int64_t n) const {
    return data + n * n_step + k / inner * outer_step + k % inner * inner_step;
  }
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_COLUMNS16_H_

// Products of rows with many vectors, and their squared distances, float32 summed in double: support vector machines.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ROW_SUMS_ROW_SUMS_H_
#define VIREO_DELEGATES_CPU_KERNELS_ROW_SUMS_ROW_SUMS_H_

#include <stdint.h>

namespace vireo::cpu {

constexpr int64_t kRowsAtOnce = 4;  // a vector is widened once for all

// sums[r * sums_step + j] = sum over k of x[r, k] w[j, k], or `squared` of (x[r, k] - w[j, k])^2. x [rows, features],
// w [count, features]. Serial.
struct RowSums {
  int64_t rows = 1, count = 0, features = 0, sums_step = 0;
  bool squared = false;
};
void row_sums_f64(const RowSums& shape, const double* x, const float* w, double* sums);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ROW_SUMS_ROW_SUMS_H_

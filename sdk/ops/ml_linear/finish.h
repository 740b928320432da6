// What linear models and support vector machines make of a row: sums over its features, one for each vector of the
// model, and what follows from them.
#ifndef VIREO_SDK_OPS_ML_LINEAR_FINISH_H_
#define VIREO_SDK_OPS_ML_LINEAR_FINISH_H_

#include "sdk/ops/kernel.h"
#include "sdk/ops/ml_linear/ml_linear.h"

namespace vireo {

// Sum j: over k of x[k] data[j, k], or of (x[k] - data[j, k])^2.
struct MlVectors {
  const float* data = nullptr;
  int64_t count = 0, features = 0;
  bool squared = false;
  int64_t more = 0;  // doubles behind the sums that finishing needs

  int64_t doubles() const { return count + more; }
};
MlVectors ml_vectors(Op op, Span<const uint8_t> attributes);

// Writes row `row` of the outputs. `sums`: MlVectors::doubles(), which it overwrites.
using MlFinish = void (*)(const KernelContext& ctx, int64_t row, double* sums);
void finish_linear_regressor(const KernelContext& ctx, int64_t row, double* sums);
void finish_linear_classifier(const KernelContext& ctx, int64_t row, double* sums);
void finish_svm_regressor(const KernelContext& ctx, int64_t row, double* sums);
void finish_svm_classifier(const KernelContext& ctx, int64_t row, double* sums);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_ML_LINEAR_FINISH_H_

#ifndef VIREO_SDK_OPS_ML_LINEAR_ML_LINEAR_H_
#define VIREO_SDK_OPS_ML_LINEAR_ML_LINEAR_H_

#include <stdint.h>

#include "sdk/ops/ml_linear/ml_linear_generated.h"

namespace vireo {

// Columns of the scores: a classifier of one row separates two classes.
inline uint64_t linear_columns(const attrs::Linear& a, bool classifier) {
  return classifier && a.rows() == 1 ? 2 : a.rows();
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_ML_LINEAR_ML_LINEAR_H_

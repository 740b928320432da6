// The composites "add_norm" and "norm_bf16": a layer or RMS normalisation of rows with what stands beside it.
//
//   add_norm   Add(x, skip) -> LayerNormalization | RMSNormalization; the sum may be a second result
//   norm_bf16  LayerNormalization | RMSNormalization -> Cast to bfloat16
//
// Mean and deviation are no results, and scale and bias are float32, one value for each normalised element.
#ifndef VIREO_SDK_COMPOSITES_NORM_NORM_H_
#define VIREO_SDK_COMPOSITES_NORM_NORM_H_

#include "sdk/composites/operand.h"

namespace vireo::composites {

struct FusedNorm {
  int32_t x = -1, residual = -1;  // inputs of the composite; residual of add_norm
  Operand scale, shift;           // shift: where it is given
  int axis = 0;                   // the first that is normalised
  float epsilon = 0;
  bool rms = false;
  bool half = false;  // norm_bf16
};

// False where the node is no such composite.
bool match_norm(const NodeView& node, FusedNorm* out);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_NORM_NORM_H_

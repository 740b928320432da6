// Operators whose weights are in their attributes: the trees of forests, the vectors of support vector machines.
#ifndef VIREO_SDK_OPS_SHARED_WEIGHT_TABLES_H_
#define VIREO_SDK_OPS_SHARED_WEIGHT_TABLES_H_

#include "sdk/ops/op.h"

namespace vireo {

constexpr bool has_weight_tables(Op op) {
  return op == Op::kTreeEnsemble || op == Op::kTreeEnsembleRegressor || op == Op::kTreeEnsembleClassifier ||
         op == Op::kSVMClassifier || op == Op::kSVMRegressor;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_WEIGHT_TABLES_H_

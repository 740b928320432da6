// Decision trees that vote.
//   x        [N, F] or [F] (N = 1): f32, f64, f16, i32 or i64
//   TreeEnsemble, TreeEnsembleRegressor: y [N, targets]: dtype of x, f32
//   TreeEnsembleClassifier: y [N] labels, i64 or string (into the attribute table); scores f32 [N, targets]
// A row's score of a target is the sum, mean over trees, least or greatest of the votes of the leaves that the row
// reaches, 0 without any vote, plus the base value; then the transform over the row. Sums run in float64.
//   label    that of the greatest score, the first of equal ones; with binary: see TreeBinary in tree_ensemble.fbs
//   alias none;  scratch targets doubles and flags a thread
//   error    kInvalidModel when a node asks for a column that x has not
// Sources: ai.onnx.ml 5 "TreeEnsemble", 3 "TreeEnsembleClassifier", "TreeEnsembleRegressor". What these leave open (two
// classes of which one has votes) is as ONNX Runtime answers it, on which exporters rely.
#ifndef VIREO_SDK_OPS_TREE_ENSEMBLE_TREE_ENSEMBLE_H_
#define VIREO_SDK_OPS_TREE_ENSEMBLE_TREE_ENSEMBLE_H_

#include <stdint.h>

namespace vireo {

constexpr uint32_t kTreeLeaf = 0x80000000u;  // marks a reference to a leaf

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TREE_ENSEMBLE_TREE_ENSEMBLE_H_

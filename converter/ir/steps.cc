#include "converter/ir/steps.h"

#include <algorithm>

namespace vireo::ir {
namespace {

constexpr double kSteps = 64;  // of an element where neighbours or a sort make it

double count(const TensorType* t) {
  const int64_t n = t == nullptr ? 0 : element_count(t->shape);
  return n < 0 ? 1e300 : static_cast<double>(n);
}

double extent(const TensorType* t, int axis_from_end) {
  const int axis = t == nullptr ? -1 : t->shape.rank - axis_from_end;
  return axis < 0 ? 1 : static_cast<double>(t->shape[axis]);
}

}  // namespace

int64_t steps_of(const Node& node, const std::vector<const TensorType*>& inputs,
                 const std::vector<const TensorType*>& outputs) {
  const auto in = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  double read = 0, made = 0, product = 1;
  for (const TensorType* t : inputs) {
    if (t == nullptr) continue;
    read += count(t);
    product *= count(t);
  }
  for (const TensorType* t : outputs) made += count(t);
  const double moved = read + made;
  double steps = moved;
  switch (node.op) {
    case Op::kMatMul:
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
      steps += made * extent(in(0), 1);
      break;
    case Op::kGemm:
    case Op::kIntGemm:
      steps += made * std::max(extent(in(0), 1), extent(in(0), 2));
      break;
    case Op::kConv:
    case Op::kConvInteger:
    case Op::kConvTranspose:
    case Op::kQLinearConv:
    case Op::kDeformConv:
    case Op::kIntConv:
    case Op::kCausalConvWithState: {
      // Each element of the larger side meets one filter.
      const TensorType* filters = in(node.op == Op::kQLinearConv ? 3 : 1);
      const double one = filters == nullptr || filters->shape.rank == 0 || filters->shape[0] == 0
                             ? count(filters)
                             : count(filters) / static_cast<double>(filters->shape[0]);
      steps += std::max(made, count(in(0))) * one;
      break;
    }
    case Op::kEinsum:  // every letter is an axis of an operand
      steps += product;
      break;
    case Op::kResize:
    case Op::kIntResize:
    case Op::kGridSample:
    case Op::kTopK:
    case Op::kUnique:
      steps *= kSteps;
      break;
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kLpPool:
    case Op::kIntAveragePool:
    case Op::kCol2Im:
    case Op::kRoiAlign:
    case Op::kMaxRoiPool:
    case Op::kLRN:
    case Op::kNonMaxSuppression:
    case Op::kDet:
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN:
    case Op::kDFT:
    case Op::kSTFT:
    case Op::kMelWeightMatrix:
    case Op::kAttention:
    case Op::kLinearAttention:
      steps *= moved;  // each element may meet each other
      break;
    case Op::kLabelEncoder:
    case Op::kTreeEnsemble:
    case Op::kTreeEnsembleRegressor:
    case Op::kTreeEnsembleClassifier:
    case Op::kLinearClassifier:
    case Op::kLinearRegressor:
    case Op::kSVMClassifier:
    case Op::kSVMRegressor:
    case Op::kTfIdfVectorizer:
    case Op::kRegexFullMatch:
    case Op::kOneHotEncoder:
      steps *= static_cast<double>(node.attrs.size());  // each element meets the table in the attributes
      break;
    default:
      break;
  }
  return steps < 9e18 ? static_cast<int64_t>(steps) : INT64_MAX;
}

}  // namespace vireo::ir

// A mean over all axes between batch and channels is an average pool; sums, products, norms and extremes stay.
#include <algorithm>

#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule reduce_quant(const QuantView& n) {
  const char* const other = "it is no mean over all axes between batch and channels";
  if (n.op != Op::kReduceMean) return quant_stays("there is no integer form of it");
  const int rank = n.inputs[0].type.shape.rank;
  if (rank < 3 || !n.has(1) || n.inputs[1].numbers.size() != static_cast<size_t>(rank - 2)) return quant_stays(other);
  std::vector<double> axes = n.inputs[1].numbers;
  for (double& a : axes) a += a < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != axes[0] + static_cast<double>(i)) return quant_stays(other);
  }
  if (axes[0] != 1 && axes[0] != 2) return quant_stays(other);
  return quant_kind(QuantKind::kOwn);
}

}  // namespace vireo

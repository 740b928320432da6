#include "converter/ir/budget.h"

#include <algorithm>

namespace vireo::ir {
namespace {

struct Limit {
  int64_t most;
  int64_t per_weight_byte;  // further, for each byte of weights in the file
  const char* what;
};
// Real models stay far below. The largest of 57 takes a two hundredth of the terms, and two folded bytes and one step
// for each byte of weights. Each limit is met in a fraction of a second, with some hundred megabytes at most.
constexpr Limit kLimits[Budget::kKinds] = {
    {1 << 17, 0, "nodes that functions and loops unfold to"},
    {1 << 24, 0, "elements of sequences"},
    {1 << 28, 16, "bytes of sparse tensors made dense"},
    {1 << 19, 0, "terms of extents' expressions"},
    // Folded weights are as large as weights some times over: a Cast to twice the size, a Transpose, a Reshape.
    {1 << 23, 16, "bytes of folded constants"},
    {1 << 26, 64, "steps of folding"},
};
constexpr int64_t kMostWeights = int64_t{1} << 40;  // that count

}  // namespace

Budget::Budget() : weighed_{} {
  for (size_t k = 0; k < kKinds; ++k) left_[k] = kLimits[k].most;
}

bool Budget::spend(Kind kind, int64_t amount) {
  if (amount > left_[kind]) {
    exceeded_[kind] = true;
    return false;
  }
  left_[kind] -= amount;
  return true;
}

void Budget::add_weights(int64_t bytes) {
  for (size_t k = 0; k < kKinds; ++k) {
    const int64_t each = kLimits[k].per_weight_byte;
    const int64_t more = std::min(bytes, kMostWeights) * each;
    if (weighed_[k] > kMostWeights * each - more) continue;
    weighed_[k] += more;
    left_[k] += more;
  }
}

std::string Budget::limit(Kind kind) const {
  return std::to_string(kLimits[kind].most + weighed_[kind]) + " " + kLimits[kind].what;
}

}  // namespace vireo::ir

// How much of a model's work computes on integers.
#ifndef VIREO_QUANT_INT8_SHARE_H_
#define VIREO_QUANT_INT8_SHARE_H_

#include <vector>

#include "converter/stage/evaluator.h"
#include "quant/int8/plan.h"

namespace vireo::quant {

// Multiply-adds of products (convolutions, matrices, cells, attention), of which `integer` have codes on both sides.
struct MultiplyAdds {
  double all = 0, integer = 0;
};

// Of `graph` before it is annotated, on inputs of these extents. Bodies of branches and loops do not count.
MultiplyAdds count_multiply_adds(const ir::Graph& graph, const Plan& plan, const std::vector<HostTensor>& inputs);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_SHARE_H_

// Attention as the two products that it is, so that both take codes: the operator computes in float.
#ifndef VIREO_QUANT_INT8_ATTENTION_H_
#define VIREO_QUANT_INT8_ATTENTION_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// Each Attention for which `keep` has no reason (null) becomes
//
//   s = MatMul(q, k transposed) * scale;  p = Softmax(s);  y = MatMul(p, v)
//
// with Where(kept, s, low) for s where queries do not see all keys: by a mask of bool, one whose numbers are 0 or at
// most -1e4 whatever the data, or because they see what came before alone. The last product has the operator's name;
// new values are named after its result, with "_scores", "_shares" and so on. All values must have names. Where q, k
// and v are parts of one product's result, the product is divided with them, so that each has a scale of its own; the
// parts have its name and " (q)", " (k)" and " (v)". `left`: those that stay, and why. Returns how many became
// products.
size_t spell_attention(ir::Graph& graph, const std::function<const char*(const ir::Node&)>& keep,
                       std::vector<std::pair<const ir::Node*, std::string>>* left);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_ATTENTION_H_

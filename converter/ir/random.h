// Which results depend on chance.
#ifndef VIREO_CONVERTER_IR_RANDOM_H_
#define VIREO_CONVERTER_IR_RANDOM_H_

#include <functional>
#include <set>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::ir {

// The values of `g` that nodes with `property` have a part in, here or in a body.
std::set<const Value*> values_behind(const Graph& g, const std::function<bool(const Node&)>& property);
// The values of `g` that a random operator has a part in, here or in a body: they may be compared by type and shape
// alone.
std::set<const Value*> random_values(const Graph& g);
// The same, one entry an output of `g`.
std::vector<bool> random_outputs(const Graph& g);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_RANDOM_H_

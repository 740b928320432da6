// How much work a node is, for the budget of folding.
#ifndef VIREO_CONVERTER_IR_STEPS_H_
#define VIREO_CONVERTER_IR_STEPS_H_

#include <cstdint>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::ir {

// At least as many elementary operations (a multiply-add, an element read or written) as the reference kernel takes for
// `node` on inputs of these types, up to a small factor; INT64_MAX where they cannot be counted. Null: absent.
int64_t steps_of(const Node& node, const std::vector<const TensorType*>& inputs,
                 const std::vector<const TensorType*>& outputs);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_STEPS_H_

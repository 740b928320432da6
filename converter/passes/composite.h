// A composite in place of the nodes that are its body.
#ifndef VIREO_CONVERTER_PASSES_COMPOSITE_H_
#define VIREO_CONVERTER_PASSES_COMPOSITE_H_

#include <vector>

#include "converter/ir/graph.h"

namespace vireo::passes {

// Replaces `nodes`, which stand in the order in which they run and of which the last one's outputs alone are seen
// outside (and `second`, when it is given), by a composite where the last one stands; its results are those that have
// users, in that order. Constants for which `into_body(node, input)` holds become the body's, all other operands the
// composite's inputs, in the order in which they are met. Returns the composite.
ir::Node* make_composite(ir::Graph& g, const std::vector<ir::Node*>& nodes, const char* hint,
                         bool (*into_body)(const ir::Node& node, size_t input), ir::Value* second = nullptr);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_COMPOSITE_H_

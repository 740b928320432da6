// A composite in place of the nodes that are its body, by a row of sdk/composites/composites.def.
#ifndef VIREO_CONVERTER_PASSES_SHARED_COMPOSITE_H_
#define VIREO_CONVERTER_PASSES_SHARED_COMPOSITE_H_

#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "sdk/composites/composites.h"

namespace vireo::passes {

// Which constants become the body's: by default none.
using IntoBody = bool (*)(const ir::Node& node, size_t input);
inline bool nothing_into_body(const ir::Node&, size_t) { return false; }

// Replaces `nodes`, which stand in the order in which they run and of which only the last one's outputs are seen
// outside (and `second`, when it is given), by a composite where the last one stands; its results are those that have
// users, in that order. Constants for which `into_body(node, input)` holds become the body's, all other operands the
// composite's inputs, in the order in which they are met. The body is ordered so that its result may lie where the row
// says. Returns the composite.
ir::Node* make_composite(ir::Graph& g, std::vector<ir::Node*> nodes, const composites::Composite& row,
                         IntoBody into_body = nothing_into_body, ir::Value* second = nullptr);

// For tests: what a composite breaks of its row, "" or one sentence; and what of it is about where its result may lie,
// by `row`.
std::string composite_fault(const ir::Node& composite);
std::string result_fault(const ir::Node& composite, const composites::Composite& row);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SHARED_COMPOSITE_H_

// A graph run node by node with the reference kernels: what tests and dumps compare by. Composites run by their bodies;
// If, Loop and Scan are the runtime's.
#ifndef VIREO_CONVERTER_IR_INTERPRET_H_
#define VIREO_CONVERTER_IR_INTERPRET_H_

#include <string>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::ir {

// `inputs` in the order of the graph's. False with `error` when a node cannot run.
bool interpret(const Graph& g, const std::vector<ConstantPtr>& inputs, std::vector<ConstantPtr>* outputs,
               std::string* error);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_INTERPRET_H_

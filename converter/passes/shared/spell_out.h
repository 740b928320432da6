// QLinearConv and QLinearMatMul as DequantizeLinear, a float product and QuantizeLinear.
#ifndef VIREO_CONVERTER_PASSES_SHARED_SPELL_OUT_H_
#define VIREO_CONVERTER_PASSES_SHARED_SPELL_OUT_H_

#include <string>

#include "converter/passes/shared/quantized.h"

namespace vireo::passes {

// The QuantizeLinear at the end of the new nodes, which stand before `n` and have no user. Null with the reason, and no
// new node, where a parameter is not constant or not one for all (weights: one for each output channel).
ir::Node* spell_out(ir::Graph& g, ir::Node& n, std::string* why);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SHARED_SPELL_OUT_H_

// Writes a plan into its graph as pairs of QuantizeLinear and DequantizeLinear, which the passes behind this stage make
// integer operators of, and which every other tool reads.
#ifndef VIREO_QUANT_INT8_ANNOTATE_H_
#define VIREO_QUANT_INT8_ANNOTATE_H_

#include <vector>

#include "quant/int8/cells.h"
#include "quant/int8/plan.h"
#include "quant/int8/ranges.h"
#include "quant/shared/weights8.h"

namespace vireo::quant {

struct Choice {
  std::vector<ValueScale> scales;    // of Plan::values
  std::vector<WeightCodes> weights;  // of Plan::layers
  std::vector<CellCodes> cells;      // of Plan::cells
  DType constants = DType::kU8;      // of Plan::constants
};

// A pair behind `v`, its nodes before `before`; the result of DequantizeLinear.
ir::Value* add_pair(ir::Graph& graph, ir::Value* v, const ValueScale& scale, ir::Node* before);
// DequantizeLinear of the layer's codes, before its product.
ir::Value* add_weights(ir::Graph& graph, const Layer& layer, const WeightCodes& codes, ir::Node* before);

// What readers of each of Plan::values see from now on.
std::vector<ir::Value*> annotate(ir::Graph& graph, const Plan& plan, const Choice& choice);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_ANNOTATE_H_

// The recurrent cells of a plan (LSTM, GRU): weights in codes by row of a gate, and the codes of the state, which the
// recurrence's weights multiply.
#ifndef VIREO_QUANT_INT8_CELLS_H_
#define VIREO_QUANT_INT8_CELLS_H_

#include <vector>

#include "quant/int8/plan.h"
#include "quant/int8/ranges.h"
#include "quant/shared/weights8.h"

namespace vireo::quant {

struct CellCodes {
  WeightCodes w, r;  // rows [D, gates H]
  ValueScale state;

  uint64_t bytes() const { return w.codes.size() + r.codes.size(); }
};

// `scales`: of Plan::values. The state has the codes of the cell's sequence where that is read, else those of -1 to 1.
CellCodes cell_codes(const Cell& cell, const std::vector<ValueScale>& scales, bool per_channel);

// Makes `node`, the cell or a copy of it, one that computes on codes: DequantizeLinear of W and R, before `before`, and
// the state's scale. An initial state of zeros goes: that is what a cell without one begins with.
void set_cell_codes(ir::Graph& graph, ir::Node* node, const CellCodes& codes, ir::Node* before);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_CELLS_H_

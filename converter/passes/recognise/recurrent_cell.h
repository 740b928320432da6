// One step of an LSTM or a GRU, spelled out in elementwise operators.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_CELL_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_CELL_H_

#include <vector>

#include "converter/passes/recognise/recurrent_sum.h"

namespace vireo::passes {

struct Cell {
  Op op = Op::kNone;        // kLSTM, kGRU; kNone: no cell
  ir::Node* end = nullptr;  // makes the new h
  ir::Value *h_out = nullptr, *c_out = nullptr;
  ir::Value *h = nullptr, *c = nullptr;  // the state before; an LSTM's h is null when it is bare
  bool bare = false;                     // h's products are missing: it is 0, and they were folded
  int64_t units = 0;
  std::vector<ir::Value*> factors;  // what the gates multiply by weights, in the order of the first gate's sum
  std::vector<ir::Value*> x;        // those but h: side by side they are the cell's input
  Sum gates[4];                     // in the operator's order: i o f c, or z r h
  Sum recurrence;                   // GRU: what the reset gate multiplies, where that is a product
  bool linear_before_reset = false;
  bool negated = false;           // GRU: z weighs the candidate, not the old state
  Inside inside;                  // all that makes h_out and c_out, these two's makers as well
  const char* refused = nullptr;  // looks like a cell and is none that can be rewritten

  // An LSTM's h: any factor as wide as the state may be it, for the sums are the same. Null: none of them is.
  void choose_h(ir::Value* v);
  int gate_count() const { return op == Op::kLSTM ? 4 : 3; }
  // The factor of `x` in a gate's sum; null: there is none, or several.
  static const Term* factor_of(const Sum& sum, const ir::Value* x);
};

// The cell whose new h `n` makes.
Cell match_cell(ir::Node* n);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_CELL_H_

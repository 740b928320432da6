// Cells of recurrent networks in a graph, and which of them are steps of one sequence.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_STEPS_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_STEPS_H_

#include <map>
#include <vector>

#include "converter/passes/recognise/recurrent_cell.h"

namespace vireo::passes {

// `b` does with its values what `a` does; `a` may be bare.
bool same_weights(const Cell& a, const Cell& b);
// Rows of a value when they are one extent; 0: they are not.
Dim rows_of(const ir::Value* v);

// Knows the graph as it is when it is made: to be made anew after each change.
class Finder {
 public:
  using Steps = std::vector<const Cell*>;

  explicit Finder(ir::Graph& g);

  const std::vector<Cell>& cells() const { return cells_; }
  size_t place(const ir::Node* n) const { return places_.at(n); }
  // The longest sequence that begins with `first`.
  Steps from(const Cell& first) const;
  bool is_later_step(const Cell& cell) const;
  // Adds what makes `v` and stands at or behind `place`, by place. False: it needs a state of `steps`.
  bool makers_behind(const ir::Value* v, size_t place, const Steps& steps, std::map<size_t, ir::Node*>* out) const;
  // Where the sequence's operator can stand: before the first state that it makes.
  static ir::Node* at(const Steps& steps);

 private:
  const char* shared(const Cell& c) const;
  void choose_states();
  bool independent(const Cell& c, const Steps& steps) const;

  std::map<const ir::Node*, size_t> places_;
  std::vector<Cell> cells_;
  std::map<const Cell*, const Cell*> next_;
  Inside all_;  // what is inside any cell
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_STEPS_H_

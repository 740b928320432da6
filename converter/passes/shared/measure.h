// Why the repeated passes end: each change lowers this measure, whose parts are not negative and compared in order.
#ifndef VIREO_CONVERTER_PASSES_SHARED_MEASURE_H_
#define VIREO_CONVERTER_PASSES_SHARED_MEASURE_H_

#include <cstdint>
#include <tuple>

#include "converter/ir/graph.h"

namespace vireo::passes {

// weight    8 a node that computes, 6 a Transpose, 1 a node that only renames, tells an extent or moves in order: a
//           view, Shape, Split, Concat, Slice, pixel shuffle. A rewrite that recognises an operator removes at least
//           two that compute (16) and may leave a Transpose, views and a Squeeze (12) around the one that comes; one
//           that removes a Transpose may leave up to five views; all others remove a node or turn a Transpose into a
//           view.
// runs      over Transposes and views: how many of them stand in a row in front. Composing two that others use as well
//           keeps both and shortens the row.
// computed  parameters of views that are not constant.
// values    outputs of nodes.
// constants that nodes use.
// operands  that nodes are given.
struct Measure {
  int64_t weight = 0, runs = 0, computed = 0, values = 0, constants = 0, operands = 0;
  bool operator<(const Measure& o) const {
    return std::tie(weight, runs, computed, values, constants, operands) <
           std::tie(o.weight, o.runs, o.computed, o.values, o.constants, o.operands);
  }
};

Measure measure(const ir::Graph& g);  // composites count as one node; bodies of If, Loop and Scan are added

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SHARED_MEASURE_H_

// Inputs for --check where none are given: random numbers, and for what steers a graph (axes, sizes, steps, counts)
// numbers that its operators take.
#ifndef VIREO_CONVERTER_CHECK_INPUTS_H_
#define VIREO_CONVERTER_CHECK_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/ir/graph.h"

namespace vireo {

// How inputs are made up: real numbers in the declared range or [-1, 1], integers by what reads them.
struct MadeUp {
  int64_t extent = 1;  // of open dimensions, within their bounds
  int64_t least = 0;   // of integers of which nothing is known; the most is 1
};
// What to try, the likeliest first: a graph may want an open extent to be one that another input has.
std::vector<MadeUp> ways_to_make_up(const ir::Graph& graph);

// One set of inputs in the order of the graph's. False, with the input's name and type in `missing`, where an input has
// a type without made-up values.
bool make_inputs(const ir::Graph& graph, const ConvertOptions& options, const MadeUp& how,
                 std::vector<HostTensor>* inputs, std::string* missing);

// Inputs whose values steer the graph, for messages: `"steps", "axes"`; "" where there are none.
std::string steering_inputs(const ir::Graph& graph);

}  // namespace vireo

#endif  // VIREO_CONVERTER_CHECK_INPUTS_H_

// Integers that count along one axis, shown from the nodes that compute them: positions of tokens.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_INDEX_LINE_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_INDEX_LINE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

// Each element is `start` and its index along the axis `axis` places before the last one; -1: all are `start`.
struct IndexLine {
  int axis = -1;
  Dim start = 0;
};

// False: `v` is not shown to be one.
bool index_line(ir::Graph& g, const ir::Value* v, IndexLine* line);

// Where a Slice begins along its axis `axis` of the input; 0 along others. False: it steps, or it begins where nobody
// knows.
bool slice_begins(ir::Graph& g, const ir::Node& slice, int axis, Dim* start);

// The one number that all elements of `v` are. False: it is not known, or there are several.
bool filled_with(const ir::Value* v, double* number);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_INDEX_LINE_H_

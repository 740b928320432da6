// Extents of inputs that the model declares as open, while a node allows one number alone: a Reshape to a constant
// shape, or a product whose other operand has as many rows as that.
//
// Exporters that trace one batch leave a Reshape to [1, 128, -1] behind an input of any batch, and a product behind it.
// The model fails for every other extent, so it is imported again with that one: all that asks whether an extent is 1
// then knows it.
#ifndef VIREO_CONVERTER_ONNX_HELD_H_
#define VIREO_CONVERTER_ONNX_HELD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::importer {

struct HeldExtent {
  std::string name;  // of the dimension
  int64_t extent;
  std::string op, node;  // that allow no other
};

// Of the first `input_atoms` symbols. Nodes that no output needs, or that lie in bodies, hold nothing: a run may do
// without them.
std::vector<HeldExtent> held_extents(const ir::Graph& graph, size_t input_atoms);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_HELD_H_

// Branches of an If whose outputs differ in rank, and only by extents of 1. Private to this folder.
//
// Owns the outputs that have the larger rank of both, with what is wrong if somebody minds.
#ifndef VIREO_CONVERTER_ONNX_CONTROL_UNIT_EXTENTS_H_
#define VIREO_CONVERTER_ONNX_CONTROL_UNIT_EXTENTS_H_

#include <cstddef>
#include <map>

#include "converter/diag/diagnostics.h"
#include "converter/ir/graph.h"

namespace vireo::importer {

struct ImportState;

class UnitExtents {
 public:
  explicit UnitExtents(ImportState& state) : state_(state) {}

  // Gives this output of both graphs the larger rank. False: both have one, or it is not extents of 1 that differ.
  bool lift(ir::Graph* one, ir::Graph* other, size_t output);
  // `v` is what the If makes of such an output.
  void remember(const ir::Value* v, Diagnostic differ) { lifted_[v] = std::move(differ); }
  // Before `graph` goes.
  void forget(const ir::Graph& graph);
  // Records those of the model's values whose readers mind.
  void check(const ir::Graph& graph) const;

 private:
  ImportState& state_;
  std::map<const ir::Value*, Diagnostic> lifted_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTROL_UNIT_EXTENTS_H_

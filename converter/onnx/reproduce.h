// The node that is refused, by itself: what it reads in one line, and a model of that node alone, which is refused for
// the same reason. Private to this folder.
//
// Owns the count of such models, which is bounded. Made behind ImportState, Bundles and WideTensors, whose values it
// spells; everything that records a refusal comes later.
#ifndef VIREO_CONVERTER_ONNX_REPRODUCE_H_
#define VIREO_CONVERTER_ONNX_REPRODUCE_H_

#include <cstddef>
#include <string>

#include "converter/diag/diagnostics.h"
#include "converter/ir/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

class Bundles;
struct ImportState;
struct Scope;
class WideTensors;

class Reproducer {
 public:
  Reproducer(ImportState& state, const Bundles& bundles, const WideTensors& wides)
      : state_(state), bundles_(bundles), wides_(wides) {}

  // Says of a node's refusal the opset, what the node reads, and how to have it by itself.
  void describe(const ::onnx::NodeProto& node, const Scope& scope, Diagnostic* d);
  // " float32[2,3]", " a sequence of float32[3]"...; null: " (not known)".
  std::string type_text(const ir::Value* v) const;

 private:
  ImportState& state_;
  const Bundles& bundles_;
  const WideTensors& wides_;
  size_t described_ = 0;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_REPRODUCE_H_

// Graphs that are a node's attributes: bodies of control flow, and what SequenceMap and folders' importers apply.
// Private to this folder's parent.
#ifndef VIREO_CONVERTER_ONNX_CONTROL_BODIES_H_
#define VIREO_CONVERTER_ONNX_CONTROL_BODIES_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

struct Body {
  std::unique_ptr<ir::Graph> graph;
  std::vector<ir::Value*> outer;  // what the captured inputs are outside, in the order of the graph's further inputs
};

// `proto` as a graph of its own, whose first inputs are of these types. False: it is refused, which is recorded.
bool import_body(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                 const std::vector<TensorType>& inputs, Body* body);

// The nodes of `proto` among those of the scope's graph, its inputs standing for `inputs`. `prefix`: of their names.
// False: it is refused, which is recorded; an output that failed is poison.
bool inline_graph(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                  const std::string& prefix, const std::vector<ir::Value*>& inputs, std::vector<ir::Value*>* outputs);

// ---- strings and packed types in bodies ----

// A node writes the text that it makes where its last run wrote (sdk/ops/shared/text.h): strings must not outlive their
// trip.
bool keeps_text(const ir::Graph& body);
constexpr const char* kKeepsText = "makes strings and hands strings on to the next trip or out of it";
constexpr const char* kKeepsTextHelp = "make the strings before or after it, as one tensor";

// Slices of packed types start inside a byte: they are cut out and stacked as whole bytes that hold the same values.
DType whole_bytes(DType t);
// `v` as type `to`; `v` itself where it is of that type.
ir::Value* cast_to(ir::Graph& g, ir::Value* v, DType to, ir::Node* before = nullptr);
// Input `i` of a body comes as whole bytes.
void take_whole_bytes(ir::Graph& body, size_t i);
// Output `o` of a body leaves it as whole bytes.
void give_whole_bytes(ir::Graph& body, size_t o);
// The type of `length` slices, a body's output each, stacked along a new axis 0. False: `message` tells why not.
bool stack_slices(const ir::DimTable& dims, const TensorType& slice, Dim length, TensorType* out, std::string* message);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTROL_BODIES_H_

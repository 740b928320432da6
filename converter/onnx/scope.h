// Where names mean something: the model's graph, a function's body, the body of a control-flow node. Private to this
// folder. Names (names.h) looks up and binds what a scope holds.
#ifndef VIREO_CONVERTER_ONNX_SCOPE_H_
#define VIREO_CONVERTER_ONNX_SCOPE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

struct BlockedPlan;

struct Scope {
  ir::Graph* graph = nullptr;
  Scope* outer = nullptr;  // where unknown names are looked up; null: nowhere (the model, functions)
  std::map<std::string, ir::Value*> names;
  std::map<std::string, int> opsets;                                                // by domain, "" for ai.onnx
  const std::map<std::string, const ::onnx::AttributeProto*>* arguments = nullptr;  // of the function being inlined
  std::string prefix;  // of node names: the function call's
  int depth = 0;
  bool may_not_run =
      false;  // in a branch of an If, or what it calls: what its nodes ask of extents is asked if it runs
  std::shared_ptr<BlockedPlan> blocked;  // where NCHWc forms are among the nodes
  // Outer values that were handed in as further inputs of `graph`, in that order.
  std::vector<std::pair<ir::Value*, ir::Value*>> captured;

  // The model's own names, which its declarations are of.
  bool is_model() const { return outer == nullptr && prefix.empty(); }
  // A scope inside this one, of nodes that become part of `inner_graph`.
  Scope inside(ir::Graph* inner_graph, std::string inner_prefix);
};

// What a node is called in messages and in the file.
std::string node_name(const ::onnx::NodeProto& node, const Scope* scope);
// Null: the node has none, or names an argument that the function was not given.
const ::onnx::AttributeProto* find_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name);
int64_t int_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name, int64_t otherwise);
std::vector<int64_t> ints_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_SCOPE_H_

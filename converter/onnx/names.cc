#include "converter/onnx/names.h"

#include <utility>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/declared.h"
#include "converter/onnx/protos.h"
#include "converter/onnx/report.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"
#include "converter/onnx/wide.h"

namespace vireo::importer {

ir::Value* Names::lookup(Scope& scope, const std::string& name) {
  const auto it = scope.names.find(name);
  if (it != scope.names.end()) return it->second;
  if (scope.outer == nullptr) return nullptr;
  ir::Value* outer = lookup(*scope.outer, name);
  if (outer == nullptr || outer == &state_.poison || scope.graph == scope.outer->graph) return outer;
  return scope.names[name] = hand_in(scope, outer);
}

ir::Value* Names::hand_in(Scope& scope, ir::Value* outer) {
  if (outer == nullptr) return nullptr;
  if (const Bundle* b = bundles_.find(outer)) {
    Bundle inside;
    inside.optional = b->optional;
    inside.map = b->map;
    for (ir::Value* v : b->elements) inside.elements.push_back(hand_in(scope, v));
    inside.length = hand_in(scope, b->length);
    inside.present = hand_in(scope, b->present);
    if (!b->open.empty()) {
      inside.whole = hand_in(scope, b->whole);
      inside.axis = b->axis;
      inside.keeps_axis = b->keeps_axis;
      inside.single = b->single;
      inside.open = b->open;
    }
    return bundles_.add(std::move(inside));
  }
  if (const WideTensor* w = wides_.find(outer)) return wides_.add(hand_in(scope, w->flat), w->dims);
  const ir::ConstantPtr constant = state_.finder.find(outer);
  if (constant != nullptr) return scope.graph->add_constant(outer->name, constant);
  for (const auto& [from, inner] : scope.captured) {
    if (from == outer) return inner;
  }
  ir::Value* inner = scope.graph->add_input(outer->name, outer->type);
  inner->contents = outer->contents;
  scope.captured.push_back({outer, inner});
  return inner;
}

void Names::add_initializers(Scope& scope, ::onnx::GraphProto& graph, const std::set<std::string>& left) {
  const auto add = [&](const std::string& name, const ir::ConstantPtr& c) {
    if (left.count(name) != 0) return;
    if (scope.names.count(name) != 0) {
      state_.diagnostics.error(Code::kDuplicateName, "two initialisers are named " + in_quotes(name));
    }
    scope.names[name] = c == nullptr ? &state_.poison : scope.graph->add_constant(name, c);
  };
  const auto again = [&](const void* tensor) {
    return state_.tensors.known(tensor) == nullptr || state_.spend(ir::Budget::kNodes, 1);
  };
  for (auto& t : *graph.mutable_initializer()) {
    if (left.count(t.name()) != 0) continue;
    add(t.name(), again(&t) ? state_.tensors.read(t, t.name()) : nullptr);
    ir::Value*& v = scope.names[t.name()];
    if (t.dims_size() > kMaxRank && v != nullptr && v != &state_.poison)
      v = wides_.add(v, {t.dims().begin(), t.dims().end()});
  }
  for (auto& t : *graph.mutable_sparse_initializer())
    add(t.values().name(), again(&t) ? state_.tensors.read(t, t.values().name()) : nullptr);
}

void Names::bind(Scope& scope, const ::onnx::NodeProto& node, const std::string& name, ir::Value* value) {
  if (name.empty()) return;
  if (const auto [at, fresh] = scope.names.emplace(name, value); !fresh) {
    std::string first = "something else";
    if (at->second != &state_.poison && bundles_.find(at->second) == nullptr && at->second->producer != nullptr &&
        !at->second->producer->name.empty())
      first = "node " + in_quotes(at->second->producer->name);
    report_.record(node, &scope, Code::kDuplicateName,
                   "makes " + in_quotes(name) + ", which " + first + " makes as well",
                   "each name has one maker: rename one of the two outputs, or export the model again");
    return;
  }
  if (value == &state_.poison || bundles_.find(value) != nullptr || wides_.find(value) != nullptr) return;
  if (value->name.empty()) value->name = scope.prefix + name;
  if (scope.is_model()) declared_.adopt(name, value);
}

void Names::bind_failed(Scope& scope, const ::onnx::NodeProto& node) {
  for (const std::string& name : node.output()) {
    if (name.empty()) continue;
    // Where the file says what the value would have been, its followers are looked at all the same.
    const TensorType* declared = scope.is_model() ? declared_.stand_in(name) : nullptr;
    if (declared != nullptr && scope.names.count(name) == 0) {
      scope.names[name] = scope.graph->add_input(name, *declared);
    } else {
      scope.names.emplace(name, &state_.poison);
    }
  }
}

}  // namespace vireo::importer

#include "converter/ir/graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vireo::ir {

const OpDef& Node::def() const { return *find_op(op)->def; }

Value* Graph::new_value() {
  values_.emplace_back();
  values_.back().id = static_cast<uint32_t>(values_.size());
  return &values_.back();
}

Value* Graph::add_input(const std::string& value_name, const TensorType& type) {
  Value* v = new_value();
  v->name = value_name;
  v->type = type;
  v->is_input = true;
  inputs_.push_back(v);
  return v;
}

Value* Graph::add_constant(const std::string& value_name, ConstantPtr constant) {
  Value* v = new_value();
  v->name = value_name;
  v->type = constant->tensor.type;
  v->constant = std::move(constant);
  return v;
}

void Graph::add_use(Node* node, uint32_t i) {
  if (node->inputs[i] != nullptr) node->inputs[i]->uses.push_back({node, i});
}

void Graph::drop_use(Node* node, uint32_t i) {
  if (node->inputs[i] == nullptr) return;
  std::vector<Use>& uses = node->inputs[i]->uses;
  uses.erase(std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.node == node && u.input == i; }));
}

Node* Graph::add_node(Op op, std::vector<uint8_t> attrs, std::vector<Value*> inputs, size_t outputs, Node* before) {
  const auto at = nodes_.emplace(before == nullptr ? nodes_.end() : before->self);
  Node* node = &*at;
  node->self = at;
  node->op = op;
  node->attrs = std::move(attrs);
  node->inputs = std::move(inputs);
  for (uint32_t i = 0; i < node->inputs.size(); ++i) add_use(node, i);
  for (uint32_t i = 0; i < outputs; ++i) {
    Value* v = new_value();
    v->producer = node;
    v->producer_output = i;
    node->outputs.push_back(v);
  }
  return node;
}

void Graph::drop_output(Node* node, size_t i) {
  if (node->outputs[i] != nullptr) node->outputs[i]->producer = nullptr;
  node->outputs[i] = nullptr;
}

void Graph::set_input(Node* node, size_t i, Value* v) {
  drop_use(node, static_cast<uint32_t>(i));
  node->inputs[i] = v;
  add_use(node, static_cast<uint32_t>(i));
}

void Graph::add_operand(Node* node, Value* v) {
  node->inputs.push_back(v);
  add_use(node, static_cast<uint32_t>(node->inputs.size() - 1));
}

void Graph::add_output(Value* v, std::string output_name) {
  outputs_.push_back(v);
  output_names_.push_back(std::move(output_name));
  ++v->output_uses;
}

void Graph::set_output(size_t i, Value* v) {
  --outputs_[i]->output_uses;
  outputs_[i] = v;
  ++v->output_uses;
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Use> uses = from->uses;
  for (const Use& u : uses) set_input(u.node, u.input, to);
  if (from->output_uses == 0) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == from) set_output(i, to);
  }
}

void Graph::remove_input(size_t i) {
  inputs_[i]->is_input = false;
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Graph::order_inputs(std::vector<Value*> inputs) { inputs_ = std::move(inputs); }

void Graph::remove_output(size_t i) {
  --outputs_[i]->output_uses;
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  output_names_.erase(output_names_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Graph::remove(Node* node) {
  for (uint32_t i = 0; i < node->inputs.size(); ++i) drop_use(node, i);
  for (Value* v : node->outputs) {
    if (v != nullptr) v->producer = nullptr;
  }
  nodes_.erase(node->self);
}

void Graph::move_before(Node* node, Node* before) { nodes_.splice(before->self, nodes_, node->self); }

void Graph::drop_unused_values() {
  // Addresses are stable and ids are positions, so a value is emptied in place, not erased.
  for (Value& v : values_) {
    if (v.unused() && v.producer == nullptr && !v.is_input) v.constant.reset();
  }
}

std::unique_ptr<Graph> Graph::clone() const {
  auto out = std::make_unique<Graph>(dims_);
  out->name = name;
  std::map<const Value*, Value*> map{{nullptr, nullptr}};
  for (const Value& v : values_) {
    Value* w = out->new_value();
    w->name = v.name;
    w->type = v.type;
    w->constant = v.constant;
    w->contents = v.contents;
    w->is_input = v.is_input;
    map[&v] = w;
  }
  for (const Value* v : inputs_) out->inputs_.push_back(map[v]);
  for (const Node& n : nodes_) {
    const auto at = out->nodes_.emplace(out->nodes_.end());
    Node* node = &*at;
    node->self = at;
    node->op = n.op;
    node->version = n.version;
    node->name = n.name;
    node->attrs = n.attrs;
    for (uint32_t i = 0; i < n.inputs.size(); ++i) {
      node->inputs.push_back(map[n.inputs[i]]);
      out->add_use(node, i);
    }
    for (uint32_t i = 0; i < n.outputs.size(); ++i) {
      Value* v = map[n.outputs[i]];
      node->outputs.push_back(v);
      if (v != nullptr) {
        v->producer = node;
        v->producer_output = i;
      }
    }
    for (const auto& body : n.bodies) node->bodies.push_back(body->clone());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) out->add_output(map[outputs_[i]], output_names_[i]);
  return out;
}

std::string Graph::validate() const {
  // By id. A value that is not of this graph is never made here.
  std::vector<bool> made(values_.size() + 1, false);
  std::vector<size_t> uses(values_.size() + 1, 0), output_uses(values_.size() + 1, 0);
  const auto known = [&](const Value* v) {
    return v->id != 0 && v->id <= values_.size() && v == &values_[v->id - 1] && (v->constant != nullptr || made[v->id]);
  };
  for (const Value* v : inputs_) made[v->id] = true;
  for (const Node& n : nodes_) {
    const auto who = [&n] { return std::string(op_name(n.op)) + " node \"" + n.name + "\""; };
    if (find_op(n.op) == nullptr) return "a node of an unknown operator";
    if (!n.def().verify({n.attrs.data(), n.attrs.size()})) return who() + ": attributes do not verify";
    for (const Value* v : n.inputs) {
      if (v == nullptr) continue;
      if (!known(v)) return who() + ": uses a value before it is made";
      if (v->type.dtype == DType::kNone) return who() + ": uses a value without a type";
      ++uses[v->id];
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const Value* v = n.outputs[i];
      if (v == nullptr) continue;
      if (v->producer != &n || v->producer_output != i || made[v->id]) return who() + ": output has two makers";
      made[v->id] = true;
    }
    for (const auto& body : n.bodies) {
      const std::string inner = body->validate();
      if (!inner.empty()) return who() + ": in its body: " + inner;
    }
  }
  for (const Value* v : outputs_) {
    if (!known(v)) return "output \"" + v->name + "\" is never made";
    ++output_uses[v->id];
  }
  for (const Value& v : values_) {
    if (v.uses.size() != uses[v.id]) return "value \"" + v.name + "\": its list of uses is wrong";
    if (v.constant != nullptr && v.producer != nullptr) return "value \"" + v.name + "\": a constant with a maker";
    if (v.output_uses != output_uses[v.id]) return "value \"" + v.name + "\": its count of output uses is wrong";
  }
  return "";
}

size_t count_nodes(const Graph& g) {
  size_t n = g.nodes().size();
  for (const Node& node : g.nodes()) {
    if (node.op == Op::kComposite) continue;
    for (const auto& body : node.bodies) n += count_nodes(*body);
  }
  return n;
}

}  // namespace vireo::ir

#include "converter/onnx/context.h"

#include <utility>

#include "converter/ir/infer.h"
#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/declared.h"
#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/state.h"

namespace vireo::importer {

using ::onnx::AttributeProto;

NodeContext::NodeContext(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, std::string domain, int opset)
    : tools_(tools), scope_(scope), node_(node), domain_(std::move(domain)), opset_(opset) {
  for (const std::string& name : node.input()) {
    inputs_.push_back(name.empty() ? nullptr : tools.names.lookup(scope, name));
  }
  results_.resize(static_cast<size_t>(node.output_size()));
}

Value NodeContext::input(int i) const {
  if (i < 0 || i >= input_count() || inputs_[static_cast<size_t>(i)] == nullptr) return {};
  return {inputs_[static_cast<size_t>(i)]->id};
}

bool NodeContext::wants_output(int i) const { return i >= 0 && i < node_.output_size() && !node_.output(i).empty(); }

TensorType NodeContext::type(Value v) const {
  const ir::Value* value = at(v);
  return value == nullptr ? TensorType{} : value->type;
}

const ConstTensor* NodeContext::constant(Value v) const {
  const ir::Value* value = at(v);
  if (value == nullptr) return nullptr;
  // What the finder or the value holds outlives the import.
  const ir::ConstantPtr c = tools_.state.finder.find(value);
  return c == nullptr ? nullptr : &c->tensor;
}

bool NodeContext::differ(Dim a, Dim b) const {
  const Interval x = scope_.graph->dims().interval(a), y = scope_.graph->dims().interval(b);
  return x.hi < y.lo || y.hi < x.lo;
}

bool NodeContext::equal(Dim a, Dim b) const {
  const Interval difference = scope_.graph->dims().difference(a, b);
  return difference.lo == 0 && difference.hi == 0;
}

bool NodeContext::knows_elements(Value v) const {
  std::vector<Dim> elements;
  return at(v) != nullptr && ir::known_elements(at(v), &tools_.state.finder, &elements);
}

int NodeContext::declared_rank(int i) const {
  // Names mean what the main graph's declarations say there and in the bodies that it holds, not in functions.
  if (!wants_output(i) || !scope_.prefix.empty()) return -1;
  return tools_.declared.rank(node_.output(i));
}

int64_t NodeContext::declared_extent(int i, int axis) const {
  // A rank alone may be from a reader of the value, which says nothing of extents.
  if (axis < 0 || axis >= declared_rank(i)) return -1;
  const ::onnx::TensorShapeProto* shape = tools_.declared.shape(node_.output(i));
  if (shape == nullptr) return -1;
  const auto& dim = shape->dim(axis);
  return dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1;
}

bool NodeContext::unknown_is_one() const { return tools_.state.guess == Guess::kAllOnes; }

uint32_t NodeContext::string_bytes() const { return tools_.state.options.string_bytes; }

// ---- attributes ----

bool NodeContext::has_attr(std::string_view name) const { return attribute(name) != nullptr; }

// The attribute if it is there and of this type. Files of IR version 1 may leave the type out: then the field decides.
const AttributeProto* NodeContext::typed(std::string_view name, AttributeProto::AttributeType type, bool present,
                                         const char* wanted) const {
  const AttributeProto* a = attribute(name);
  if (a == nullptr || a->type() == type || (a->type() == AttributeProto::UNDEFINED && present)) return a;
  // An empty list is written without elements, and by some exporters without its type.
  if (a->type() == AttributeProto::UNDEFINED) return a;
  if (!failed_) {
    tools_.report.record(node_, &scope_, Code::kBadAttribute, "attribute " + std::string(name) + " is not " + wanted);
    failed_ = true;
  }
  return nullptr;
}

int64_t NodeContext::attr_int(std::string_view name, int64_t otherwise) const {
  const AttributeProto* a = typed(name, AttributeProto::INT, true, "an integer");
  return a == nullptr ? otherwise : a->i();
}

float NodeContext::attr_float(std::string_view name, float otherwise) const {
  const AttributeProto* a = typed(name, AttributeProto::FLOAT, true, "a float");
  return a == nullptr ? otherwise : a->f();
}

std::string NodeContext::attr_string(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* a = typed(name, AttributeProto::STRING, true, "a string");
  return a == nullptr ? std::string(otherwise) : a->s();
}

std::vector<int64_t> NodeContext::attr_ints(std::string_view name) const {
  const AttributeProto* a = typed(name, AttributeProto::INTS, true, "a list of integers");
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<float> NodeContext::attr_floats(std::string_view name) const {
  const AttributeProto* a = typed(name, AttributeProto::FLOATS, true, "a list of floats");
  if (a == nullptr) return {};
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> NodeContext::attr_strings(std::string_view name) const {
  const AttributeProto* a = typed(name, AttributeProto::STRINGS, true, "a list of strings");
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

void NodeContext::each_attr_string(std::string_view name, const std::function<void(std::string_view)>& see) const {
  const AttributeProto* a = typed(name, AttributeProto::STRINGS, true, "a list of strings");
  for (int i = 0; a != nullptr && i < a->strings_size(); ++i) see(a->strings(i));
}

void NodeContext::forget_attr(std::string_view name) {
  if (!scope_.is_model()) return;  // functions and bodies may be imported again
  for (AttributeProto& a : *node_.mutable_attribute()) {
    if (a.name() != name) continue;
    AttributeProto gone;  // clearing alone keeps what is reserved
    a.mutable_ints()->Swap(gone.mutable_ints());
    a.mutable_floats()->Swap(gone.mutable_floats());
    a.mutable_strings()->Swap(gone.mutable_strings());
  }
}

const ConstTensor* NodeContext::attr_tensor(std::string_view name) const {
  const AttributeProto* a = typed(name, AttributeProto::TENSOR, true, "a tensor");
  if (a == nullptr) return nullptr;
  const ir::ConstantPtr c = tools_.state.tensors.read(*const_cast<AttributeProto*>(a)->mutable_t(), std::string(name));
  if (c == nullptr) failed_ = true;
  return c == nullptr ? nullptr : &c->tensor;
}

// ---- building ----

std::vector<Value> NodeContext::emit(Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs, int outputs) {
  std::vector<ir::Value*> in;
  for (const Value v : inputs) in.push_back(at(v));
  ir::Node* n = scope_.graph->add_node(op, std::move(attrs), std::move(in), static_cast<size_t>(outputs));
  n->name = node_name(node_, &scope_);
  std::string message;
  const Status status = ir::infer_node(*scope_.graph, n, &tools_.state.finder, &message);
  if (!ok(status)) {
    if (!failed_) static_cast<void>(fail(status, message, ""));
    scope_.graph->remove(n);
    return {};
  }
  std::vector<Value> out;
  for (const ir::Value* v : n->outputs) out.push_back({v->id});
  return out;
}

Value NodeContext::add_constant(const TensorType& type, std::vector<uint8_t> bytes) {
  return {scope_.graph->add_constant("", ir::make_constant(type, std::move(bytes)))->id};
}

Value NodeContext::add_string_constant(const Shape& shape, std::vector<std::string> strings) {
  return {scope_.graph->add_constant("", ir::make_strings(shape, std::move(strings)))->id};
}

std::vector<Value> NodeContext::call(std::string_view name, const std::vector<Value>& inputs) {
  const std::string attribute_name(name);
  ::onnx::GraphProto* body = graph_attribute(node_, attribute_name.c_str());
  if (body == nullptr || static_cast<size_t>(body->input_size()) != inputs.size()) {
    static_cast<void>(
        fail(Status::kInvalidModel,
             "attribute " + attribute_name + " is not a graph of " + std::to_string(inputs.size()) + " inputs", ""));
    return {};
  }
  std::vector<ir::Value*> in, made;
  for (const Value v : inputs) in.push_back(at(v));
  const std::string prefix = node_name(node_, &scope_) + "/" + attribute_name + "/";
  std::vector<Value> out;
  bool whole = inline_graph(tools_, scope_, node_, *body, prefix, in, &made);
  for (const ir::Value* v : made) {
    whole = whole && v != &tools_.state.poison && tools_.bundles.find(v) == nullptr;
    if (whole) out.push_back({v->id});
  }
  if (whole) return out;
  failed_ = true;  // what was wrong in it is recorded
  return {};
}

void NodeContext::set_output(int i, Value v) {
  if (i >= 0 && i < node_.output_size()) results_[static_cast<size_t>(i)] = at(v);
}

void NodeContext::assume(const std::string& what, const std::string& help) {
  tools_.report.assume(node_, scope_, what, help);
}

void NodeContext::assume_extents(const std::vector<Dim>& extents, bool one, const std::string& what,
                                 const std::string& help) {
  tools_.report.assume_extents(node_, scope_, extents, one, what, help);
}

void NodeContext::beyond_standard(const std::string& what) {
  tools_.report.warn(node_, scope_, Code::kBeyondStandard, what, "");
}

Status NodeContext::fail(Status status, const std::string& what, const std::string& help) {
  if (!failed_) {
    tools_.report.record(node_, &scope_, status == Status::kUnsupported ? Code::kUnsupportedNode : Code::kBadNode, what,
                         help);
    failed_ = true;
  }
  return status;
}

}  // namespace vireo::importer

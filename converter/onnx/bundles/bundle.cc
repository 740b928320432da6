// Sequences, optionals and maps as bundles of tensors: what they are made of, how two become one where a condition that
// only a run knows decides, and how they leave and enter the graph.
#include <algorithm>
#include <utility>

#include "converter/onnx/importer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::importer {

std::vector<uint8_t> binary_attributes() { return pack<attrs::Binary>(attrs::BinaryT{}); }

const char* kind(const Bundle& b) {
  if (b.map) return b.elements[1]->type.shape.rank == 1 ? "a map" : "a sequence of maps";
  return b.optional ? "an optional" : "a sequence";
}

Bundle* Importer::bundle(const ir::Value* v) {
  const auto it = markers_.find(v);
  return it == markers_.end() ? nullptr : it->second;
}

ir::Value* Importer::add_bundle(Bundle b) {
  if (!spend(ir::Budget::kElements, static_cast<int64_t>(b.elements.size()))) return &poison_;
  bundles_.push_back(std::move(b));
  Bundle& kept = bundles_.back();
  markers_[&kept.marker] = &kept;
  return &kept.marker;
}

const ElementsOption* Importer::elements_option(const std::string& name) const {
  for (const ElementsOption& option : options_.elements) {
    if (option.name == name) {
      elements_asked_.insert(name);
      return &option;
    }
  }
  return nullptr;
}

void Importer::refuse_bundle(const Scope& scope, const ::onnx::NodeProto& node, const std::string& what,
                             const Bundle& b) {
  record(&node, &scope, Code::kUnsupportedNode, what + " is " + kind(b) + ", wanted a tensor",
         b.map ? "CastMap and DictVectorizer make tensors of a map"
               : "take the elements out with SequenceAt or OptionalGetElement");
}

bool Importer::refuse_open(const Scope* scope, const ::onnx::NodeProto* node, const ir::Value* v) {
  const Bundle* b = bundle(v);
  if (b == nullptr || b->open.empty()) return false;
  const Dim extent = b->whole->type.shape[b->axis];
  const bool bounded = !dims_->interval(extent).open();
  record(node, scope, Code::kUnsupportedNode,
         "sequence \"" + b->open + "\" is split from " + dims_->text(extent) +
             (bounded ? " elements, and its parts are too many to list here"
                      : " elements, and how many parts there are at most must be known here"),
         "bound the extent with --shape, or the parts with --elements " + b->open + "=8");
  return true;
}

// ---- small nodes ----

ir::Value* Importer::emit(Scope& scope, const ::onnx::NodeProto& node, Op op, std::vector<uint8_t> attrs,
                          std::vector<ir::Value*> inputs) {
  for (const ir::Value* v : inputs) {
    if (v == nullptr) return nullptr;
    if (const Bundle* b = bundle(v)) {
      refuse_bundle(scope, node, "one of its operands", *b);
      return nullptr;
    }
  }
  ir::Node* n = scope.graph->add_node(op, std::move(attrs), std::move(inputs), 1);
  n->name = node_name(node, &scope);
  std::string message;
  if (ok(ir::infer_node(*scope.graph, n, &finder_, &message))) return n->outputs[0];
  record(&node, &scope, Code::kBadNode, message);
  scope.graph->remove(n);
  return nullptr;
}

ir::Value* Importer::constant_i64(Scope& scope, const std::vector<int64_t>& values) {
  Shape s;
  s.rank = 1;
  s[0] = static_cast<int64_t>(values.size());
  return scope.graph->add_constant("", ir::make_constant_of<int64_t>(DType::kI64, s, values));
}

ir::Value* Importer::constant_i64(Scope& scope, int64_t value) {
  return scope.graph->add_constant("", ir::make_constant_of<int64_t>(DType::kI64, {}, {value}));
}

ir::Value* Importer::constant_bool(Scope& scope, bool value) {
  return scope.graph->add_constant(
      "", ir::make_constant({DType::kBool, {}}, std::vector<uint8_t>{static_cast<uint8_t>(value)}));
}

ir::Value* Importer::both(Scope& scope, const ::onnx::NodeProto& node, ir::Value* a, ir::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return emit(scope, node, Op::kBitwiseAnd, binary_attributes(), {a, b});
}

ir::Value* Importer::compare(Scope& scope, const ::onnx::NodeProto& node, Op op, int64_t a, ir::Value* b) {
  return emit(scope, node, op, binary_attributes(), {constant_i64(scope, a), b});
}

ir::Value* Importer::as_scalar(Scope& scope, const ::onnx::NodeProto& node, ir::Value* v, DType dtype) {
  if (v != nullptr && v->type.dtype != dtype) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(dtype);
    v = emit(scope, node, Op::kCast, pack<attrs::Cast>(a), {v});
  }
  if (v == nullptr || v->type.shape.rank == 0) return v;
  return emit(scope, node, Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}),
              {v, constant_i64(scope, std::vector<int64_t>{})});
}

// ---- what a bundle says about itself ----

ir::Value* Importer::length_of(Scope& scope, const Bundle& sequence) {
  return sequence.length != nullptr ? sequence.length
                                    : constant_i64(scope, static_cast<int64_t>(sequence.elements.size()));
}

ir::Value* Importer::held(ir::Value* v, const ::onnx::NodeProto& node) {
  const Bundle* b = bundle(v);
  if (b == nullptr || !b->optional) return v;
  if (!b->elements.empty()) return b->elements[0];
  record(&node, nullptr, Code::kBadNode, "takes the element of an optional that is empty");
  return nullptr;
}

ir::Value* Importer::presence(Scope& scope, ir::Value* v) {
  const Bundle* b = bundle(v);
  if (b == nullptr || !b->optional) return constant_bool(scope, true);
  return b->present != nullptr ? b->present : constant_bool(scope, !b->elements.empty());
}

// A Gather from one zero fails at every other index than 0: the graph's way to say "must hold".
ir::Value* Importer::checked(Scope& scope, const ::onnx::NodeProto& node, ir::Value* index, ir::Value* condition) {
  const ir::ConstantPtr c = condition == nullptr ? nullptr : finder_.find(condition);
  if (c != nullptr && *c->tensor.as<uint8_t>() != 0) return index;
  ir::Value* wrong = emit(scope, node, Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {condition});
  attrs::CastT to;
  to.to = static_cast<uint8_t>(DType::kI64);
  wrong = emit(scope, node, Op::kCast, pack<attrs::Cast>(to), {wrong});
  ir::Value* zero = emit(scope, node, Op::kGather, pack<attrs::Gather>(attrs::GatherT{}),
                         {constant_i64(scope, std::vector<int64_t>{0}), wrong});
  return emit(scope, node, Op::kAdd, binary_attributes(), {index, zero});
}

// ---- one of two ----

ir::Value* Importer::choose_tensor(Scope& scope, const ::onnx::NodeProto& node, ir::Value* condition, ir::Value* a,
                                   ir::Value* b) {
  const TensorType &x = a->type, &y = b->type;
  if (x.dtype != y.dtype || x.shape.rank != y.shape.rank) {
    record(&node, &scope, Code::kBranchMismatch,
           std::string("is ") + dtype_name(x.dtype) + dims_->text(x.shape) + " or " + dtype_name(y.dtype) +
               dims_->text(y.shape) + ", and which is not known here",
           "data type and rank must be known");
    return nullptr;
  }
  if (x == y && dtype_bits(x.dtype) >= 8)
    return emit(scope, node, Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {condition, a, b});
  TensorType t = x;
  for (int d = 0; d < t.shape.rank; ++d) {
    if (x.shape[d] == y.shape[d]) continue;
    t.shape[d] = dims_->fresh_bounded(node_name(node, &scope) + ".size", dims_->max(x.shape[d], y.shape[d]));
  }
  ir::Node* n = scope.graph->add_node(Op::kIf, pack<attrs::If>(attrs::IfT{}), {condition, a, b}, 1);
  n->name = node_name(node, &scope);
  for (int k = 0; k < 2; ++k) {
    auto body = std::make_unique<ir::Graph>(dims_);
    ir::Value* const sides[2] = {body->add_input("a", x), body->add_input("b", y)};
    ir::Node* same = body->add_node(Op::kIdentity, pack<attrs::Identity>(attrs::IdentityT{}), {sides[k]}, 1);
    same->outputs[0]->type = sides[k]->type;
    body->add_output(same->outputs[0], "y");
    n->bodies.push_back(std::move(body));
  }
  n->outputs[0]->type = t;
  return n->outputs[0];
}

ir::Value* Importer::choose(Scope& scope, const ::onnx::NodeProto& node, ir::Value* condition, ir::Value* a,
                            ir::Value* b) {
  if (a == b || condition == nullptr || a == nullptr || b == nullptr)
    return a == b && condition != nullptr ? a : nullptr;
  if (a == &poison_ || b == &poison_) return &poison_;
  if (refuse_open(&scope, &node, a) || refuse_open(&scope, &node, b)) return nullptr;
  const int known = known_bool(finder_, condition);
  if (known >= 0) return known == 1 ? a : b;
  const Bundle *x = bundle(a), *y = bundle(b);
  if (x == nullptr && y == nullptr) return choose_tensor(scope, node, condition, a, b);
  if ((x != nullptr && x->map) || (y != nullptr && y->map)) {
    record(&node, &scope, Code::kUnsupportedNode, "is one of two maps, and which is not known here",
           "make tensors of them before, with CastMap or DictVectorizer");
    return nullptr;
  }
  Bundle made;
  if ((x != nullptr && x->optional) || (y != nullptr && y->optional)) {
    made.optional = true;
    made.present = choose(scope, node, condition, presence(scope, a), presence(scope, b));
    const bool holds[2] = {x == nullptr || !x->optional || !x->elements.empty(),
                           y == nullptr || !y->optional || !y->elements.empty()};
    ir::Value* const inside[2] = {holds[0] ? held(a, node) : nullptr, holds[1] ? held(b, node) : nullptr};
    if (holds[0] && holds[1]) {
      made.elements.push_back(choose(scope, node, condition, inside[0], inside[1]));
    } else if (holds[0] || holds[1]) {
      made.elements.push_back(inside[holds[0] ? 0 : 1]);
    }
    if (made.present == nullptr || (!made.elements.empty() && made.elements[0] == nullptr)) return nullptr;
    return add_bundle(std::move(made));
  }
  if (x == nullptr || y == nullptr) {
    record(&node, &scope, Code::kBranchMismatch, "is a sequence or a tensor, and which is not known here");
    return nullptr;
  }
  // What lies behind the length is nobody's: there the longer one's elements will do.
  for (size_t i = 0; i < std::max(x->elements.size(), y->elements.size()); ++i) {
    if (i >= x->elements.size() || i >= y->elements.size()) {
      made.elements.push_back((i < x->elements.size() ? x : y)->elements[i]);
    } else {
      made.elements.push_back(choose(scope, node, condition, x->elements[i], y->elements[i]));
    }
    if (made.elements.back() == nullptr) return nullptr;
  }
  if (x->length != nullptr || y->length != nullptr || x->elements.size() != y->elements.size()) {
    made.length = choose(scope, node, condition, length_of(scope, *x), length_of(scope, *y));
    if (made.length == nullptr) return nullptr;
  }
  return add_bundle(std::move(made));
}

// ---- in the graph's outputs ----

// A sequence "y" leaves as "y.0", "y.1"..., and "y.length" where that is not how many there are; an optional as what it
// holds, and "y.present" where that may be nothing; a map, or a sequence of maps of the same keys, as "y.keys" and
// "y.values".
void Importer::add_bundle_output(Scope& scope, const std::string& name, Bundle& b) {
  if (refuse_open(nullptr, nullptr, &b.marker)) return;
  if (b.map) {
    scope.graph->add_output(b.elements[0], name + ".keys");
    return scope.graph->add_output(b.elements[1], name + ".values");
  }
  if (b.optional) {
    if (b.present != nullptr || b.elements.empty())
      scope.graph->add_output(presence(scope, &b.marker), name + ".present");
    if (b.elements.empty()) return;
    Bundle* inside = bundle(b.elements[0]);
    if (inside != nullptr) return add_bundle_output(scope, name, *inside);
    return scope.graph->add_output(b.elements[0], name);
  }
  for (size_t i = 0; i < b.elements.size(); ++i) scope.graph->add_output(b.elements[i], name + "." + std::to_string(i));
  if (b.length != nullptr || b.elements.empty()) scope.graph->add_output(length_of(scope, b), name + ".length");
}

}  // namespace vireo::importer

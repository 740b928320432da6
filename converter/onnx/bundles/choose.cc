#include "converter/onnx/bundles/choose.h"

#include <algorithm>
#include <utility>

#include "converter/onnx/bundles/refuse.h"
#include "converter/onnx/report.h"
#include "converter/onnx/state.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::importer {

ir::Value* BundleBuilder::presence(ir::Value* v) { return tools_.bundles.presence(*scope_.graph, v); }

ir::Value* BundleBuilder::held(ir::Value* v) {
  const Bundle* b = bundle(v);
  if (b == nullptr || !b->optional) return v;
  if (!b->elements.empty()) return b->elements[0];
  tools_.report.record(node_, nullptr, Code::kBadNode, "takes the element of an optional that is empty");
  return nullptr;
}

ir::Value* BundleBuilder::choose_tensor(ir::Value* condition, ir::Value* a, ir::Value* b) {
  ir::DimTable& dims = *tools_.state.dims;
  const TensorType &x = a->type, &y = b->type;
  if (x.dtype != y.dtype || x.shape.rank != y.shape.rank) {
    record(Code::kBranchMismatch,
           std::string("is ") + dtype_name(x.dtype) + dims.text(x.shape) + " or " + dtype_name(y.dtype) +
               dims.text(y.shape) + ", and which is not known here",
           "data type and rank must be known");
    return nullptr;
  }
  if (x == y && dtype_bits(x.dtype) >= 8)
    return emit(Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {condition, a, b});
  TensorType t = x;
  for (int d = 0; d < t.shape.rank; ++d) {
    if (x.shape[d] == y.shape[d]) continue;
    t.shape[d] = dims.fresh_bounded(node_name(node_, &scope_) + ".size", dims.max(x.shape[d], y.shape[d]));
  }
  ir::Node* n = scope_.graph->add_node(Op::kIf, pack<attrs::If>(attrs::IfT{}), {condition, a, b}, 1);
  n->name = node_name(node_, &scope_);
  for (int k = 0; k < 2; ++k) {
    auto body = std::make_unique<ir::Graph>(tools_.state.dims);
    ir::Value* const sides[2] = {body->add_input("a", x), body->add_input("b", y)};
    ir::Node* same = body->add_node(Op::kIdentity, pack<attrs::Identity>(attrs::IdentityT{}), {sides[k]}, 1);
    same->outputs[0]->type = sides[k]->type;
    body->add_output(same->outputs[0], "y");
    n->bodies.push_back(std::move(body));
  }
  n->outputs[0]->type = t;
  return n->outputs[0];
}

ir::Value* BundleBuilder::choose(ir::Value* condition, ir::Value* a, ir::Value* b) {
  if (a == b || condition == nullptr || a == nullptr || b == nullptr)
    return a == b && condition != nullptr ? a : nullptr;
  ImportState& state = tools_.state;
  if (a == &state.poison || b == &state.poison) return &state.poison;
  if (refuse_open(tools_, scope_, node_, a) || refuse_open(tools_, scope_, node_, b)) return nullptr;
  const int known = known_bool(state.finder, condition);
  if (known >= 0) return known == 1 ? a : b;
  const Bundle *x = bundle(a), *y = bundle(b);
  if (x == nullptr && y == nullptr) return choose_tensor(condition, a, b);
  if ((x != nullptr && x->map) || (y != nullptr && y->map)) {
    record(Code::kUnsupportedNode, "is one of two maps, and which is not known here",
           "make tensors of them before, with CastMap or DictVectorizer");
    return nullptr;
  }
  if ((x != nullptr && x->optional) || (y != nullptr && y->optional)) return choose_optional(condition, a, b);
  if (x == nullptr || y == nullptr) {
    record(Code::kBranchMismatch, "is a sequence or a tensor, and which is not known here");
    return nullptr;
  }
  return choose_sequence(condition, *x, *y);
}

// One of them may be a tensor, which is there.
ir::Value* BundleBuilder::choose_optional(ir::Value* condition, ir::Value* a, ir::Value* b) {
  const Bundle *x = bundle(a), *y = bundle(b);
  Bundle made;
  made.optional = true;
  made.present = choose(condition, presence(a), presence(b));
  const bool holds[2] = {x == nullptr || !x->optional || !x->elements.empty(),
                         y == nullptr || !y->optional || !y->elements.empty()};
  ir::Value* const inside[2] = {holds[0] ? held(a) : nullptr, holds[1] ? held(b) : nullptr};
  if (holds[0] && holds[1]) {
    made.elements.push_back(choose(condition, inside[0], inside[1]));
  } else if (holds[0] || holds[1]) {
    made.elements.push_back(inside[holds[0] ? 0 : 1]);
  }
  if (made.present == nullptr || (!made.elements.empty() && made.elements[0] == nullptr)) return nullptr;
  return tools_.bundles.add(std::move(made));
}

ir::Value* BundleBuilder::choose_sequence(ir::Value* condition, const Bundle& x, const Bundle& y) {
  Bundle made;
  // What lies behind the length is nobody's: there the longer one's elements will do.
  for (size_t i = 0; i < std::max(x.elements.size(), y.elements.size()); ++i) {
    if (i >= x.elements.size() || i >= y.elements.size()) {
      made.elements.push_back((i < x.elements.size() ? x : y).elements[i]);
    } else {
      made.elements.push_back(choose(condition, x.elements[i], y.elements[i]));
    }
    if (made.elements.back() == nullptr) return nullptr;
  }
  if (x.length != nullptr || y.length != nullptr || x.elements.size() != y.elements.size()) {
    made.length = choose(condition, length_of(x), length_of(y));
    if (made.length == nullptr) return nullptr;
  }
  return tools_.bundles.add(std::move(made));
}

}  // namespace vireo::importer

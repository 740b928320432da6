#include "converter/emit/integer_only.h"

#include <algorithm>
#include <set>

#include "sdk/base/dtype.h"
#include "sdk/ops/traits.h"

namespace vireo::emit {
namespace {

template <class List>
bool contains(const List* list, int64_t value) {
  for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (static_cast<int64_t>(list->Get(i)) == value) return true;
  }
  return false;
}

bool touches_float(const fb::Subgraph& g, const flatbuffers::Vector<int32_t>* tensors) {
  for (flatbuffers::uoffset_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
    const int32_t t = tensors->Get(i);
    if (t >= 0 && dtype_is_float(static_cast<DType>(g.tensors()->Get(static_cast<unsigned>(t))->dtype()))) return true;
  }
  return false;
}

// QuantizeLinear of an input, DequantizeLinear into an output.
bool is_border(const fb::Subgraph& g, const fb::Node& n) {
  const Op op = static_cast<Op>(n.op());
  if (op == Op::kQuantizeLinear) return contains(g.inputs(), n.inputs()->Get(0));
  if (op != Op::kDequantizeLinear) return false;
  const int32_t y = n.outputs()->Get(0);
  for (const fb::Node* other : *g.nodes()) {  // there is one: n
    if (contains(other->inputs(), y)) return false;
  }
  return contains(g.outputs(), y);
}

bool is_integer(const fb::Node& n) { return is_own(static_cast<Op>(n.op())); }

}  // namespace

std::vector<const fb::Node*> float_nodes(const fb::Model& model) {
  std::set<uint32_t> inside;  // bodies of composites
  for (const fb::Subgraph* g : *model.subgraphs()) {
    if (g->nodes() == nullptr) continue;
    for (const fb::Node* n : *g->nodes()) {
      if (static_cast<Op>(n->op()) != Op::kComposite || n->subgraphs() == nullptr) continue;
      for (flatbuffers::uoffset_t i = 0; i < n->subgraphs()->size(); ++i) inside.insert(n->subgraphs()->Get(i));
    }
  }
  // A composite of such nodes is one: what it means is its body.
  const auto holds_integers = [&](const fb::Node& n) {
    if (static_cast<Op>(n.op()) != Op::kComposite || n.subgraphs() == nullptr || n.subgraphs()->size() != 1)
      return false;
    const auto* nodes = model.subgraphs()->Get(n.subgraphs()->Get(0))->nodes();
    return nodes != nullptr &&
           std::all_of(nodes->begin(), nodes->end(), [&](const fb::Node* inner) { return is_integer(*inner); });
  };
  std::vector<const fb::Node*> out;
  for (flatbuffers::uoffset_t s = 0; s < model.subgraphs()->size(); ++s) {
    const fb::Subgraph& g = *model.subgraphs()->Get(s);
    if (g.nodes() == nullptr) continue;
    for (const fb::Node* n : *g.nodes()) {
      const Op op = static_cast<Op>(n->op());
      const bool owner = is_control_flow(op);  // its bodies' nodes speak for themselves
      const bool integer = is_integer(*n) || holds_integers(*n);
      if (inside.count(s) != 0 || owner || integer || (s == 0 && is_border(g, *n))) continue;
      if (touches_float(g, n->inputs()) || touches_float(g, n->outputs())) out.push_back(n);
    }
  }
  return out;
}

bool is_quantized(const fb::Model& model) {
  for (const fb::Subgraph* g : *model.subgraphs()) {
    if (g->nodes() == nullptr) continue;
    for (const fb::Node* n : *g->nodes()) {
      if (is_integer(*n) || static_cast<Op>(n->op()) == Op::kQuantizeLinear) return true;
    }
  }
  return false;
}

}  // namespace vireo::emit

#include "converter/passes/shared/composite.h"

#include <algorithm>
#include <map>

#include "converter/ir/shown.h"
#include "sdk/composites/attention/attention.h"
#include "sdk/composites/attention/codes_attention.h"
#include "sdk/composites/codes/codes.h"
#include "sdk/composites/dynamic/dynamic.h"
#include "sdk/composites/epilogue/epilogue.h"
#include "sdk/composites/norm/norm.h"
#include "sdk/composites/recurrent/recurrent.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/plan/planner.h"

namespace vireo::passes {
namespace {

using composites::Composite;
using composites::Form;
using composites::ResultOn;

bool reads_constants_only(const ir::Node* n) {
  return std::all_of(n->inputs.begin(), n->inputs.end(),
                     [](const ir::Value* v) { return v == nullptr || v->constant != nullptr; });
}

// A Cast of the attention's queries to the type that they have, in front of all others. Output 0 may lie on what
// only the first node reads and works on in place, and a row of the result replaces the row of q that it is made from.
void free_queries(ir::Graph& g, std::vector<ir::Node*>* nodes) {
  ir::Node* const core =
      *std::find_if(nodes->begin(), nodes->end(), [](ir::Node* n) { return n->op == Op::kAttention; });
  ir::Value* const q = core->in(0);
  attrs::CastT a;
  a.to = static_cast<uint8_t>(q->type.dtype);
  ir::Node* same = g.add_node(Op::kCast, pack<attrs::Cast>(a), {q}, 1, core);
  same->name = core->name;
  same->out()->name = q->name + "_same";
  same->out()->type = q->type;
  g.set_input(core, 0, same->out());
  nodes->insert(nodes->begin(), same);
}

// Orders a body so that its result lies where the row says.
void order(ir::Graph& g, const Composite& row, std::vector<ir::Node*>* nodes) {
  if (row.result == ResultOn::kConstants) std::stable_partition(nodes->begin(), nodes->end(), reads_constants_only);
  if (row.result == ResultOn::kQuery) free_queries(g, nodes);
}

// Inputs of the composite on which output 0 may lie.
uint32_t result_may_lie_on(const ir::Node& composite) {
  const ir::Graph& body = *composite.bodies[0];
  const ir::Node& first = body.nodes().front();
  std::vector<int32_t> in, out;
  std::vector<uint32_t> inputs;
  for (const ir::Value* v : first.inputs) in.push_back(v == nullptr ? -1 : static_cast<int32_t>(v->id));
  for (const ir::Value* v : first.outputs) out.push_back(v == nullptr ? -1 : static_cast<int32_t>(v->id));
  for (const ir::Value* v : body.inputs()) inputs.push_back(v->id);
  const auto value = [&](int32_t id) -> const ir::Value& { return body.values()[static_cast<size_t>(id) - 1]; };
  const auto read_later = [&](int32_t id) {
    const ir::Value& v = value(id);
    return v.output_uses != 0 ||
           std::any_of(v.uses.begin(), v.uses.end(), [&](const ir::Use& use) { return use.node != &first; });
  };
  const uint32_t own = inplace_always(first.def().inplace, {in.data(), in.size()}, {out.data(), out.size()},
                                      [&](int32_t id) { return value(id).type; });
  return composite_inplace(own, {in.data(), in.size()}, {inputs.data(), inputs.size()}, read_later);
}

// Whether the matcher of the row's form reads the composite. Chains have theirs in delegates/cpu.
bool reads_as(const Composite& row, const NodeView& view) {
  switch (row.form) {
    case Form::kEpilogue: {
      composites::FusedProduct f;
      return match_product(view, &f) && f.core == row.op && f.stored == row.stored;
    }
    case Form::kCodes: {
      composites::FusedCodes f;
      return match_codes(view, &f) && f.core == row.op;
    }
    case Form::kDynamic: {
      composites::FusedDynamic f;
      return match_dynamic(view, &f) && f.core == row.op;
    }
    case Form::kAttention: {
      composites::FusedAttention f;
      return match_attention(view, &f);
    }
    case Form::kCodesAttention: {
      composites::FusedCodesAttention f;
      return match_codes_attention(view, &f);
    }
    case Form::kNorm: {
      composites::FusedNorm f;
      return match_norm(view, &f) && f.half == (row.stored == composites::Stored::kBf16);
    }
    case Form::kRecurrent: {
      composites::FusedRecurrent f;
      composites::FusedRecurrentCodes codes;
      return row.stored == composites::Stored::kCodes ? match_recurrent_codes(view, &codes)
                                                      : match_recurrent_bf16(view, &f);
    }
    default:
      return true;
  }
}

}  // namespace

std::string result_fault(const ir::Node& composite, const Composite& row) {
  const uint32_t lies_on = result_may_lie_on(composite);
  const std::string hint = row.hint;
  switch (row.result) {
    case ResultOn::kApart:
    case ResultOn::kConstants:
      return lies_on == 0 ? "" : hint + ": its result may lie on an input";
    case ResultOn::kFirst:
      return "";
    case ResultOn::kQuery: {
      composites::FusedAttention f;
      const bool read = match_attention(ir::ShownComposite(composite).view(), &f);
      return read && lies_on == 1u << f.inputs[composites::kQ].input ? "" : hint + ": its result does not lie on q";
    }
  }
  return "";
}

std::string composite_fault(const ir::Node& composite) {
  const std::string hint = composite.attributes<attrs::Composite>().hint()->str();
  const Composite* const row = composites::find_composite(hint.c_str());
  if (row == nullptr) return "no row of composites.def has the hint " + hint;
  if (!reads_as(*row, ir::ShownComposite(composite).view()))
    return hint + ": the form's matcher does not read its body";
  return result_fault(composite, *row);
}

ir::Node* make_composite(ir::Graph& g, std::vector<ir::Node*> nodes, const Composite& row, IntoBody into_body,
                         ir::Value* second) {
  order(g, row, &nodes);
  const ir::Node& core = *nodes.front();
  ir::Node& last = *nodes.back();
  auto body = std::make_unique<ir::Graph>(g.shared_dims());
  body->name = core.name;
  std::vector<ir::Value*> inputs;
  std::map<const ir::Value*, ir::Value*> inside;
  const auto input = [&](ir::Value* v, bool constant) -> ir::Value* {
    if (v == nullptr) return nullptr;
    ir::Value*& w = inside[v];
    if (w != nullptr) return w;
    if (constant && v->constant != nullptr) return w = body->add_constant(v->name, v->constant);
    inputs.push_back(v);
    w = body->add_input(v->name, v->type);
    w->contents = v->contents;
    return w;
  };
  for (const ir::Node* n : nodes) {
    std::vector<ir::Value*> in;
    for (size_t i = 0; i < n->inputs.size(); ++i) in.push_back(input(n->inputs[i], into_body(*n, i)));
    ir::Node* copy = body->add_node(n->op, n->attrs, std::move(in), n->outputs.size());
    copy->name = n->name;
    copy->version = n->version;
    for (size_t i = 0; i < n->outputs.size(); ++i) {
      const ir::Value* v = n->out(i);
      if (v == nullptr || v->unused()) {
        body->drop_output(copy, i);
        continue;
      }
      copy->out(i)->name = v->name;
      copy->out(i)->type = v->type;
      inside[v] = copy->out(i);
    }
  }
  std::vector<ir::Value*> results;
  for (ir::Value* v : last.outputs) {
    if (v != nullptr && !v->unused()) results.push_back(v);
  }
  if (second != nullptr) results.push_back(second);
  for (ir::Value* v : results) body->add_output(inside[v], v->name);
  attrs::CompositeT a;
  a.hint = row.hint;
  // Where the last one stands, all that they take has been made.
  ir::Node* one = g.add_node(Op::kComposite, pack<attrs::Composite>(a), std::move(inputs), results.size(), &last);
  one->name = core.name;
  one->bodies.push_back(std::move(body));
  for (size_t i = 0; i < results.size(); ++i) {
    one->out(i)->name = results[i]->name;
    one->out(i)->type = results[i]->type;
    g.replace_uses(results[i], one->out(i));
  }
  for (size_t i = nodes.size(); i-- > 0;) g.remove(nodes[i]);
  return one;
}

}  // namespace vireo::passes

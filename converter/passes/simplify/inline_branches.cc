// Before   y = If(c, captured...) {then, else}        c is known
// After    the nodes of the branch that is taken stand in its place; what follows gets the types that this branch gives
// Fires    always. Import does the same for conditions that it can see through; this is for those that became constant
//          since, by folding what is too large to look at there or by the removal of what stood between.
//          Idempotent: an If inside the branch is met on the way.
// Numerics none.
#include "converter/passes/simplify/inline_branches.h"

#include <iterator>
#include <map>
#include <set>

namespace vireo::passes {
namespace {

// 1, 0, or -1 where it is not known.
int known_condition(const ir::Value* v) {
  std::vector<Dim> elements;
  if (!ir::known_elements(v, nullptr, &elements) || elements.size() != 1 || is_symbolic(elements[0])) return -1;
  return elements[0] != 0 ? 1 : 0;
}

// Moves the nodes of `body` in front of `owner`; returns what its outputs are outside.
std::vector<ir::Value*> move_out(ir::Graph& g, ir::Node& owner, ir::Graph& body) {
  std::map<const ir::Value*, ir::Value*> outside{{nullptr, nullptr}};
  for (size_t i = 0; i < body.inputs().size(); ++i) outside[body.inputs()[i]] = owner.inputs[i + 1];
  const auto find = [&](const ir::Value* v) {
    const auto at = outside.find(v);
    return at != outside.end() ? at->second : outside[v] = g.add_constant(v->name, v->constant);
  };
  for (ir::Node& n : body.nodes()) {
    std::vector<ir::Value*> inputs;
    for (const ir::Value* v : n.inputs) inputs.push_back(find(v));
    ir::Node* copy = g.add_node(n.op, n.attrs, std::move(inputs), n.outputs.size(), &owner);
    copy->version = n.version;
    copy->name = n.name;
    copy->bodies = std::move(n.bodies);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const ir::Value* v = n.outputs[i];
      if (v == nullptr) {
        g.drop_output(copy, i);
        continue;
      }
      ir::Value* w = outside[v] = copy->outputs[i];
      w->name = v->name;
      w->type = v->type;
      w->contents = v->contents;
    }
  }
  std::vector<ir::Value*> results;
  for (const ir::Value* v : body.outputs()) results.push_back(find(v));
  return results;
}

// Infers anew what depends on `changed`. Owners of bodies keep their types: those were made for either branch and hold
// for each.
void refine(ir::Graph& g, std::set<const ir::Value*> changed) {
  ir::ConstantFinder finder(&g.dims().budget());
  for (ir::Node& n : g.nodes()) {
    bool touched = false;
    for (const ir::Value* v : n.inputs) touched = touched || changed.count(v) != 0;
    if (!touched || !n.bodies.empty()) continue;
    std::vector<TensorType> before;
    for (const ir::Value* v : n.outputs) before.push_back(v == nullptr ? TensorType{} : v->type);
    std::string message;
    const bool good = ok(ir::infer_node(g, &n, &finder, &message));
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      ir::Value* v = n.outputs[i];
      if (v == nullptr) continue;
      if (!good) v->type = before[i];  // a run will say what is wrong, where it gets that far
      changed.insert(v);
    }
  }
}

void run_inline_branches(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it;
    const int taken = n.op == Op::kIf ? known_condition(n.in(0)) : -1;
    if (taken < 0) {
      ++it;
      continue;
    }
    const bool first = it == g.nodes().begin();
    const auto before = first ? it : std::prev(it);  // what is moved out comes behind it
    const std::vector<ir::Value*> results = move_out(g, n, *n.bodies[taken == 1 ? 0 : 1]);
    std::set<const ir::Value*> changed;
    for (size_t i = 0; i < results.size(); ++i) {
      ir::Value* from = n.outputs[i];
      if (from == nullptr) continue;
      if (results[i]->type != from->type || results[i]->constant != nullptr || results[i]->contents)
        changed.insert(results[i]);
      if (results[i]->producer != nullptr && results[i]->output_uses == 0) results[i]->name = from->name;
      g.replace_uses(from, results[i]);
    }
    it = first ? g.nodes().begin() : std::next(before);
    if (&*it == &n) ++it;  // the branch has no nodes
    g.remove(&n);
    log.changed();
    if (!changed.empty()) refine(g, std::move(changed));
  }
}

}  // namespace

const Pass kInlineBranches = {"inline_branches", run_inline_branches};

}  // namespace vireo::passes

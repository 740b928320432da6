#include "converter/passes/composite.h"

#include <map>

#include "sdk/ops/control/control_generated.h"

namespace vireo::passes {

ir::Node* make_composite(ir::Graph& g, const std::vector<ir::Node*>& nodes, const char* hint,
                         bool (*into_body)(const ir::Node& node, size_t input), ir::Value* second) {
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
  a.hint = hint;
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

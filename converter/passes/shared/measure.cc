#include "converter/passes/shared/measure.h"

#include <map>

namespace vireo::passes {
namespace {

bool is_view(Op op) {
  return op == Op::kReshape || op == Op::kSqueeze || op == Op::kUnsqueeze || op == Op::kFlatten || op == Op::kIdentity;
}

int64_t weight_of(Op op) {
  if (op == Op::kTranspose) return 6;
  const bool moves =
      op == Op::kSplit || op == Op::kConcat || op == Op::kSlice || op == Op::kDepthToSpace || op == Op::kSpaceToDepth;
  return is_view(op) || moves || op == Op::kShape ? 1 : 8;
}

}  // namespace

Measure measure(const ir::Graph& g) {
  Measure m;
  std::map<const ir::Node*, int64_t> run;
  for (const ir::Node& n : g.nodes()) {
    m.weight += weight_of(n.op);
    for (const ir::Value* v : n.outputs) m.values += v != nullptr;
    for (const ir::Value* v : n.inputs) m.operands += v != nullptr;
    if (is_view(n.op) || n.op == Op::kTranspose) {
      const ir::Value* x = n.in(0);
      const auto before = x == nullptr ? run.end() : run.find(x->producer);
      const int64_t length = before == run.end() ? 0 : before->second + 1;
      run[&n] = length;
      m.runs += length;
      const ir::Value* parameter = is_view(n.op) ? n.in(1) : nullptr;
      m.computed += parameter != nullptr && parameter->constant == nullptr;
    }
    if (n.op == Op::kComposite) continue;
    for (const auto& body : n.bodies) {
      const Measure inner = measure(*body);
      m.weight += inner.weight;
      m.runs += inner.runs;
      m.computed += inner.computed;
      m.values += inner.values;
      m.constants += inner.constants;
      m.operands += inner.operands;
    }
  }
  for (const ir::Value& v : g.values()) m.constants += v.constant != nullptr && !v.unused();
  return m;
}

}  // namespace vireo::passes

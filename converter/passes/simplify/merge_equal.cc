// Before   y = f(a); z = f(a)        c = [1, 2]; d = [1, 2]
// After    y = f(a), z is y          c, d is c
// Fires    same operator, attributes and inputs; deterministic, no bodies. Constants: same type and bytes. One walk in
// order
//          sees chains of equal nodes, because inputs are merged before their users are compared. Idempotent.
// Numerics none.
#include "converter/passes/simplify/merge_equal.h"

#include <map>
#include <tuple>

namespace vireo::passes {
namespace {

constexpr int64_t kCompareBytes = 1 << 20;  // larger constants are compared by address alone

void merge_constants(ir::Graph& g, PassLog& log) {
  std::multimap<std::pair<size_t, const void*>, ir::Value*> by_address;
  std::multimap<size_t, ir::Value*> by_size;
  const size_t count = g.values().size();
  for (uint32_t id = 1; id <= count; ++id) {
    ir::Value* v = g.value(id);
    if (v->constant == nullptr || v->unused()) continue;
    const ir::Constant& c = *v->constant;
    ir::Value* same = nullptr;
    const auto shared = by_address.equal_range({c.tensor.bytes.size(), c.tensor.bytes.data()});
    for (auto it = shared.first; it != shared.second && same == nullptr; ++it) {
      if (ir::same_content(*it->second->constant, c)) same = it->second;
    }
    if (c.size_bytes() <= kCompareBytes) {
      const auto near = by_size.equal_range(c.tensor.bytes.size());
      for (auto it = near.first; it != near.second && same == nullptr; ++it) {
        if (ir::same_content(*it->second->constant, c)) same = it->second;
      }
    }
    if (same == nullptr) {
      by_address.insert({{c.tensor.bytes.size(), c.tensor.bytes.data()}, v});
      by_size.insert({c.tensor.bytes.size(), v});
      continue;
    }
    g.replace_uses(v, same);
    log.changed();
  }
}

void run_merge_equal(ir::Graph& g, PassLog& log) {
  merge_constants(g, log);
  std::map<std::tuple<Op, std::vector<uint8_t>, std::vector<uint32_t>, size_t>, ir::Node*> seen;
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (!n.bodies.empty()) continue;
    std::vector<uint32_t> inputs;
    for (const ir::Value* v : n.inputs) inputs.push_back(v == nullptr ? 0 : v->id);
    const auto [at, fresh] = seen.emplace(std::make_tuple(n.op, n.attrs, inputs, n.outputs.size()), &n);
    if (fresh) continue;
    ir::Node& first = *at->second;
    if ((n.def().flags & OpDef::kRandom) != 0) {
      log.reject(n, "each draws numbers of its own");
      continue;
    }
    bool fits = true;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      fits = fits && (n.outputs[i] == nullptr || n.outputs[i]->unused() || first.outputs[i] != nullptr);
    }
    if (!fits) continue;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] != nullptr && !n.outputs[i]->unused()) g.replace_uses(n.outputs[i], first.outputs[i]);
    }
    g.remove(&n);
    log.changed();
  }
}

}  // namespace

const Pass kMergeEqual = {"merge_equal", run_merge_equal};

}  // namespace vireo::passes

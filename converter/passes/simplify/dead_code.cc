// Before   y = f(x); z = g(x), z unused
// After    y = f(x)
// Before   y, h, c = LSTM(x, ...), y and c unused
// After    _, h = LSTM(x, ...)
// Fires    no output has a use; an output that the operator may go without has none. Random nodes go too: what they
//          draw is theirs alone, because a session's generator gives each run, not each node, its sequence only where a
//          seed is fixed, and ONNX promises no order between nodes. Idempotent: nodes are visited from the last to the
//          first, so whole chains go at once.
// Numerics none.
#include "converter/passes/simplify/dead_code.h"

#include <iterator>

namespace vireo::passes {
namespace {

// Operators each of whose outputs may be missing while another is wanted.
bool is_free_choice(Op op) { return op == Op::kLSTM || op == Op::kGRU || op == Op::kRNN; }
// Operators that compute their further outputs only where they are wanted.
bool has_extras(Op op) { return op == Op::kMaxPool || op == Op::kLayerNormalization || op == Op::kTopK; }

// Outputs that cost memory, and maybe time, for nobody.
void drop_outputs(ir::Graph& g, ir::Node& n, PassLog& log) {
  const size_t first = is_free_choice(n.op) ? 0 : has_extras(n.op) ? 1 : n.outputs.size();
  for (size_t i = first; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == nullptr || !n.outputs[i]->unused()) continue;
    g.drop_output(&n, i);
    log.changed();
  }
  while (n.outputs.back() == nullptr) n.outputs.pop_back();
}

void run_dead_code(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().end(); it != g.nodes().begin();) {
    ir::Node& n = *std::prev(it);
    bool dead = true;
    for (const ir::Value* v : n.outputs) dead = dead && (v == nullptr || v->unused());
    if (!dead) {
      drop_outputs(g, n, log);
      --it;
      continue;
    }
    g.remove(&n);
    log.changed();
  }
  g.drop_unused_values();
}

}  // namespace

const Pass kDeadCode = {"dead_code", run_dead_code};

}  // namespace vireo::passes

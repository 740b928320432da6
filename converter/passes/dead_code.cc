// Before   y = f(x); z = g(x), z unused
// After    y = f(x)
// Fires    no output has a use. Random nodes go too: what they draw is theirs alone, because a session's generator
// gives each
//          run, not each node, its sequence only where a seed is fixed, and ONNX promises no order between nodes.
//          Idempotent: nodes are visited from the last to the first, so whole chains go at once.
// Numerics none.
#include "converter/passes/dead_code.h"

#include <iterator>

namespace vireo::passes {
namespace {

void run(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().end(); it != g.nodes().begin();) {
    ir::Node& n = *std::prev(it);
    bool dead = true;
    for (const ir::Value* v : n.outputs) dead = dead && (v == nullptr || v->unused());
    if (!dead) {
      --it;
      continue;
    }
    g.remove(&n);
    log.changed();
  }
  g.drop_unused_values();
}

}  // namespace

const Pass kDeadCode = {"dead_code", run};

}  // namespace vireo::passes

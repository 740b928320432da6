// Keys and values that are joined with cached ones are joined by the attention that reads them.
// Before   K = Concat(past_k, k), V = Concat(past_v, v) along the keys;  Attention(q, K, V, mask)
// After    y, K, V = Attention(q, k, v, mask, past_k, past_v)
// Fires    both are joined, with as many cached keys as values; what else takes K or V are outputs of the graph, or
//          Shapes from which a mask of this attention alone is made that is its causal form, which then needs no mask;
//          no window, no lengths and not causal: cached keys would move the positions that these count.
// Numerics none: the operator's present outputs are those Concats.
// Cost     the same bytes are copied; keys and values of this call may then be read where the projections wrote them
//          (pack_attention), and a runtime that knows where its cache lies need not copy the past.
// Bound    removes two Concats.        Idempotent.
// Source   ONNX opset 23 "Attention".
#include "converter/passes/recognise/join_cache.h"

#include <algorithm>

#include "converter/passes/recognise/recognise_causal.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/concat/concat_generated.h"

namespace vireo::passes {
namespace {

// The Concat of two along the keys that makes v; null: it is made otherwise.
ir::Node* joined(const ir::Value* v) {
  ir::Node* n = maker(v, Op::kConcat);
  if (n == nullptr || n->inputs.size() != 2 || v->type.shape.rank != 4) return nullptr;
  const int axis = n->attributes<attrs::Concat>().axis();
  return axis == 2 || axis == -2 ? n : nullptr;
}

// All that is computed from `v` ends in the mask of `n`, and something is.
bool makes_mask(const ir::Value* v, const ir::Node& n, int depth = 0) {
  if (v == nullptr || v->output_uses != 0 || v->uses.empty() || depth > 24) return false;
  return std::all_of(v->uses.begin(), v->uses.end(), [&](const ir::Use& u) {
    if (u.node == &n) return u.input == 3;
    return std::all_of(u.node->outputs.begin(), u.node->outputs.end(),
                       [&](const ir::Value* out) { return makes_mask(out, n, depth + 1); });
  });
}

// Besides `n`, joined keys or values are used by Shapes for its mask alone.
bool measured_for_mask(const ir::Value* joined, const ir::Node& n) {
  return std::all_of(joined->uses.begin(), joined->uses.end(), [&](const ir::Use& u) {
    return u.node == &n || (u.node->op == Op::kShape && makes_mask(u.node->out(), n));
  });
}

const char* rewrite_join_cache(ir::Graph& g, ir::Node& n) {
  const auto& a = n.attributes<attrs::Attention>();
  ir::Node *k = joined(n.in(1)), *v = joined(n.in(2));
  if (k == nullptr || v == nullptr || k == v) return "keys and values are not both joined with cached ones";
  if (a.causal() || a.left_window() >= 0 || a.right_window() >= 0 || n.in(6) != nullptr)
    return "cached keys would move the positions that it counts";
  if (k->in(0)->type.shape[2] != v->in(0)->type.shape[2]) return "there are not as many cached keys as values";
  ir::Value *mask = n.in(3), *unmasked = nullptr;
  if (n.in(1)->uses.size() != 1 || n.in(2)->uses.size() != 1) {
    const bool for_mask = mask != nullptr && measured_for_mask(n.in(1), n) && measured_for_mask(n.in(2), n) &&
                          refuse_causal(g, n, k->in(0)->type.shape[2], n.in(1)->type.shape[2]) == nullptr;
    if (!for_mask) return "joined keys or values are used elsewhere";
    unmasked = mask;
    mask = nullptr;
  }
  for (size_t o = 1; o < n.outputs.size(); ++o) {
    if (n.out(o) != nullptr) return "its other outputs are wanted";
  }
  attrs::AttentionT wanted;
  a.UnPackTo(&wanted);
  wanted.causal = unmasked != nullptr;
  ir::Node* one = g.add_node(Op::kAttention, pack<attrs::Attention>(wanted),
                             {n.in(0), k->in(1), v->in(1), mask, k->in(0), v->in(0)}, 3, &n);
  one->name = n.name;
  std::string message;
  if (!ok(ir::infer_node(g, one, nullptr, &message)) || one->out(1)->type != n.in(1)->type ||
      one->out(2)->type != n.in(2)->type || one->out(0)->type != n.out()->type) {
    g.remove(one);
    return "its parts do not make an attention with cached keys";
  }
  const ir::Value* from[] = {n.out(), n.in(1), n.in(2)};
  for (size_t o = 0; o < 3; ++o) {
    one->out(o)->name = from[o]->name;
    one->out(o)->contents = from[o]->contents;
  }
  // The old attention goes first, so that the Concats have no user but the graph's outputs.
  ir::Value *joined_keys = n.in(1), *joined_values = n.in(2);
  g.replace_uses(n.out(), one->out());
  g.remove(&n);
  g.replace_uses(joined_keys, one->out(1));
  g.replace_uses(joined_values, one->out(2));
  g.remove(k);
  g.remove(v);
  if (unmasked != nullptr && unmasked->producer != nullptr) remove_unused(g, unmasked->producer);
  return nullptr;
}

void run_join_cache(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> nodes;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kAttention && n.in(4) == nullptr && (joined(n.in(1)) != nullptr || joined(n.in(2)) != nullptr))
      nodes.push_back(&n);
  }
  for (ir::Node* n : nodes) {
    if (const char* refused = rewrite_join_cache(g, *n)) {
      log.reject(*n, refused);
    } else {
      log.changed();
    }
  }
}

}  // namespace

const Pass kJoinCache = {"join_cache", run_join_cache};

}  // namespace vireo::passes

// An attention whose mask only hides later keys does so by itself.
// Before   Attention(q, k, v, mask, past..)     mask: bool, or 0 where query i may see key j and <= -1e30 elsewhere
// After    Attention(q, k, v, past..; causal)
// Fires    the mask is shown to be j <= i + P for all queries and keys, P the cached keys that the operator has (0
//          without any): from comparisons of positions, triangles and constants, whose extents may be open
//          (causal_mask.cc has the forms). The operator has no lengths and tells no scores.
// Numerics a hidden key weighs 0 either way: query i sees key 0 at least, and e^(low + s - top) is 0 for scores |s| <
//          1e22. What is hidden may be NaN or infinite, as behind a mask of choices.
// Cost     half of the products are not computed, and no mask of queries times keys is made.
// Bound    removes an operand, and what made it where nothing else wants it.        Idempotent.
// Source   ONNX opset 23 to 25 "Attention": is_causal and its offset.
#include "converter/passes/recognise/recognise_causal.h"

#include "converter/passes/recognise/causal_mask.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/attention/attention_generated.h"

namespace vireo::passes {
namespace {

constexpr size_t kMask = 3, kPastKey = 4, kLengths = 6;

int tokens_of(const ir::Node& n) { return n.in(0)->type.shape.rank == 3 ? 1 : 2; }

bool rewrite_recognise_causal(ir::Graph& g, ir::Node& n) {
  attrs::AttentionT a;
  n.attributes<attrs::Attention>().UnPackTo(&a);
  a.causal = true;
  std::vector<ir::Value*> in = n.inputs;
  in[kMask] = nullptr;
  while (in.back() == nullptr) in.pop_back();
  ir::Node* one = g.add_node(Op::kAttention, pack<attrs::Attention>(a), in, n.outputs.size(), &n);
  one->name = n.name;
  std::string message;
  if (!ok(ir::infer_node(g, one, nullptr, &message))) {
    g.remove(one);
    return false;
  }
  for (size_t o = 0; o < n.outputs.size(); ++o) {
    if (n.out(o) == nullptr) {
      g.drop_output(one, o);
      continue;
    }
    one->out(o)->name = n.out(o)->name;
    one->out(o)->contents = n.out(o)->contents;
    g.replace_uses(n.out(o), one->out(o));
  }
  remove_unused(g, &n);
  return true;
}

void run_recognise_causal(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> nodes;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kAttention && n.in(kMask) != nullptr) nodes.push_back(&n);
  }
  for (ir::Node* n : nodes) {
    const Dim cached = n->in(kPastKey) == nullptr ? 0 : n->in(kPastKey)->type.shape[2];
    const Dim keys = g.dims().add(cached, n->in(1)->type.shape[tokens_of(*n)]);
    const char* refused = refuse_causal(g, *n, cached, keys);
    if (refused == nullptr && rewrite_recognise_causal(g, *n)) {
      log.changed();
    } else if (refused != nullptr && *refused != '\0') {
      log.reject(*n, refused);
    }
  }
}

}  // namespace

const char* refuse_causal(ir::Graph& g, const ir::Node& n, Dim cached, Dim keys) {
  const ir::Value* mask = n.in(kMask);
  const Shape& s = mask->type.shape;
  CausalMask m;
  const char* why = nullptr;
  if (s.rank < 2) return "";
  if (!causal_mask(g, mask, &m, &why)) return why == nullptr ? "" : why;
  const bool chosen = mask->type.dtype == DType::kBool;
  if (chosen ? m.seen != 1 || m.masked != 0 : m.seen != 0) return "";
  if (!chosen && !(m.masked <= -1e30)) return "its mask adds a number that lets later keys through";
  if (n.in(kLengths) != nullptr) return "lengths move the positions that it counts";
  if (n.out(3) != nullptr) return "its scores are told";
  if (s[s.rank - 2] != n.in(0)->type.shape[tokens_of(n)] || s[s.rank - 1] != keys)
    return "its mask is not shown to list every query and key";
  if (m.diagonal != cached) return "its mask begins at another position than the operator's own";
  return nullptr;
}

const Pass kRecogniseCausal = {"recognise_causal", run_recognise_causal};

}  // namespace vireo::passes

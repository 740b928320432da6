// Attention that exporters spell out becomes the one operator that it is.
// Before   MatMul(Softmax(MatMul(q, Transpose(k)) * scale + mask), v)
// After    Attention(q, k, v, mask; scale)
//          The scale as Mul or Div by a number, on the scores, on q, on k or on several of them, also in front of their
//          Reshape and Transpose. The mask as a sum, or as Where(may, scores, low) with low <= -1e30, which becomes a
//          mask Where(may, 0, low). A soft cap c tanh(s / c) between the scaled scores and the mask. Rank 3 ([B H, S,
//          D]) and rank 4 ([B, H, S, D]). Grouped queries: keys and values repeated by Unsqueeze, Expand, Reshape; or
//          queries of a group as further rows, [B, Hkv, G S, D], with scores that a Reshape parts before the mask.
//          Between: a Cast of 16-bit scores to float32 and back behind Softmax, and Where(IsNaN(p), 0, p) behind it.
// Fires    nothing inside is used elsewhere; numbers constant, of float64 such as float32 holds; the mask broadcasts to
//          the scores and lists every key.
// Numerics the same sums; a factor on q or k moves onto the scores: each score rounds a constant number of times less
//          or more, |ds| <= 3 u |s|, u = 2^-24. A query whose keys are all masked with -inf gives 0 where the parts
//          give NaN, and so adds nothing of a masked key whose score is NaN or +inf, which a mask that is added would
//          let through as NaN, nor one whose value is infinite, which 0 times makes NaN. (Where(IsNaN(p), 0, p) gives
//          0, too; other scores that are NaN stay NaN.) Where(may, s, low) is low and 0 + low + s is within |s| of it:
//          equal after rounding while |s| < 1e22. With a cap, scale is what stands in front of Tanh times c, rounded
//          once; tanh hands on what its argument moved, or less.
// Bound    each rewrite removes two MatMul and adds none.        Idempotent.
// Source   Vaswani et al. 2017, arXiv:1706.03762; Ainslie et al. 2023, arXiv:2305.13245; ONNX opset 23 "Attention".
#include "converter/passes/recognise/recognise_attention.h"

#include <cmath>

#include "converter/passes/recognise/attention_operands.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"

namespace vireo::passes {
namespace {

// The operator in front of `last`, with what has to be made for it; null with a reason.
ir::Node* build(ir::Graph& g, const AttentionMatch& m, ir::Node* last, const char** refused) {
  ir::Value* mask = nullptr;
  *refused = mask_of(g, m, last, &mask);
  if (*refused != nullptr) return nullptr;
  ir::Value *q = m.parted != nullptr ? m.q->producer->in(0) : m.q, *k = keys_of(g, m.k_turned, last), *v = m.v;
  *refused = "the keys are not transposed";
  if (k == nullptr) return nullptr;
  if (m.parted == nullptr) {
    ir::Value *k_once = repeated_heads(k), *v_once = repeated_heads(v);
    if (k_once != nullptr && v_once != nullptr && k_once->type.shape[1] == v_once->type.shape[1]) {
      k = k_once;
      v = v_once;
    }
  }
  *refused = "its parts do not make an attention";
  attrs::AttentionT a;
  a.scale = static_cast<float>(m.scale);
  a.softcap = static_cast<float>(m.softcap);
  std::vector<ir::Value*> in{of_rank_4(g, q, 1, last), of_rank_4(g, k, 1, last), of_rank_4(g, v, 1, last)};
  if (mask != nullptr) in.push_back(mask);
  return add_node(g, Op::kAttention, pack<attrs::Attention>(a), std::move(in), *last, last);
}

const char* rewrite_recognise_attention(ir::Graph& g, AttentionMatch m, std::set<const ir::Node*>* removed) {
  const Shape& scores = m.scores;
  ir::Node* last = m.end;
  if (m.parted != nullptr) {
    const ir::Node* rows = maker(m.q, Op::kReshape);
    ir::Node* heads = only_user(last->out());
    if (rows == nullptr || rows->in(0)->type.shape.rank != 4 || heads == nullptr || heads->op != Op::kReshape)
      return "queries of a group are rows in another way";
    const Shape &q = rows->in(0)->type.shape, &y = heads->out()->type.shape, &r = m.q->type.shape;
    const bool fits = scores[0] == q[0] && scores[3] == q[2] && r[0] == q[0] && r[3] == q[3] && r[1] == scores[1] &&
                      !is_symbolic(scores[1]) && !is_symbolic(scores[2]) && q[1] == scores[1] * scores[2] &&
                      y.rank == 4 && y[0] == q[0] && y[1] == q[1] && y[2] == q[2] && y[3] == m.v->type.shape[3];
    if (!fits) return "queries of a group are rows in another way";
    m.inside.push_back(last);
    last = heads;
  }
  if (!enclosed(m.inside, last)) return "an inner value is used elsewhere";
  const DType t = m.q->type.dtype;
  if (!held(m.scale * factor_of(m.q) * factor_of(m.k_turned), t) || !held(m.softcap, t))
    return "its scale or soft cap is no float32";
  const char* refused = "";
  double number = 0;
  // Once for the answer, before anything is changed; then with the factors of q and k in its own. Keys are probed
  // without their factor, which would hide the Transpose.
  AttentionMatch probed = m;
  if (ir::Value* under = m.k_turned->one_use() ? scaled(m.k_turned, &number) : nullptr) probed.k_turned = under;
  ir::Node* probe = build(g, probed, last, &refused);
  if (probe == nullptr) return refused;
  remove_unused(g, probe);
  take_factor(g, &m.q, &m, removed);
  take_factor(g, &m.k_turned, &m, removed);
  ir::Node* one = build(g, m, last, &refused);
  if (one == nullptr) return refused;
  ir::Value* y = one->out();
  if (last->out()->type.shape.rank == 3) {
    const Shape axis = {1, {1}};
    ir::Value* axes = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, axis, {1}));
    y = add_node(g, Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {y, axes}, *last, last)->out();
  }
  y->name = last->out()->name;
  g.replace_uses(last->out(), y);
  remove_unused(g, last, removed);
  return nullptr;
}

void run_recognise_attention(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> centres;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kSoftmax) centres.push_back(&n);
  }
  std::set<const ir::Node*> removed;
  for (ir::Node* n : centres) {
    if (removed.count(n) != 0) continue;
    const AttentionMatch m = match_attention(*n);
    if (m.end == nullptr) continue;
    const char* refused = m.refused != nullptr ? m.refused : rewrite_recognise_attention(g, m, &removed);
    if (refused != nullptr) {
      log.reject(*n, refused);
    } else {
      log.changed();
    }
  }
}

}  // namespace

const Pass kRecogniseAttention = {"recognise_attention", run_recognise_attention};

}  // namespace vireo::passes

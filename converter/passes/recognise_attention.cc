// Attention that exporters spell out becomes the one operator that it is.
// Before   MatMul(Softmax(MatMul(q, Transpose(k)) * scale + mask), v)              After  Attention(q, k, v, mask;
// scale)
//          The scale as Mul or Div by a number, on the scores, on q, on k or on several of them, also in front of their
//          Reshape and Transpose. The mask as a sum, or as Where(may, scores, low) with low <= -1e30, which becomes a
//          mask Where(may, 0, low). Rank 3 ([B H, S, D]) and rank 4 ([B, H, S, D]). Grouped queries: keys and values
//          repeated by Unsqueeze, Expand, Reshape; or queries of a group as further rows, [B, Hkv, G S, D], with scores
//          that a Reshape parts before the mask. Between: a Cast of 16-bit scores to float32 and back behind Softmax,
//          and Where(IsNaN(p), 0, p) behind it. A constant mask of 0 up to the diagonal and at most -1e30 behind it
//          becomes the operator's causal form, which computes half as much.
// Fires    nothing inside is used elsewhere; numbers constant; the mask broadcasts to the scores and lists every key.
// Numerics the same sums; a factor on q or k moves onto the scores: each score rounds a constant number of times less
//          or more, |ds| <= 3 u |s|, u = 2^-24. A query whose keys are all masked with -inf gives 0 where the parts
//          give NaN, and so adds nothing of a masked key whose score is NaN or +inf, which a mask that is added would
//          let through as NaN, nor one whose value is infinite, which 0 times makes NaN. (Where(IsNaN(p), 0, p) gives
//          0, too; other scores that are NaN stay NaN.) Where(may, s, low) is low and 0 + low + s is within |s| of it:
//          equal after rounding while |s| < 1e22.
// Bound    each rewrite removes two MatMul and adds none.        Idempotent.
// Source   Vaswani et al. 2017, arXiv:1706.03762; Ainslie et al. 2023, arXiv:2305.13245; ONNX opset 23 "Attention".
#include "converter/passes/recognise_attention.h"

#include <cmath>

#include "converter/passes/match.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::passes {
namespace {

struct Match {
  ir::Value *q = nullptr, *k_turned = nullptr, *v = nullptr;
  ir::Value* mask = nullptr;   // as it is added, before its rank is that of the scores
  ir::Value* may = nullptr;    // of a Where; `low` is put where it is false
  bool may_is_masked = false;  // Where(masked, low, scores): the other way round
  ir::Value* low = nullptr;
  double scale = 1;
  Shape scores;                // as Softmax sees them
  bool widened = false;        // 16-bit scores are float32 for Softmax
  ir::Node* end = nullptr;     // whose output is the result
  ir::Node* parted = nullptr;  // the Reshape of scores of grouped queries
  std::vector<ir::Node*> inside;
  const char* refused = nullptr;
};

// v = number * x: x.
ir::Value* scaled(const ir::Value* v, double* number) {
  ir::Node* n = v == nullptr ? nullptr : v->producer;
  if (n == nullptr || n->inputs.size() != 2) return nullptr;
  ir::Value* x = nullptr;
  if (n->op == Op::kMul) {
    x = is_scalar(n->in(1), number) ? n->in(0) : is_scalar(n->in(0), number) ? n->in(1) : nullptr;
  } else if (n->op == Op::kDiv && is_scalar(n->in(1), number) && *number != 0) {
    *number = 1 / *number;
    x = n->in(0);
  }
  return x != nullptr && x->type == v->type && std::isfinite(*number) ? x : nullptr;
}

// A mask between what `above` and `below` have seen.
void refuse_mask(const Match& above, Match* below) {
  if (below->mask != nullptr || below->may != nullptr) below->refused = "two masks";
  if (above.scale != 1) below->refused = "a factor behind the mask";
  if (above.parted != nullptr) below->refused = "the mask differs within a group";
}

// From scores, as Softmax sees them, up to the product of q and k.
bool up_to_product(ir::Value* v, Match* m) {
  ir::Node* n = v->producer;
  if (n == nullptr || !v->one_use()) return false;
  double number = 0;
  if (ir::Value* x = scaled(v, &number)) {
    Match tried = *m;
    tried.inside.push_back(n);
    tried.scale *= number;
    if (!up_to_product(x, &tried)) return false;
    *m = tried;
    return true;
  }
  switch (n->op) {
    case Op::kMatMul:
      m->inside.push_back(n);
      m->q = n->in(0);
      m->k_turned = n->in(1);
      return true;
    case Op::kCast: {
      const DType from = n->in(0)->type.dtype;
      // The operator computes in float32; float64 scores would lose digits.
      if (!dtype_is_float(from) || dtype_bits(from) != 16 || v->type.dtype != DType::kF32) return false;
      m->inside.push_back(n);
      m->widened = true;
      return up_to_product(n->in(0), m);
    }
    case Op::kReshape:
      if (m->parted != nullptr || v->type.shape.rank != 5 || n->in(0)->type.shape.rank != 4) return false;
      m->parted = n;
      m->inside.push_back(n);
      return up_to_product(n->in(0), m);
    case Op::kAdd:
      for (size_t i = 0; i < 2; ++i) {
        if (n->in(i)->type != v->type) continue;
        Match tried = *m;
        tried.inside.push_back(n);
        if (!up_to_product(n->in(i), &tried)) continue;
        refuse_mask(*m, &tried);
        tried.mask = n->in(1 - i);
        *m = tried;
        return true;
      }
      return false;
    case Op::kWhere:
      for (size_t i = 1; i < 3; ++i) {
        double low = 0;
        if (n->in(i)->type != v->type || !is_scalar(n->in(3 - i), &low)) continue;
        Match tried = *m;
        tried.inside.push_back(n);
        if (!up_to_product(n->in(i), &tried)) continue;
        refuse_mask(*m, &tried);
        if (!(low <= -1e30)) tried.refused = "a masked score is replaced by a number that a sum does not give";
        tried.may = n->in(0);
        tried.may_is_masked = i == 2;
        tried.low = n->in(3 - i);
        *m = tried;
        return true;
      }
      return false;
    default:
      return false;
  }
}

// Where(IsNaN(p), 0, p) of a Softmax's p: the Where, and all between in `inside`. Else null.
ir::Node* nan_guard(const ir::Value* p, std::vector<ir::Node*>* inside) {
  if (p->uses.size() != 2 || p->output_uses != 0) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    ir::Node *test = p->uses[i].node, *choice = p->uses[1 - i].node;
    if (test->op != Op::kIsNaN || choice->op != Op::kWhere || choice->in(0) != test->out() || choice->in(2) != p)
      continue;
    if (!is_number(choice->in(1), 0) || !test->out()->one_use() || choice->out()->type != p->type) continue;
    inside->push_back(test);
    inside->push_back(choice);
    return choice;
  }
  return nullptr;
}

// A product of what `softmax` makes: it looks like attention, so that a reader wants to hear why it is none.
bool weighs(const ir::Node& softmax) {
  for (const ir::Use& u : softmax.out()->uses) {
    if (u.node->op == Op::kMatMul && u.input == 0) return true;
  }
  return false;
}

Match match(ir::Node& softmax) {
  Match m;
  m.scores = softmax.out()->type.shape;
  const int rank = m.scores.rank;
  const int axis = softmax.attributes<attrs::Softmax>().axis();
  const auto refuse = [&](const char* why) {
    Match none;
    if (weighs(softmax)) {
      none.end = &softmax;
      none.refused = why;
    }
    return none;
  };
  if (!dtype_is_float(softmax.out()->type.dtype)) return {};
  if (rank < 3 || rank > 5) return refuse("q, k and v are not of one rank, 3 or 4");
  if (axis != -1 && axis != rank - 1) return refuse("Softmax is not over the keys");
  if (!up_to_product(softmax.in(0), &m))
    return refuse("its scores are not one product with factors and a mask, used here alone");
  m.inside.push_back(&softmax);
  const ir::Value* weights = softmax.out();
  if (const ir::Node* guard = nan_guard(weights, &m.inside)) weights = guard->out();
  ir::Node* after = only_user(weights);
  if (after == nullptr) return refuse("probabilities are used elsewhere");
  if (m.widened) {
    if (after->op != Op::kCast || after->out()->type.dtype != m.q->type.dtype) return {};
    m.inside.push_back(after);
    weights = after->out();
    after = only_user(weights);
  }
  if ((m.parted != nullptr) != (rank == 5)) return {};
  if (m.parted != nullptr && after != nullptr) {
    if (after->op != Op::kReshape || after->out()->type != m.parted->in(0)->type) return {};
    m.inside.push_back(after);
    weights = after->out();
    after = only_user(weights);
  }
  if (after == nullptr || after->op != Op::kMatMul || weights != after->in(0)) return {};
  m.v = after->in(1);
  m.end = after;
  if (m.refused != nullptr) return m;
  const int r = m.q->type.shape.rank;
  if ((r != 3 && r != 4) || m.k_turned->type.shape.rank != r || m.v->type.shape.rank != r) {
    m.refused = "q, k and v are not of one rank, 3 or 4";
    return m;
  }
  for (int i = 0; i < r - 2; ++i) {
    if (m.q->type.shape[i] != m.v->type.shape[i] || m.q->type.shape[i] != m.k_turned->type.shape[i])
      m.refused = "q, k and v broadcast over batches or heads";
  }
  return m;
}

// A constant [queries, keys] that lets query i see keys 0 to i and no other, for as many of both.
bool is_causal(const Match& m) {
  const ir::Value* c = m.may != nullptr ? m.may : m.mask;
  if (c == nullptr || c->constant == nullptr || c->type.shape.rank < 2 || m.parted != nullptr) return false;
  const Shape& s = c->type.shape;
  const int64_t n = s[s.rank - 1];
  if (n < 2 || s[s.rank - 2] != n || m.scores[m.scores.rank - 2] != n || m.scores[m.scores.rank - 1] != n ||
      c->constant->tensor.count() != n * n) {
    return false;
  }
  if (m.may != nullptr) {
    const uint8_t* may = c->constant->tensor.bytes.data();
    for (int64_t i = 0; i < n * n; ++i) {
      if (((may[i] != 0) != m.may_is_masked) != (i % n <= i / n)) return false;
    }
    return true;
  }
  if (!dtype_is_float(c->type.dtype)) return false;
  const std::vector<double> added = reals(*c->constant);
  for (int64_t i = 0; i < n * n; ++i) {
    const double a = added[static_cast<size_t>(i)];
    if (i % n <= i / n ? a != 0 : !(a <= -1e30)) return false;
  }
  return true;
}

// The factor on `v` behind at most a Reshape and Transposes, each used once; null: there is none.
ir::Node* factor_on(ir::Value* v, double* number) {
  for (int depth = 0; depth < 4 && v != nullptr && v->producer != nullptr && v->one_use(); ++depth) {
    if (scaled(v, number) != nullptr) return v->producer;
    const Op op = v->producer->op;
    if (op != Op::kTranspose && op != Op::kReshape && op != Op::kUnsqueeze && op != Op::kSqueeze) return nullptr;
    v = v->producer->in(0);
  }
  return nullptr;
}

// Factors on q or k go to the scores.
void take_factor(ir::Graph& g, ir::Value** v, Match* m, std::set<const ir::Node*>* removed) {
  double number = 0;
  ir::Node* n = factor_on(*v, &number);
  if (n == nullptr) return;
  m->scale *= number;
  ir::Value* x = is_scalar(n->in(0), &number) ? n->in(1) : n->in(0);
  if (n->out() == *v) *v = x;
  g.replace_uses(n->out(), x);
  remove_unused(g, n, removed);
}

// v = heads repeated in groups, [B, H, T, D] from [B, Hkv, T, D] by Unsqueeze, Expand, Reshape: what is repeated, or
// null.
ir::Value* repeated(const ir::Value* v) {
  const ir::Node* join = maker(v, Op::kReshape);
  const ir::Node* spread = join == nullptr ? nullptr : maker(join->in(0), Op::kExpand);
  const ir::Node* part = spread == nullptr ? nullptr : spread->in(0)->producer;
  if (part == nullptr || (part->op != Op::kUnsqueeze && part->op != Op::kReshape)) return nullptr;
  ir::Value* x = part->in(0);
  const Shape &from = x->type.shape, &one = part->out()->type.shape, &all = spread->out()->type.shape;
  if (from.rank != 4 || one.rank != 5 || all.rank != 5 || v->type.shape.rank != 4) return nullptr;
  const bool at_2 = one[0] == from[0] && one[1] == from[1] && one[2] == 1 && one[3] == from[2] && one[4] == from[3];
  const bool spread_2 = all[0] == one[0] && all[1] == one[1] && all[3] == one[3] && all[4] == one[4];
  const Shape& y = v->type.shape;
  const bool numbers = !is_symbolic(all[1]) && !is_symbolic(all[2]);
  const bool joined = numbers && y[0] == all[0] && y[1] == all[1] * all[2] && y[2] == all[3] && y[3] == all[4];
  return at_2 && spread_2 && joined ? x : nullptr;
}

// [B, H, S, D] from what is [B H, S, D] or has that rank already.
ir::Value* of_rank_4(ir::Graph& g, ir::Value* v, int at, ir::Node* end) {
  if (v->type.shape.rank == 4) return v;
  const Shape one = {1, {1}};
  ir::Value* axes = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, one, {at}));
  ir::Node* n = add_node(g, Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {v, axes}, *end, end);
  return n == nullptr ? nullptr : n->out();
}

// The mask as Attention takes it, or null with a reason: at most rank 4, as many keys as there are.
ir::Value* fitted_mask(ir::Graph& g, ir::Value* mask, const Match& m, const Shape& scores, ir::Node* end,
                       const char** refused) {
  const Shape s = mask->type.shape;
  *refused = "the mask does not list every key";
  if (s.rank < 1 || s[s.rank - 1] != scores[scores.rank - 1]) return nullptr;
  if (m.parted != nullptr && s.rank == 5) {
    *refused = "the mask differs within a group";
    if (s[1] != 1 || s[2] != 1) return nullptr;
    const Shape four = {4, {s[0], 1, s[3], s[4]}};
    Shape axes = {1, {1}};
    ir::Value* squeezed = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, axes, {2}));
    ir::Node* n = add_node(g, Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {mask, squeezed}, *end, end);
    return n == nullptr || n->out()->type.shape != four ? nullptr : n->out();
  }
  *refused = "the mask is of another rank";
  if (m.parted != nullptr && s.rank > 2) return nullptr;
  if (m.q->type.shape.rank == 3 && s.rank == 3) return of_rank_4(g, mask, 1, end);
  return s.rank <= 4 ? mask : nullptr;
}

// Where(may, 0, low), or the other way round.
ir::Value* mask_of_choice(ir::Graph& g, const Match& m, ir::Node* end) {
  const ir::ConstantPtr zero = from_reals(m.low->type.dtype, {}, {0});
  ir::Value* none = g.add_constant("", zero);
  std::vector<ir::Value*> in{m.may, m.may_is_masked ? m.low : none, m.may_is_masked ? none : m.low};
  ir::Node* n = add_node(g, Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), in, *end, end);
  return n == nullptr ? nullptr : n->out();
}

// The keys, rows last but one, from their turned form; null: they are not made by a Transpose.
ir::Value* keys_of(ir::Graph& g, ir::Value* turned, ir::Node* end) {
  const ir::Node* t = maker(turned, Op::kTranspose);
  if (t == nullptr) return nullptr;
  std::vector<int> perm = permutation(*t);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  bool moves = false;
  for (size_t i = 0; i < perm.size(); ++i) moves = moves || perm[i] != static_cast<int>(i);
  if (!moves) return t->in(0);
  ir::Node* n = add_transpose(g, t->in(0), perm, *end, end);
  return n == nullptr ? nullptr : n->out();
}

// The operator in front of `last`, with what has to be made for it; null with a reason.
ir::Node* build(ir::Graph& g, const Match& m, ir::Node* last, const char** refused) {
  const bool causal = is_causal(m);
  ir::Value* mask = causal ? nullptr : m.may != nullptr ? mask_of_choice(g, m, last) : m.mask;
  if (mask != nullptr) {
    ir::Value* fitted = fitted_mask(g, mask, m, m.scores, last, refused);
    if (fitted == nullptr) {
      if (m.may != nullptr) g.remove(mask->producer);
      return nullptr;
    }
    mask = fitted;
  }
  ir::Value *q = m.parted != nullptr ? m.q->producer->in(0) : m.q, *k = keys_of(g, m.k_turned, last), *v = m.v;
  *refused = "the keys are not transposed";
  if (k == nullptr) return nullptr;
  if (m.parted == nullptr) {
    ir::Value *k_once = repeated(k), *v_once = repeated(v);
    if (k_once != nullptr && v_once != nullptr && k_once->type.shape[1] == v_once->type.shape[1]) {
      k = k_once;
      v = v_once;
    }
  }
  *refused = "its parts do not make an attention";
  attrs::AttentionT a;
  a.scale = static_cast<float>(m.scale);
  a.causal = causal;
  std::vector<ir::Value*> in{of_rank_4(g, q, 1, last), of_rank_4(g, k, 1, last), of_rank_4(g, v, 1, last)};
  if (mask != nullptr) in.push_back(mask);
  return add_node(g, Op::kAttention, pack<attrs::Attention>(a), std::move(in), *last, last);
}

const char* rewrite(ir::Graph& g, Match m, std::set<const ir::Node*>* removed) {
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
  const char* refused = "";
  double number = 0;
  // Once for the answer, before anything is changed; then with the factors of q and k in its own. Keys are probed
  // without their factor, which would hide the Transpose.
  Match probed = m;
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

void run(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> centres;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kSoftmax) centres.push_back(&n);
  }
  std::set<const ir::Node*> removed;
  for (ir::Node* n : centres) {
    if (removed.count(n) != 0) continue;
    const Match m = match(*n);
    if (m.end == nullptr) continue;
    const char* refused = m.refused != nullptr ? m.refused : rewrite(g, m, &removed);
    if (refused != nullptr) {
      log.reject(*n, refused);
    } else {
      log.changed();
    }
  }
}

}  // namespace

const Pass kRecogniseAttention = {"recognise_attention", run};

}  // namespace vireo::passes

#include "converter/passes/recognise/attention_scores.h"

#include <cmath>

#include "converter/passes/shared/match.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo::passes {
namespace {

// A mask between what `above` and `below` have seen.
void refuse_mask(const AttentionMatch& above, AttentionMatch* below) {
  if (below->mask != nullptr || below->may != nullptr) below->refused = "two masks";
  if (above.scale != 1) below->refused = "a factor behind the mask";
  if (above.softcap != 0) below->refused = "the mask is under the soft cap";
  if (above.parted != nullptr) below->refused = "the mask differs within a group";
}

// A float32 that the operator reads as a cap: 0 would mean none.
bool is_cap(double c) { return std::isfinite(static_cast<float>(c)) && static_cast<float>(c) > 0; }

// From scores, as Softmax sees them, up to the product of q and k.
bool up_to_product(ir::Value* v, AttentionMatch* m) {
  ir::Node* n = v->producer;
  if (n == nullptr || !v->one_use()) return false;
  double number = 0;
  if (ir::Value* x = scaled(v, &number)) {
    AttentionMatch tried = *m;
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
    case Op::kTanh: {
      // c tanh(z / c): what is gathered so far is c, what follows is the scale over c.
      AttentionMatch tried = *m;
      tried.inside.push_back(n);
      tried.softcap = m->scale;
      if (!up_to_product(n->in(0), &tried)) return false;
      if (m->softcap != 0) tried.refused = "two soft caps";
      if (!is_cap(m->scale)) tried.refused = "the soft cap is not a positive number";
      *m = tried;
      return true;
    }
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
        AttentionMatch tried = *m;
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
        AttentionMatch tried = *m;
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

}  // namespace

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

AttentionMatch match_attention(ir::Node& softmax) {
  AttentionMatch m;
  m.scores = softmax.out()->type.shape;
  const int rank = m.scores.rank;
  const int axis = softmax.attributes<attrs::Softmax>().axis();
  const auto refuse = [&](const char* why) {
    AttentionMatch none;
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

}  // namespace vireo::passes

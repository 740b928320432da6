#include "converter/passes/recognise/attention_operands.h"

#include "converter/passes/shared/match.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::passes {
namespace {

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

// The mask as Attention takes it, or null with a reason: at most rank 4, as many keys as there are.
ir::Value* fitted_mask(ir::Graph& g, ir::Value* mask, const AttentionMatch& m, const Shape& scores, ir::Node* end,
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
ir::Value* mask_of_choice(ir::Graph& g, const AttentionMatch& m, ir::Node* end) {
  const ir::ConstantPtr zero = from_reals(m.low->type.dtype, {}, {0});
  ir::Value* none = g.add_constant("", zero);
  std::vector<ir::Value*> in{m.may, m.may_is_masked ? m.low : none, m.may_is_masked ? none : m.low};
  ir::Node* n = add_node(g, Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), in, *end, end);
  return n == nullptr ? nullptr : n->out();
}

}  // namespace

void take_factor(ir::Graph& g, ir::Value** v, AttentionMatch* m, std::set<const ir::Node*>* removed) {
  double number = 0;
  ir::Node* n = factor_on(*v, &number);
  if (n == nullptr) return;
  m->scale *= number;
  ir::Value* x = is_scalar(n->in(0), &number) ? n->in(1) : n->in(0);
  if (n->out() == *v) *v = x;
  g.replace_uses(n->out(), x);
  remove_unused(g, n, removed);
}

double factor_of(ir::Value* v) {
  double number = 0;
  return factor_on(v, &number) != nullptr ? number : 1;
}

ir::Value* repeated_heads(const ir::Value* v) {
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

ir::Value* of_rank_4(ir::Graph& g, ir::Value* v, int at, ir::Node* end) {
  if (v->type.shape.rank == 4) return v;
  const Shape one = {1, {1}};
  ir::Value* axes = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, one, {at}));
  ir::Node* n = add_node(g, Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {v, axes}, *end, end);
  return n == nullptr ? nullptr : n->out();
}

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

const char* mask_of(ir::Graph& g, const AttentionMatch& m, ir::Node* end, ir::Value** mask) {
  *mask = m.may != nullptr ? mask_of_choice(g, m, end) : m.mask;
  if (*mask == nullptr) return nullptr;
  const char* refused = nullptr;
  ir::Value* fitted = fitted_mask(g, *mask, m, m.scores, end, &refused);
  if (fitted == nullptr && m.may != nullptr) g.remove((*mask)->producer);
  *mask = fitted;
  return fitted == nullptr ? refused : nullptr;
}

}  // namespace vireo::passes

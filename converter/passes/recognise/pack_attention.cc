// Attention reads heads where the projections wrote them, and writes them where the next one reads.
// Before   Transpose(Attention(Transpose(q), Transpose(k), Transpose(v))), each [B, S, H, D] <-> [B, H, S, D]
// After    Reshape(Attention(q, k, v; heads)), each [B, S, H D]
//          q, k, v may also be thirds of one value: its Reshape to [B, S, 3, H, D], Transpose to [3, B, H, S, D], Split
//          and Squeeze (or Gather) become one Split of [B, S, 3 H D]; also where the Split stands in front of the
//          Transposes, along the third axis. A RotaryEmbedding between Transpose and
//          attention, used here alone, turns heads where they lie, too. Cached keys and values stay [B, H, P, D].
// Fires    all four are moved so, heads and their sizes are numbers.
// Numerics none: the same numbers in another order of storage.
// Bound    each rewrite removes the Transpose behind the operator and adds none.        Idempotent.
#include "converter/passes/recognise/pack_attention.h"

#include <map>

#include "converter/passes/shared/match.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

bool swaps_heads(const ir::Node* n) {
  return n != nullptr && n->in(0)->type.shape.rank == 4 && permutation(*n) == std::vector<int>{0, 2, 1, 3};
}

// The Split of [B, S, 3, H, D] that makes `v`, [B, H, S, D], one third each: it drops the axis and swaps heads in
// either order. Null: there is none.
ir::Node* split_of(const ir::Value* v, int64_t* part) {
  const auto drops = [](const ir::Node* n) { return n != nullptr && (n->op == Op::kSqueeze || n->op == Op::kReshape); };
  const ir::Node *n = v->producer, *inner = n == nullptr || n->in(0) == nullptr ? nullptr : n->in(0)->producer;
  if (inner == nullptr) return nullptr;
  const bool dropped_first = n->op == Op::kTranspose && swaps_heads(n) && drops(inner);
  const bool swapped_first =
      drops(n) && inner->op == Op::kTranspose && permutation(*inner) == std::vector<int>{2, 0, 3, 1, 4};
  ir::Node* split = dropped_first || swapped_first ? maker(inner->in(0), Op::kSplit) : nullptr;
  if (split == nullptr || split->outputs.size() != 3) return nullptr;
  const int axis = split->attributes<attrs::Split>().axis();
  const Shape &one = inner->in(0)->type.shape, &x = split->in(0)->type.shape, &own = v->type.shape;
  if (x.rank != 5 || (axis != 2 && axis != -3) || x[2] != 3 || one[2] != 1) return nullptr;
  *part = inner->in(0)->producer_output;
  const bool fits = own.rank == 4 && own[0] == x[0] && own[1] == x[3] && own[2] == x[1] && own[3] == x[4];
  if (!fits || !dropped_first) return fits ? split : nullptr;
  const Shape heads = {4, {x[0], x[1], x[3], x[4]}};
  return inner->out()->type.shape == heads ? split : nullptr;
}

// A third of one value: which, and the node that all thirds come through, by its first operand [B, S, 3, H, D].
ir::Node* third_of(const ir::Value* v, int64_t* part) {
  if (ir::Node* split = split_of(v, part)) return split;
  const ir::Node* n = v->producer;
  if (n == nullptr) return nullptr;
  const ir::Value* turned = nullptr;
  std::vector<int64_t> numbers;
  if (n->op == Op::kGather && n->attributes<attrs::Gather>().axis() == 0 && known_ints(n->in(1), &numbers) &&
      numbers.size() == 1 && n->in(1)->type.shape.rank == 0) {
    turned = n->in(0);
    *part = numbers[0] < 0 ? numbers[0] + 3 : numbers[0];
  } else if (n->op == Op::kSqueeze || n->op == Op::kReshape) {
    const ir::Node* split = maker(n->in(0), Op::kSplit);
    if (split == nullptr || split->attributes<attrs::Split>().axis() != 0 || split->outputs.size() != 3) return nullptr;
    turned = split->in(0);
    *part = n->in(0)->producer_output;
  }
  ir::Node* t = maker(turned, Op::kTranspose);
  if (t == nullptr || permutation(*t) != std::vector<int>{2, 0, 3, 1, 4}) return nullptr;
  const Shape &x = t->in(0)->type.shape, &own = v->type.shape;
  const bool fits = x[2] == 3 && own.rank == 4 && own[0] == x[0] && own[1] == x[3] && own[2] == x[1] && own[3] == x[4];
  return fits ? t : nullptr;
}

// The embedding between heads that are moved and the attention, its only user; null: there is none.
const ir::Node* rotary_of(const ir::Value* v) {
  const ir::Node* n = maker(v, Op::kRotaryEmbedding);
  return n != nullptr && v->one_use() ? n : nullptr;
}

// [B, S, H D] of what v holds as [B, H, S, D].
bool can_pack(const ir::Value* v) {
  int64_t part = 0;
  if (const ir::Node* n = rotary_of(v)) v = n->in(0);
  const Shape& s = v->type.shape;
  return s.rank == 4 && !is_symbolic(s[1]) && !is_symbolic(s[3]) &&
         (swaps_heads(maker(v, Op::kTranspose)) || third_of(v, &part) != nullptr);
}

using Thirds = std::map<ir::Node*, ir::Node*>;

ir::Value* packed(ir::Graph& g, ir::Value* v, Thirds* thirds, const ir::Node& like, ir::Node* before) {
  const Shape& s = v->type.shape;
  const Shape rows = {3, {s[0], s[2], s[1] * s[3]}};
  if (const ir::Node* turn = rotary_of(v)) {
    ir::Value* x = packed(g, turn->in(0), thirds, like, before);
    if (x == nullptr) return nullptr;
    attrs::RotaryEmbeddingT a;
    turn->attributes<attrs::RotaryEmbedding>().UnPackTo(&a);
    a.heads = static_cast<int32_t>(s[1]);
    std::vector<ir::Value*> in = turn->inputs;
    in[0] = x;
    ir::Node* n = add_node(g, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a), std::move(in), *turn, before);
    return n == nullptr ? nullptr : n->out();
  }
  int64_t part = 0;
  ir::Node* t = third_of(v, &part);
  if (t == nullptr) {
    t = maker(v, Op::kTranspose);
    ir::Value* x = t->in(0);
    const ir::Node* parted = maker(x, Op::kReshape);
    if (parted != nullptr && parted->in(0)->type.shape == rows) return parted->in(0);
    ir::Node* n = add_reshape(g, x, rows, like, before);
    return n == nullptr ? nullptr : n->out();
  }
  ir::Node*& split = (*thirds)[t];
  if (split == nullptr) {
    // Where the Transpose stands, so that whoever takes a third finds it made.
    Shape all = rows;
    all[2] *= 3;
    ir::Value* x = t->in(0);
    const ir::Node* parted = maker(x, Op::kReshape);
    if (parted != nullptr && parted->in(0)->type.shape == all) {
      x = parted->in(0);
    } else {
      ir::Node* n = add_reshape(g, x, all, like, t);
      if (n == nullptr) return nullptr;
      x = n->out();
    }
    attrs::SplitT a;
    a.axis = 2;
    a.num_outputs = 3;
    ir::Node* n = g.add_node(Op::kSplit, pack<attrs::Split>(a), {x}, 3, t);
    n->name = t->name;
    std::string message;
    if (!ok(ir::infer_node(g, n, nullptr, &message))) {
      g.remove(n);
      return nullptr;
    }
    split = n;
  }
  return split->out(static_cast<size_t>(part));
}

// An attention with the outputs of `n`, in front of it; null: the shape function refuses.
ir::Node* with_outputs(ir::Graph& g, ir::Node& n, std::vector<uint8_t> attrs, const std::vector<ir::Value*>& inputs) {
  ir::Node* one = g.add_node(Op::kAttention, std::move(attrs), inputs, n.outputs.size(), &n);
  one->name = n.name;
  std::string message;
  bool good = ok(ir::infer_node(g, one, nullptr, &message));
  for (size_t o = 1; o < n.outputs.size(); ++o) {
    if (n.out(o) == nullptr) {
      g.drop_output(one, o);
    } else {
      good = good && one->out(o)->type == n.out(o)->type;
    }
  }
  if (good) return one;
  g.remove(one);
  return nullptr;
}

void run_pack_attention(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> nodes;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kAttention && n.in(0)->type.shape.rank == 4) nodes.push_back(&n);
  }
  Thirds thirds;
  for (ir::Node* n : nodes) {
    ir::Node* behind = only_user(n->out());
    if (behind == nullptr || behind->op != Op::kTranspose || !swaps_heads(behind)) continue;  // not turned at all
    if (!can_pack(n->in(0)) || !can_pack(n->in(1)) || !can_pack(n->in(2))) {
      log.reject(*n, "q, k or v is not transposed from [B, S, H, D]");
      continue;
    }
    std::vector<ir::Value*> in = n->inputs;
    bool good = true;
    for (size_t i = 0; i < 3 && good; ++i) good = (in[i] = packed(g, in[i], &thirds, *n, n)) != nullptr;
    attrs::AttentionT a;
    n->attributes<attrs::Attention>().UnPackTo(&a);
    a.q_heads = static_cast<int32_t>(n->in(0)->type.shape[1]);
    a.kv_heads = static_cast<int32_t>(n->in(1)->type.shape[1]);
    ir::Node* one = good ? with_outputs(g, *n, pack<attrs::Attention>(a), in) : nullptr;
    ir::Node* heads = one == nullptr ? nullptr : add_reshape(g, one->out(), behind->out()->type.shape, *behind, behind);
    if (heads == nullptr) {
      if (one != nullptr) g.remove(one);
      log.reject(*n, "extents are not known");
      continue;
    }
    for (size_t o = 1; o < n->outputs.size(); ++o) {
      if (n->out(o) == nullptr) continue;
      one->out(o)->name = n->out(o)->name;
      g.replace_uses(n->out(o), one->out(o));
    }
    heads->out()->name = behind->out()->name;
    g.replace_uses(behind->out(), heads->out());
    remove_unused(g, behind);
    log.changed();
  }
}

}  // namespace

const Pass kPackAttention = {"pack_attention", run_pack_attention};

}  // namespace vireo::passes

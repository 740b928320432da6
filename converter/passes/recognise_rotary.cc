// Rotary position embedding that exporters spell out becomes the one operator that it is.
// Before   x * cos + Concat(-x2, x1) * sin, the tables of two equal halves               After  RotaryEmbedding(x, c,
// s)
//          Concat(x1 * c - x2 * s, x2 * c + x1 * s), the tables of one half each
//          x is [B, H, S, D], x1 and x2 its halves along D, by Slice or Split; operands of sums and products in any
//          order. c and s are [B, S, D/2]: the first half of a table that is shown to repeat itself (a constant, a
//          Concat of one value with itself, and what Cos, Sin, Cast, views, Gather and products with one number a row
//          make of such).
// Fires    tables are shared by heads and not by batches; D is a number; inner products are used here alone.
// Numerics the same products; the sum may round once where the parts round each: |dy| <= u (|x1 c| + |x2 s|), u =
// 2^-24. Cost     reads x once and writes y once; the parts move eight times as much. A table is cut once for all its
// users. Bound    removes two products, their sum, and a Neg or a second pair; adds the operator and a Slice and a
// Squeeze a
//          table.        Idempotent.
// Source   Su et al. 2021, arXiv:2104.09864, section 3.4; ONNX opset 23 "RotaryEmbedding".
#include "converter/passes/recognise_rotary.h"

#include <cstring>
#include <map>
#include <utility>

#include "converter/passes/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

Dim last_of(const ir::Value* v) { return v->type.shape.rank == 0 ? 1 : v->type.shape[v->type.shape.rank - 1]; }

bool is_last(int axis, const ir::Value* x) { return axis == -1 || axis == x->type.shape.rank - 1; }

// v is half `which` of x along x's last axis: x, else null.
ir::Value* half_of(const ir::Value* v, int* which) {
  const ir::Node* n = v->producer;
  if (n == nullptr || n->in(0) == nullptr || n->in(0)->type.shape.rank != v->type.shape.rank) return nullptr;
  ir::Value* x = n->in(0);
  const Dim all = last_of(x);
  if (is_symbolic(all) || all % 2 != 0 || last_of(v) != all / 2) return nullptr;
  if (n->op == Op::kSplit) {
    if (!is_last(n->attributes<attrs::Split>().axis(), x) || n->outputs.size() != 2) return nullptr;
    *which = static_cast<int>(v->producer_output);
    return x;
  }
  std::vector<int64_t> start, axis, step;
  if (n->op != Op::kSlice || !known_ints(n->in(1), &start) || !known_ints(n->in(3), &axis)) return nullptr;
  if (start.size() != 1 || !is_last(static_cast<int>(axis[0]), x)) return nullptr;
  if (n->in(4) != nullptr && (!known_ints(n->in(4), &step) || step[0] != 1)) return nullptr;
  // Of the right length, so where it begins says all.
  const int64_t first = start[0] < 0 ? start[0] + all : start[0];
  *which = first == 0 ? 0 : 1;
  return first == 0 || first == all / 2 ? x : nullptr;
}

// The second half of v along its last axis is the first one again.
bool repeats(const ir::Value* v, int depth = 0) {
  const Dim all = v->type.shape.rank == 0 ? 1 : last_of(v);
  if (is_symbolic(all) || all % 2 != 0 || depth > 16) return false;
  if (v->constant != nullptr) {
    const size_t row = static_cast<size_t>(all) * static_cast<size_t>(dtype_bits(v->type.dtype)) / 8;
    const uint8_t* bytes = v->constant->tensor.bytes.data();
    for (size_t at = 0; row > 0 && at + row <= v->constant->tensor.bytes.size(); at += row) {
      if (std::memcmp(bytes + at, bytes + at + row / 2, row / 2) != 0) return false;
    }
    return row > 0;
  }
  const ir::Node* n = v->producer;
  if (n == nullptr || n->in(0) == nullptr) return false;
  const ir::Value* x = n->in(0);
  std::vector<int64_t> axes;
  switch (n->op) {
    case Op::kConcat:
      return is_last(n->attributes<attrs::Concat>().axis(), v) && n->inputs.size() == 2 && n->in(0) == n->in(1);
    case Op::kCos:
    case Op::kSin:
    case Op::kCast:
      return repeats(x, depth + 1);
    case Op::kReshape:
    case Op::kUnsqueeze:
    case Op::kSqueeze:  // rows stay rows
      return x->type.shape.rank > 0 && last_of(x) == all && repeats(x, depth + 1);
    case Op::kGather: {
      const int axis = n->attributes<attrs::Gather>().axis();
      return x->type.shape.rank > 1 && !is_last(axis, x) && repeats(x, depth + 1);
    }
    case Op::kSlice:
      if (!known_ints(n->in(3), &axes)) return false;
      for (const int64_t a : axes) {
        if (is_last(static_cast<int>(a), x)) return false;
      }
      return repeats(x, depth + 1);
    case Op::kMul:
      for (size_t i = 0; i < 2; ++i) {
        if (last_of(n->in(i)) == 1 && last_of(n->in(1 - i)) == all) return repeats(n->in(1 - i), depth + 1);
      }
      return false;
    default:
      return false;
  }
}

struct Match {
  ir::Value* x = nullptr;
  ir::Value *cosines = nullptr, *sines = nullptr;
  std::vector<ir::Node*> inside;
  const char* refused = nullptr;
};

// v = a * b, used once, with `a` for which `test` holds: b.
template <class Test>
ir::Value* factor(ir::Value* v, Match* m, const Test& test) {
  ir::Node* n = v->one_use() ? maker(v, Op::kMul) : nullptr;
  for (size_t i = 0; n != nullptr && i < 2; ++i) {
    if (!test(n->in(i))) continue;
    m->inside.push_back(n);
    return n->in(1 - i);
  }
  return nullptr;
}

// Concat(-x2, x1): x.
ir::Value* turned(ir::Value* v, Match* m) {
  ir::Node* n = maker(v, Op::kConcat);
  if (n == nullptr || n->inputs.size() != 2 || !is_last(n->attributes<attrs::Concat>().axis(), v)) return nullptr;
  ir::Node* minus = maker(n->in(0), Op::kNeg);
  int first = 0, second = 0;
  ir::Value* x = minus == nullptr ? nullptr : half_of(minus->in(0), &second);
  if (x == nullptr || half_of(n->in(1), &first) != x || first != 0 || second != 1) return nullptr;
  m->inside.push_back(n);
  m->inside.push_back(minus);
  return x;
}

// x * cos + Concat(-x2, x1) * sin.
Match match_whole(const ir::Node& sum) {
  Match refused;
  for (size_t i = 0; i < 2; ++i) {
    Match m;
    ir::Value* x = nullptr;
    m.sines = factor(sum.in(1 - i), &m, [&](ir::Value* v) { return (x = turned(v, &m)) != nullptr; });
    if (m.sines == nullptr) continue;
    m.cosines = factor(sum.in(i), &m, [&](const ir::Value* v) { return v == x; });
    m.x = x;
    if (m.cosines != nullptr) return m;
    m.refused = "x itself is not what the other product takes";
    refused = m;
  }
  return refused;
}

// Concat(x1 c - x2 s, x2 c + x1 s).
Match match_halves(const ir::Node& joined) {
  if (joined.inputs.size() != 2 || !is_last(joined.attributes<attrs::Concat>().axis(), joined.out())) return {};
  ir::Node *low = maker(joined.in(0), Op::kSub), *high = maker(joined.in(1), Op::kAdd);
  if (low == nullptr || high == nullptr) return {};
  Match m;
  const auto half = [&](int wanted) {
    return [&m, wanted](const ir::Value* v) {
      int which = 0;
      ir::Value* x = half_of(v, &which);
      if (x == nullptr || which != wanted || (m.x != nullptr && m.x != x)) return false;
      m.x = x;
      return true;
    };
  };
  m.cosines = factor(low->in(0), &m, half(0));
  m.sines = m.cosines == nullptr ? nullptr : factor(low->in(1), &m, half(1));
  if (m.sines == nullptr) return {};
  for (size_t i = 0; i < 2; ++i) {
    Match tried = m;
    const auto is_half = [&](int wanted) {
      return [&tried, wanted](const ir::Value* v) {
        int which = 0;
        return half_of(v, &which) == tried.x && which == wanted;
      };
    };
    if (factor(high->in(i), &tried, is_half(1)) != m.cosines) continue;
    if (factor(high->in(1 - i), &tried, is_half(0)) != m.sines) continue;
    tried.inside.push_back(low);
    tried.inside.push_back(high);
    return tried;
  }
  return {};
}

// A table as the operator takes it, [B, S, D/2]; what was made of one serves all its users.
using Cut = std::map<const ir::Value*, ir::Value*>;

const char* refuse_table(const ir::Value* t, const Shape& x, bool whole) {
  const Shape& s = t->type.shape;
  if (s.rank < 2 || s[s.rank - 2] != x[2]) return "a table does not list every token";
  if (s.rank > 2 && s[s.rank - 3] != 1) return "heads have tables of their own";
  if (s.rank > 4 || s[s.rank - 1] != (whole ? x[3] : x[3] / 2)) return "a table has another length than a head";
  if ((s.rank == 4 ? s[0] : 1) != x[0]) return "tables are shared by batches";
  return whole && !repeats(t) ? "a table's halves are not shown to be equal" : nullptr;
}

ir::Value* list(ir::Graph& g, int64_t v) {
  const Shape one = {1, {1}};
  return g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, one, {v}));
}

ir::Value* cut(ir::Graph& g, ir::Value* t, bool whole, Cut* cuts, const ir::Node& like, ir::Node* before) {
  ir::Value*& out = (*cuts)[t];
  if (out != nullptr) return out;
  ir::Value* v = t;
  if (whole) {
    const int64_t all = last_of(t);
    ir::Node* n = add_node(g, Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}),
                           {v, list(g, 0), list(g, all / 2), list(g, t->type.shape.rank - 1)}, like, before);
    if (n == nullptr) return nullptr;
    v = n->out();
  }
  const Shape& s = v->type.shape;
  const Shape wanted = {3, {s.rank == 4 ? s[0] : 1, s[s.rank - 2], s[s.rank - 1]}};
  if (s != wanted) {
    ir::Node* n = add_reshape(g, v, wanted, like, before);
    if (n == nullptr) return nullptr;
    v = n->out();
  }
  return out = v;
}

const char* rewrite(ir::Graph& g, const Match& m, ir::Node& end, bool whole, Cut* cuts,
                    std::set<const ir::Node*>* removed) {
  const Shape& x = m.x->type.shape;
  if (x.rank != 4) return "x is not [B, H, S, D]";
  if (is_symbolic(x[3])) return "the size of a head is not known";
  for (const ir::Value* t : {m.cosines, m.sines}) {
    if (const char* refused = refuse_table(t, x, whole)) return refused;
  }
  if (end.out()->type != m.x->type || !enclosed(m.inside, &end)) return "an inner value is used elsewhere";
  ir::Value* c = cut(g, m.cosines, whole, cuts, end, &end);
  ir::Value* s = c == nullptr ? nullptr : cut(g, m.sines, whole, cuts, end, &end);
  ir::Node* one = s == nullptr
                      ? nullptr
                      : add_node(g, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(attrs::RotaryEmbeddingT{}),
                                 {m.x, c, s}, end, &end);
  if (one == nullptr) return "the tables do not fit";
  one->out()->name = end.out()->name;
  g.replace_uses(end.out(), one->out());
  remove_unused(g, &end, removed);
  return nullptr;
}

void run(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> ends;
  for (ir::Node& n : g.nodes()) {
    const bool plain = n.outputs.size() == 1 && n.inputs.size() == 2 && dtype_is_float(n.out()->type.dtype);
    if (plain && (n.op == Op::kAdd || n.op == Op::kConcat)) ends.push_back(&n);
  }
  Cut cuts;
  std::set<const ir::Node*> removed;
  for (ir::Node* n : ends) {
    if (removed.count(n) != 0) continue;
    const bool whole = n->op == Op::kAdd;
    const Match m = whole ? match_whole(*n) : match_halves(*n);
    if (m.x == nullptr) continue;
    if (m.refused != nullptr) {
      log.reject(*n, m.refused);
    } else if (const char* refused = rewrite(g, m, *n, whole, &cuts, &removed)) {
      log.reject(*n, refused);
    } else {
      log.changed();
    }
  }
}

}  // namespace

const Pass kRecogniseRotary = {"recognise_rotary", run};

}  // namespace vireo::passes

// Rotary position embedding that exporters spell out becomes the one operator that it is.
// Before   x * cos + (-x2, x1) * sin, the tables with each angle twice                After  RotaryEmbedding(x, c, s)
//          (x1 * c - x2 * s, x2 * c + x1 * s), the tables with each angle once
//          x1 and x2 are halves of x along its last axis, or its even and odd elements (interleaved): by Slice or
//          Split, or by a Reshape to pairs; (a, b) puts them back, by Concat, or Concat and Reshape. x is [B, H, S, D],
//          [B, S, H, D] or [B, S, D]; operands of sums and products in any order. c and s are [B, S, D/2]: a part of a
//          table that is shown to name each angle twice (a constant, a Concat of one value with itself, a view of pairs
//          that Expand or Concat makes, and what Cos, Sin, Cast, views, Gather and products with one number a row make
//          of such).
//          Concat(embedded first part of X, the rest of X) becomes an embedding of X that turns its first part.
// Fires    tables are shared by heads; D is a number; inner products are used here alone. Tables that batches share are
//          spread over them, once for all users.
// Numerics the same products; the sum may round once where the parts round each: |dy| <= u (|x1 c| + |x2 s|), u =
//          2^-24.
// Cost     reads x once and writes y once; the parts move eight times as much. A table is cut once for all its users.
// Bound    removes two products, their sum, and a Neg or a second pair (32 of the measure and the parts of x); adds the
//          operator (8) and a Slice, a Reshape and an Expand a table (20) with the extent of its batch (2), and two
//          views of x.        Idempotent.
// Source   Su et al. 2021, arXiv:2104.09864, section 3.4; ONNX opset 23 "RotaryEmbedding".
#include "converter/passes/recognise/recognise_rotary.h"

#include <map>
#include <tuple>
#include <utility>

#include "converter/passes/recognise/rotary_match.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/expand/expand_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/slice/slice_generated.h"

namespace vireo::passes {
namespace {

Dim last_of(const ir::Value* v) { return v->type.shape[v->type.shape.rank - 1]; }

// Which axes of x are tokens and heads; heads -1: there is one.
struct Layout {
  int tokens = 2, heads = 1;
};

// The extent of `t` along axis `axis` of `x`, which it is broadcast to.
Dim along(const Shape& t, const Shape& x, int axis) {
  const int at = t.rank - x.rank + axis;
  return at < 0 ? 1 : t[at];
}

const char* refuse_table(const ir::Value* t, const RotaryMatch& m, const Layout& layout) {
  const Shape &s = t->type.shape, &x = m.x->type.shape;
  if (s.rank < 1 || s.rank > x.rank || along(s, x, layout.tokens) != x[layout.tokens])
    return "a table does not list every token";
  if (layout.heads >= 0 && along(s, x, layout.heads) != 1) return "heads have tables of their own";
  if (last_of(t) != (m.whole ? last_of(m.x) : last_of(m.x) / 2)) return "a table has another length than a head";
  if (along(s, x, 0) != 1 && along(s, x, 0) != x[0]) return "a table lists other batches";
  return m.whole && !names_twice(t, m.interleaved) ? "a table's halves are not shown to be equal" : nullptr;
}

const char* find_layout(const RotaryMatch& m, Layout* layout) {
  const int rank = m.x->type.shape.rank;
  if (rank != 3 && rank != 4) return "x is not [B, H, S, D], [B, S, H, D] or [B, S, D]";
  if (is_symbolic(last_of(m.x))) return "the size of a head is not known";
  const Layout choices[] = {{2, 1}, {1, 2}, {1, -1}};
  const char* refused = nullptr;
  for (const Layout& one : choices) {
    if ((one.heads < 0) != (rank == 3)) continue;
    const char* no = nullptr;
    for (const ir::Value* t : {m.cosines, m.sines}) no = no == nullptr ? refuse_table(t, m, one) : no;
    if (no == nullptr) {
      *layout = one;
      return nullptr;
    }
    refused = refused == nullptr ? no : refused;
  }
  return refused;
}

// Axes of one that are added, dropped or moved keep elements where they are: what `t` is a view of by such alone.
ir::Value* root_of(ir::Value* t) {
  const auto long_axes = [](const Shape& s) {
    std::vector<Dim> out;
    for (int i = 0; i < s.rank; ++i) {
      if (s[i] != 1) out.push_back(s[i]);
    }
    return out;
  };
  for (;;) {
    const ir::Node* n = t->producer;
    if (n == nullptr) return t;
    const bool view = n->op == Op::kReshape || n->op == Op::kUnsqueeze || n->op == Op::kSqueeze;
    if (!view && n->op != Op::kTranspose) return t;
    ir::Value* x = n->in(0);
    if (x->type.shape.rank < 1 || last_of(x) != last_of(t) || long_axes(x->type.shape) != long_axes(t->type.shape))
      return t;
    int before = -1;
    for (const int p : n->op == Op::kTranspose ? permutation(*n) : std::vector<int>{}) {
      if (x->type.shape[p] == 1) continue;
      if (p < before) return t;
      before = p;
    }
    t = x;
  }
}

// Tables as the operator takes them, [B, S, D/2]; what was made of one serves all its users.
class Tables {
 public:
  explicit Tables(ir::Graph& g) : g_(g) {}

  ir::Value* cut(const RotaryMatch& m, ir::Value* table, Dim tokens, ir::Node* before) {
    const Shape& x = m.x->type.shape;
    const Dim rows = along(table->type.shape, x, 0);
    ir::Value* v = root_of(table);
    ir::Value*& out = made_[{v, m.whole, m.interleaved, x[0]}];
    if (out != nullptr) return out;
    if (m.whole) {
      const int64_t all = last_of(v);
      std::vector<ir::Value*> in{v, list({0}), list({m.interleaved ? all : all / 2}), list({v->type.shape.rank - 1})};
      if (m.interleaved) in.push_back(list({2}));
      v = made(add_node(g_, Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}), std::move(in), *before, before));
      if (v == nullptr) return nullptr;
    }
    const bool spread = rows != x[0];
    const Shape wanted = {3, {rows, tokens, last_of(v)}}, flat = {2, {tokens, last_of(v)}};
    if (v->type.shape != wanted && !(spread && v->type.shape == flat)) {
      v = made(add_reshape(g_, v, wanted, *before, before));
      if (v == nullptr) return nullptr;
    }
    if (spread) {
      ir::Value* shape = batch_shape(m.x, before);
      if (shape == nullptr) return nullptr;
      v = made(add_node(g_, Op::kExpand, pack<attrs::Expand>(attrs::ExpandT{}), {v, shape}, *before, before));
    }
    return out = v;
  }

 private:
  static ir::Value* made(const ir::Node* n) { return n == nullptr ? nullptr : n->out(); }

  ir::Value* list(const std::vector<int64_t>& v) {
    const Shape shape = {1, {static_cast<Dim>(v.size())}};
    return g_.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, shape, v));
  }

  // [B, 1, 1]
  ir::Value* batch_shape(ir::Value* x, ir::Node* before) {
    const Dim batch = x->type.shape[0];
    if (!is_symbolic(batch)) return list({batch, 1, 1});
    ir::Value*& out = shapes_[batch];
    if (out != nullptr) return out;
    attrs::ShapeT a;
    a.end = 1;
    ir::Value* first = made(add_node(g_, Op::kShape, pack<attrs::Shape>(a), {x}, *before, before));
    if (first == nullptr) return nullptr;
    return out = made(add_node(g_, Op::kConcat, pack<attrs::Concat>(attrs::ConcatT{}), {first, list({1, 1})}, *before,
                               before));
  }

  ir::Graph& g_;
  std::map<std::tuple<const ir::Value*, bool, bool, Dim>, ir::Value*> made_;
  std::map<Dim, ir::Value*> shapes_;
};

// The Concat that puts the rest of X behind what `m` turns, its first part: `*all` is X. Null: there is none.
ir::Node* joined_with_rest(const RotaryMatch& m, const ir::Node& end, ir::Value** all) {
  ir::Node* n = only_user(end.out());
  int64_t begin = 0, step = 0;
  *all = part_of(m.x, &begin, &step);
  if (*all == nullptr || begin != 0 || step != 1 || n == nullptr || n->op != Op::kConcat || n->inputs.size() != 2)
    return nullptr;
  const int axis = n->attributes<attrs::Concat>().axis();
  if (n->in(0) != end.out() || (axis != -1 && axis != end.out()->type.shape.rank - 1)) return nullptr;
  const bool rest = part_of(n->in(1), &begin, &step) == *all && begin == last_of(m.x) && step == 1;
  return rest && n->out()->type == (*all)->type ? n : nullptr;
}

const char* rewrite_recognise_rotary(ir::Graph& g, RotaryMatch m, ir::Node& end, Tables* tables,
                                     std::set<const ir::Node*>* removed) {
  Layout layout;
  if (const char* refused = find_layout(m, &layout)) return refused;
  ir::Node* last = &end;
  ir::Value *x = m.x, *all = nullptr;
  if (ir::Node* joined = joined_with_rest(m, end, &all)) {
    m.inside.push_back(last);
    last = joined;
    x = all;
  }
  if (end.out()->type != m.x->type || !enclosed(m.inside, last)) return "an inner value is used elsewhere";
  const Shape s = x->type.shape;
  attrs::RotaryEmbeddingT a;
  a.interleaved = m.interleaved;
  a.rotated = last == &end ? 0 : static_cast<int32_t>(last_of(m.x));
  if (layout.tokens == 1) {
    const Dim heads = layout.heads < 0 ? 1 : s[layout.heads];
    if (is_symbolic(heads)) return "the number of heads is not known";
    a.heads = static_cast<int32_t>(heads);
    const Shape packed = {3, {s[0], s[1], heads * last_of(x)}};
    ir::Node* flat = s == packed ? nullptr : add_reshape(g, x, packed, end, last);
    if (flat == nullptr && s != packed) return "extents are not known";
    if (flat != nullptr) x = flat->out();
  }
  // In front of the sum and not of what is behind it: the next one, which may use them, stands there.
  ir::Value* c = tables->cut(m, m.cosines, m.x->type.shape[layout.tokens], &end);
  ir::Value* t = c == nullptr ? nullptr : tables->cut(m, m.sines, m.x->type.shape[layout.tokens], &end);
  const ir::Node* one =
      t == nullptr ? nullptr : add_node(g, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a), {x, c, t}, end, last);
  if (one == nullptr) return "the tables do not fit";
  ir::Value* y = one->out();
  if (y->type != last->out()->type) {
    const ir::Node* back = add_reshape(g, y, last->out()->type.shape, end, last);
    if (back == nullptr) return "extents are not known";
    y = back->out();
  }
  y->name = last->out()->name;
  g.replace_uses(last->out(), y);
  remove_unused(g, last, removed);
  return nullptr;
}

void run_recognise_rotary(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> ends;
  for (ir::Node& n : g.nodes()) {
    if (n.outputs.size() != 1 || n.inputs.empty() || !dtype_is_float(n.out()->type.dtype)) continue;
    const bool joins = n.op == Op::kReshape && maker(n.in(0), Op::kConcat) != nullptr;
    if (joins || ((n.op == Op::kAdd || n.op == Op::kConcat) && n.inputs.size() == 2)) ends.push_back(&n);
  }
  Tables tables(g);
  std::set<const ir::Node*> removed;
  for (ir::Node* n : ends) {
    if (removed.count(n) != 0) continue;
    const RotaryMatch m = match_rotary(*n);
    if (m.x == nullptr) continue;
    if (m.refused != nullptr) {
      log.reject(*n, m.refused);
    } else if (const char* refused = rewrite_recognise_rotary(g, m, *n, &tables, &removed)) {
      log.reject(*n, refused);
    } else {
      log.changed();
    }
  }
}

}  // namespace

const Pass kRecogniseRotary = {"recognise_rotary", run_recognise_rotary};

}  // namespace vireo::passes

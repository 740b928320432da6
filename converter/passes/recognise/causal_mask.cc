// Forms: a comparison of two lines of positions (Range, arange and what views, sums and Slices make of it); Trilu of a
// value filled with one number; a constant triangle, also cut by Slice where its rows begin at the past; and on these
// Not, Cast, Where between two numbers, Equal, Mul, Add and Sub with a number, Neg, views and Expand of leading axes.
#include "converter/passes/recognise/causal_mask.h"

#include "converter/passes/recognise/index_line.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/trilu/trilu_generated.h"

namespace vireo::passes {
namespace {

constexpr int kDeepest = 24;

struct Walk {
  ir::Graph& g;
  const char* why = nullptr;

  Dim less_one(Dim d) { return g.dims().sub(d, 1); }
};

Dim rows(const ir::Value* v) { return v->type.shape[v->type.shape.rank - 2]; }
Dim columns(const ir::Value* v) { return v->type.shape[v->type.shape.rank - 1]; }

// The last two axes of both have the same extents.
bool same_square(const ir::Value* a, const ir::Value* b) {
  return a->type.shape.rank >= 2 && b->type.shape.rank >= 2 && rows(a) == rows(b) && columns(a) == columns(b);
}

bool constant_triangle(const ir::Value* v, CausalMask* m) {
  const int bits = dtype_bits(v->type.dtype);
  if (v->type.shape.rank < 2 || bits < 8 || v->type.dtype == DType::kString) return false;
  const int64_t n = columns(v), area = rows(v) * n, all = v->constant->tensor.count();
  if (area < 2 || all < area) return false;
  const uint8_t* bytes = v->constant->tensor.bytes.data();
  const auto at = [&](int64_t i) { return read_real(v->type.dtype, bytes, i); };
  int64_t seen = 1;  // keys that query 0 sees: one at least, or nothing would tell the two numbers apart
  while (seen < n && at(seen) == at(0)) ++seen;
  if (seen == n) return false;
  *m = {seen - 1, at(0), at(seen)};
  for (int64_t i = 0; i < all; ++i) {
    const int64_t row = i % area / n, column = i % n;
    if (at(i) != (column <= row + m->diagonal ? m->seen : m->masked)) return false;
  }
  return true;
}

// a < b, or a <= b.
bool compared(Walk& w, const ir::Node& n, CausalMask* m) {
  const ir::Value* v = n.out();
  IndexLine a, b;
  const bool a_counts = index_line(w.g, n.in(0), &a), b_counts = index_line(w.g, n.in(1), &b);
  if (v->type.shape.rank < 2 || (!a_counts && !b_counts)) return false;
  if (!a_counts || !b_counts) {
    w.why = "positions in its mask are computed from what is not known before a run";
    return false;
  }
  const auto fits = [&](const IndexLine& line, const ir::Value* x) {
    return line.axis == -1 ||
           x->type.shape[x->type.shape.rank - 1 - line.axis] == v->type.shape[v->type.shape.rank - 1 - line.axis];
  };
  if (!fits(a, n.in(0)) || !fits(b, n.in(1))) return false;
  // One query has one position.
  if (rows(v) == 1 && a.axis == 0 && b.axis == -1) b.axis = 1;
  if (rows(v) == 1 && b.axis == 0 && a.axis == -1) a.axis = 1;
  const bool equal_too = n.op == Op::kLessOrEqual;
  if (a.axis == 0 && b.axis == 1) {  // a + j <= b + i
    const Dim d = w.g.dims().sub(b.start, a.start);
    *m = {equal_too ? d : w.less_one(d), 1, 0};
    return true;
  }
  if (a.axis == 1 && b.axis == 0) {  // a + i <= b + j, which is not j <= i + a - b - 1
    const Dim d = w.g.dims().sub(a.start, b.start);
    *m = {equal_too ? w.less_one(d) : d, 0, 1};
    return true;
  }
  return false;
}

bool triangle(Walk& w, const ir::Node& n, CausalMask* m) {
  double number = 0;
  std::vector<Dim> k{0};
  if (n.in(1) != nullptr && (!ir::known_elements(n.in(1), nullptr, &k) || k.size() != 1)) return false;
  if (!filled_with(n.in(0), &number)) return false;
  if (n.attributes<attrs::Trilu>().upper()) {  // j >= i + k keeps
    *m = {w.less_one(k[0]), 0, number};
  } else {
    *m = {k[0], number, 0};
  }
  return true;
}

// Numbers that every type has, or that stay as good as minus infinity in it.
bool casts(double x, DType to) { return x == 0 || x == 1 || (dtype_is_float(to) && (x == -1 || x <= -1e30)); }

// Types whose sums are those of doubles, but for rounding: no wrap-around turns a number into another one.
bool sums_like_reals(DType t) { return dtype_is_float(t) || t == DType::kI64 || t == DType::kI32; }

bool follow(Walk& w, const ir::Value* v, CausalMask* m, int depth);

// A number and a mask, in any order for sums and products.
bool arithmetic(Walk& w, const ir::Node& n, CausalMask* m, int depth) {
  if (!sums_like_reals(n.in(0)->type.dtype)) return false;
  for (size_t i = 0; i < 2; ++i) {
    double x = 0;
    if (!filled_with(n.in(i), &x) || !follow(w, n.in(1 - i), m, depth) || !same_square(n.in(1 - i), n.out())) continue;
    const auto of = [&](double y) {
      switch (n.op) {
        case Op::kAdd:
          return x + y;
        case Op::kSub:
          return i == 0 ? x - y : y - x;
        case Op::kMul:
          return x * y;
        default:
          return x == y ? 1.0 : 0.0;  // Equal
      }
    };
    m->seen = of(m->seen);
    m->masked = of(m->masked);
    return true;
  }
  return false;
}

bool follow_view(Walk& w, const ir::Node& n, CausalMask* m, int depth) {
  if (!follow(w, n.in(0), m, depth) || !same_square(n.in(0), n.out())) return false;
  if (n.op == Op::kExpand) return true;
  // With ones in front of the same last axes, elements are in the same order and as many.
  for (const ir::Value* v : {static_cast<const ir::Value*>(n.in(0)), static_cast<const ir::Value*>(n.out())}) {
    for (int i = 0; i < v->type.shape.rank - 2; ++i) {
      if (v->type.shape[i] != 1) return false;
    }
  }
  return true;
}

bool follow(Walk& w, const ir::Value* v, CausalMask* m, int depth) {
  if (v == nullptr || depth > kDeepest) return false;
  if (v->constant != nullptr) return constant_triangle(v, m);
  const ir::Node* n = v->producer;
  if (n == nullptr) return false;
  switch (n->op) {
    case Op::kLess:
    case Op::kLessOrEqual:
      return compared(w, *n, m);
    case Op::kTrilu:
      return triangle(w, *n, m);
    case Op::kWhere: {
      double yes = 0, no = 0;
      if (!filled_with(n->in(1), &yes) || !filled_with(n->in(2), &no) || !follow(w, n->in(0), m, depth + 1) ||
          !same_square(n->in(0), v)) {
        return false;
      }
      m->seen = m->seen != 0 ? yes : no;
      m->masked = m->masked != 0 ? yes : no;
      return true;
    }
    case Op::kNot:
      if (!follow(w, n->in(0), m, depth + 1)) return false;
      m->seen = m->seen != 0 ? 0 : 1;
      m->masked = m->masked != 0 ? 0 : 1;
      return true;
    case Op::kNeg:
      if (!sums_like_reals(v->type.dtype) || !follow(w, n->in(0), m, depth + 1)) return false;
      m->seen = -m->seen;
      m->masked = -m->masked;
      return true;
    case Op::kCast:
      return follow(w, n->in(0), m, depth + 1) && casts(m->seen, v->type.dtype) && casts(m->masked, v->type.dtype);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kEqual:
      return arithmetic(w, *n, m, depth + 1);
    case Op::kUnsqueeze:
    case Op::kSqueeze:
    case Op::kReshape:
    case Op::kExpand:
      return follow_view(w, *n, m, depth + 1);
    case Op::kSlice: {
      Dim row = 0, column = 0;
      const int rank = v->type.shape.rank;
      if (!follow(w, n->in(0), m, depth + 1) || !slice_begins(w.g, *n, rank - 2, &row) ||
          !slice_begins(w.g, *n, rank - 1, &column)) {
        return false;
      }
      m->diagonal = w.g.dims().sub(w.g.dims().add(m->diagonal, row), column);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

bool causal_mask(ir::Graph& g, const ir::Value* v, CausalMask* mask, const char** why) {
  Walk w = {g};
  const bool shown = follow(w, v, mask, 0);
  *why = shown ? nullptr : w.why;
  return shown;
}

}  // namespace vireo::passes

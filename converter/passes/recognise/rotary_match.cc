#include "converter/passes/recognise/rotary_match.h"

#include <algorithm>
#include <cstring>

#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

Dim last_of(const ir::Value* v) { return v->type.shape.rank == 0 ? 1 : v->type.shape[v->type.shape.rank - 1]; }

bool is_last(int64_t axis, const ir::Value* x) { return axis == -1 || axis == x->type.shape.rank - 1; }

// `v` has the elements of `x` with a further axis of `extent` behind them.
bool adds_axis(const ir::Value* x, const ir::Value* v, Dim extent) {
  Shape wanted = x->type.shape;
  if (wanted.rank + 1 > kMaxRank) return false;
  wanted[wanted.rank++] = extent;
  return v->type.shape == wanted;
}

bool is_view(const ir::Node* n) {
  return n != nullptr && (n->op == Op::kReshape || n->op == Op::kUnsqueeze || n->op == Op::kSqueeze);
}

// `v` is element `which` of pairs that a Reshape of x makes, [.., D / 2, 2]: x, else null.
ir::Value* of_pairs(const ir::Value* v, int* which) {
  const ir::Node* n = v->producer;
  const ir::Value* pairs = nullptr;
  std::vector<int64_t> at;
  if (n == nullptr) return nullptr;
  if (n->op == Op::kGather) {
    if (!is_last(n->attributes<attrs::Gather>().axis(), n->in(0)) || !known_ints(n->in(1), &at) || at.size() != 1)
      return nullptr;
    pairs = n->in(0);
    *which = static_cast<int>(at[0] < 0 ? at[0] + 2 : at[0]);
  } else if (is_view(n) && adds_axis(v, n->in(0), 1)) {
    int64_t begin = 0, step = 0;
    pairs = part_of(n->in(0), &begin, &step);
    *which = static_cast<int>(begin);
  }
  const ir::Node* parted = pairs == nullptr ? nullptr : pairs->producer;
  if (!is_view(parted) || !adds_axis(v, pairs, 2)) return nullptr;
  ir::Value* x = parted->in(0);
  Shape wanted = v->type.shape;
  if (wanted.rank == 0 || is_symbolic(last_of(v))) return nullptr;
  wanted[wanted.rank - 1] *= 2;
  return x->type.shape == wanted ? x : nullptr;
}

// v is one of each pair of x along its last axis, the first (0) or the second: x, else null.
ir::Value* half_of(const ir::Value* v, int* which, bool* interleaved) {
  *interleaved = true;
  if (ir::Value* x = of_pairs(v, which)) return x;
  int64_t begin = 0, step = 1;
  ir::Value* x = part_of(v, &begin, &step);
  if (x == nullptr || is_symbolic(last_of(x)) || last_of(x) % 2 != 0 || last_of(v) != last_of(x) / 2) return nullptr;
  *interleaved = step == 2;
  // Of the right length, so where it begins says all.
  const int64_t second = *interleaved ? 1 : last_of(x) / 2;
  *which = begin == 0 ? 0 : 1;
  return begin == 0 || begin == second ? x : nullptr;
}

// v is `a` and `b` side by side: halves behind each other, or as neighbours.
struct Pair {
  ir::Value *a = nullptr, *b = nullptr;
  bool interleaved = false;
  std::vector<ir::Node*> made_by;
};

bool side_by_side(ir::Value* v, Pair* p) {
  ir::Node* n = v->producer;
  if (is_view(n)) {  // Concat of [.., D / 2, 1] twice, seen as [.., D]
    if (n->in(0)->type.shape.rank != v->type.shape.rank + 1) return false;
    p->interleaved = true;
    p->made_by.push_back(n);
    v = n->in(0);
    n = v->producer;
  }
  if (n == nullptr || n->op != Op::kConcat || n->inputs.size() != 2 ||
      !is_last(n->attributes<attrs::Concat>().axis(), v)) {
    return false;
  }
  p->made_by.push_back(n);
  p->a = n->in(0);
  p->b = n->in(1);
  for (ir::Value** one : {&p->a, &p->b}) {
    if (!p->interleaved) continue;
    ir::Node* longer = (*one)->producer;
    if (!is_view(longer) || !adds_axis(longer->in(0), *one, 1)) return false;
    p->made_by.push_back(longer);
    *one = longer->in(0);
  }
  return !is_symbolic(last_of(p->a)) && p->a->type == p->b->type;
}

// v = a * b, used once, with `a` for which `test` holds: b.
template <class Test>
ir::Value* factor(ir::Value* v, RotaryMatch* m, const Test& test) {
  ir::Node* n = v->one_use() ? maker(v, Op::kMul) : nullptr;
  for (size_t i = 0; n != nullptr && i < 2; ++i) {
    if (!test(n->in(i))) continue;
    m->inside.push_back(n);
    return n->in(1 - i);
  }
  return nullptr;
}

// -x2 and x1 side by side: x.
ir::Value* turned(ir::Value* v, RotaryMatch* m) {
  Pair p;
  if (!side_by_side(v, &p)) return nullptr;
  ir::Node* minus = maker(p.a, Op::kNeg);
  int first = 0, second = 0;
  bool neighbours = false, too = false;
  ir::Value* x = minus == nullptr ? nullptr : half_of(minus->in(0), &second, &neighbours);
  if (x == nullptr || half_of(p.b, &first, &too) != x || first != 0 || second != 1) return nullptr;
  if (neighbours != p.interleaved || too != p.interleaved || x->type != v->type) return nullptr;
  m->interleaved = p.interleaved;
  m->inside.insert(m->inside.end(), p.made_by.begin(), p.made_by.end());
  m->inside.push_back(minus);
  return x;
}

// x * cos + (-x2 and x1 side by side) * sin.
RotaryMatch match_whole(const ir::Node& sum) {
  RotaryMatch refused;
  for (size_t i = 0; i < 2; ++i) {
    RotaryMatch m;
    m.whole = true;
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

// x1 c - x2 s and x2 c + x1 s side by side.
RotaryMatch match_halves(const ir::Node& joined) {
  Pair p;
  if (!side_by_side(joined.out(), &p)) return {};
  ir::Node *low = maker(p.a, Op::kSub), *high = maker(p.b, Op::kAdd);
  if (low == nullptr || high == nullptr) return {};
  RotaryMatch m;
  m.interleaved = p.interleaved;
  const auto is_half = [&p](RotaryMatch* of, int wanted) {
    return [&p, of, wanted](const ir::Value* v) {
      int which = 0;
      bool neighbours = false;
      ir::Value* x = half_of(v, &which, &neighbours);
      if (x == nullptr || which != wanted || neighbours != p.interleaved || (of->x != nullptr && of->x != x))
        return false;
      of->x = x;
      return true;
    };
  };
  m.cosines = factor(low->in(0), &m, is_half(&m, 0));
  m.sines = m.cosines == nullptr ? nullptr : factor(low->in(1), &m, is_half(&m, 1));
  if (m.sines == nullptr) return {};
  for (size_t i = 0; i < 2; ++i) {
    RotaryMatch tried = m;
    if (factor(high->in(i), &tried, is_half(&tried, 1)) != m.cosines) continue;
    if (factor(high->in(1 - i), &tried, is_half(&tried, 0)) != m.sines) continue;
    for (ir::Node* n : p.made_by) {
      if (n != &joined) tried.inside.push_back(n);
    }
    tried.inside.push_back(low);
    tried.inside.push_back(high);
    return tried;
  }
  return {};
}

bool twice(const ir::Value* v, bool interleaved, int depth);

// v, [.., D], is a view of [.., D / 2, 2] in which both of each pair are one: by Expand, or a Concat of one with
// itself.
bool views_pairs(const ir::Value* x, Dim all) {
  const ir::Node* n = x->producer;
  if (n == nullptr || last_of(x) != 2 || x->type.shape.rank < 2 || x->type.shape[x->type.shape.rank - 2] != all / 2)
    return false;
  if (n->op == Op::kExpand) return n->in(0)->type.shape.rank == x->type.shape.rank && last_of(n->in(0)) == 1;
  return n->op == Op::kConcat && is_last(n->attributes<attrs::Concat>().axis(), x) && n->inputs.size() == 2 &&
         n->in(0) == n->in(1);
}

bool constant_twice(const ir::Value* v, bool interleaved) {
  const size_t size = static_cast<size_t>(dtype_bits(v->type.dtype)) / 8, row = static_cast<size_t>(last_of(v)) * size;
  const uint8_t* bytes = v->constant->tensor.bytes.data();
  const size_t apart = interleaved ? size : row / 2, next = interleaved ? 2 * size : row;
  for (size_t at = 0; next > 0 && at + next <= v->constant->tensor.bytes.size(); at += next) {
    if (std::memcmp(bytes + at, bytes + at + apart, apart) != 0) return false;
  }
  return next > 0;
}

bool twice(const ir::Value* v, bool interleaved, int depth) {
  const Dim all = last_of(v);
  if (is_symbolic(all) || all % 2 != 0 || depth > 16) return false;
  if (v->constant != nullptr) return constant_twice(v, interleaved);
  const ir::Node* n = v->producer;
  if (n == nullptr || n->in(0) == nullptr) return false;
  const ir::Value* x = n->in(0);
  std::vector<int64_t> axes;
  switch (n->op) {
    case Op::kConcat:
      return !interleaved && is_last(n->attributes<attrs::Concat>().axis(), v) && n->inputs.size() == 2 &&
             n->in(0) == n->in(1);
    case Op::kCos:
    case Op::kSin:
    case Op::kCast:
      return twice(x, interleaved, depth + 1);
    case Op::kReshape:
    case Op::kUnsqueeze:
    case Op::kSqueeze:  // rows stay rows
      if (interleaved && views_pairs(x, all)) return true;
      return x->type.shape.rank > 0 && last_of(x) == all && twice(x, interleaved, depth + 1);
    case Op::kExpand:
      return x->type.shape.rank > 0 && last_of(x) == all && twice(x, interleaved, depth + 1);
    case Op::kTranspose:
      return permutation(*n).back() == x->type.shape.rank - 1 && twice(x, interleaved, depth + 1);
    case Op::kGather: {
      const int axis = n->attributes<attrs::Gather>().axis();
      return x->type.shape.rank > 1 && !is_last(axis, x) && twice(x, interleaved, depth + 1);
    }
    case Op::kSlice:
      if (!known_ints(n->in(3), &axes)) return false;
      for (const int64_t a : axes) {
        if (is_last(a, x)) return false;
      }
      return twice(x, interleaved, depth + 1);
    case Op::kMul:
      for (size_t i = 0; i < 2; ++i) {
        if (last_of(n->in(i)) == 1 && last_of(n->in(1 - i)) == all) return twice(n->in(1 - i), interleaved, depth + 1);
      }
      return false;
    default:
      return false;
  }
}

}  // namespace

ir::Value* part_of(const ir::Value* v, int64_t* begin, int64_t* step) {
  const ir::Node* n = v->producer;
  if (n == nullptr || (n->op != Op::kSplit && n->op != Op::kSlice)) return nullptr;
  ir::Value* x = n->in(0);
  *step = 1;
  *begin = 0;
  if (n->op == Op::kSplit) {
    if (!is_last(n->attributes<attrs::Split>().axis(), x)) return nullptr;
    for (size_t o = 0; o < v->producer_output; ++o) {
      if (n->out(o) == nullptr || is_symbolic(last_of(n->out(o)))) return nullptr;
      *begin += last_of(n->out(o));
    }
    return x;
  }
  std::vector<int64_t> start, axis, steps;
  if (!known_ints(n->in(1), &start) || !known_ints(n->in(3), &axis) || start.size() != 1 || !is_last(axis[0], x))
    return nullptr;
  if (n->in(4) != nullptr && (!known_ints(n->in(4), &steps) || (steps[0] != 1 && steps[0] != 2))) return nullptr;
  if (!steps.empty()) *step = steps[0];
  *begin = start[0];
  if (*begin < 0) {
    if (is_symbolic(last_of(x))) return nullptr;
    *begin = std::max<int64_t>(0, *begin + last_of(x));
  }
  return x;
}

RotaryMatch match_rotary(ir::Node& end) { return end.op == Op::kAdd ? match_whole(end) : match_halves(end); }

bool names_twice(const ir::Value* v, bool interleaved) { return twice(v, interleaved, 0); }

}  // namespace vireo::passes

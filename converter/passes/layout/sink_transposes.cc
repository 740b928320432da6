// Transposes go where they meet another one and cancel, or are absorbed.
// Before   T moves extents of 1 alone                                After  Reshape, which moves nothing
//          f(T(a), T(b), number), f elementwise, T the same                 T(f(a, b, number))
//          Concat(T(a), T(b)...)                                            T(Concat(a, b...)) along the axis it came
//          from T2(f(g(T1(x)))), f, g elementwise, Softmax, Pad or a             T(f(g(x))), T = T2 after T1, or
//          nothing reduction that keeps its extents Reduce(T(x)) without the reduced extents, the rest in order
//          Reduce(x) over the axes they came from MatMul(T(a), b), MatMul(a, T(b)), rank 2; Gemm of a T            Gemm
//          with trans_a, trans_b
//          Reshape(T(Reshape(x))), axes split and moved with their parts Reshape(T(x))
// Fires    no value on the way is used elsewhere (of operands that come together, two at least); constants on the way
// are
//          single numbers, and axes and pads are constant.
// Numerics none, but for a product's order of addition, which the kernel chooses.
// Bound    each rewrite leaves at least one Transpose less.        Idempotent.
#include "converter/passes/layout/sink_transposes.h"

#include <algorithm>

#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::passes {
namespace {

using Perm = std::vector<int>;

bool is_identity(const Perm& p) {
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] != static_cast<int>(i)) return false;
  }
  return true;
}

bool is_one_number(const ir::Value* v) {
  return v == nullptr || (v->type.shape.is_static() && element_count(v->type.shape) == 1);
}

// Constant axes of a reduction, not negative; empty: none are given, or they are not known.
std::vector<int64_t> axes_of(const ir::Node& n) {
  std::vector<int64_t> axes;
  const int rank = n.in(0)->type.shape.rank;
  if (n.in(1) == nullptr || n.in(1)->constant == nullptr || !known_ints(n.in(1), &axes)) return {};
  for (int64_t& a : axes) a = a < 0 ? a + rank : a;
  return axes;
}

// The node can work in front of a Transpose instead of behind it: one operand is moved, the others are numbers.
bool can_move(const ir::Node& n, const ir::Value* moved) {
  if (n.outputs.size() != 1 || n.out()->type.shape.rank != moved->type.shape.rank || !n.bodies.empty()) return false;
  if (is_elementwise(n.op)) {
    for (const ir::Value* v : n.inputs) {
      if (v != moved && !(is_one_number(v) && (v == nullptr || v->type.shape.rank <= 1))) return false;
    }
    return n.out()->type.shape == moved->type.shape && std::count(n.inputs.begin(), n.inputs.end(), moved) == 1;
  }
  if (n.in(0) != moved) return false;
  if (n.op == Op::kSoftmax || n.op == Op::kLogSoftmax) return true;
  if (is_reduction(n.op)) return n.attributes<attrs::Reduce>().keepdims() && !axes_of(n).empty();
  std::vector<int64_t> pads;
  return n.op == Op::kPad && n.in(3) == nullptr && known_ints(n.in(1), &pads);
}

ir::Value* ints(ir::Graph& g, const std::vector<int64_t>& values) {
  const Shape s = {1, {static_cast<Dim>(values.size())}};
  return g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, s, values));
}

// `n` with `x` in place of its operand T(x; perm), before `before`.
ir::Node* moved_node(ir::Graph& g, const ir::Node& n, const ir::Value* operand, ir::Value* x, const Perm& perm,
                     ir::Node* before) {
  std::vector<ir::Value*> in = n.inputs;
  for (ir::Value*& v : in) {
    if (v == operand) v = x;
  }
  std::vector<uint8_t> attributes = n.attrs;
  const auto rank = static_cast<int>(perm.size());
  if (n.op == Op::kSoftmax || n.op == Op::kLogSoftmax) {
    attrs::SoftmaxT a;
    const int axis = n.attributes<attrs::Softmax>().axis();
    a.axis = perm[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    attributes = pack<attrs::Softmax>(a);
  } else if (is_reduction(n.op)) {
    std::vector<int64_t> axes = axes_of(n);
    for (int64_t& a : axes) a = perm[static_cast<size_t>(a)];
    in[1] = ints(g, axes);
  } else if (n.op == Op::kPad) {
    std::vector<int64_t> pads, own(2 * perm.size());
    (void)known_ints(n.in(1), &pads);
    for (size_t i = 0; i < perm.size(); ++i) {
      const auto to = static_cast<size_t>(perm[i]);
      own[to] = pads[i];
      own[to + perm.size()] = pads[i + perm.size()];
    }
    in[1] = ints(g, own);
  }
  return add_node(g, n.op, std::move(attributes), std::move(in), n, before);
}

// The Transpose from which `v` comes through nodes that can move; all between, and the Transpose itself, have one use.
// `path` gets the nodes between, from the Transpose on.
ir::Node* source(ir::Value* v, std::vector<ir::Node*>* path) {
  path->clear();
  for (;;) {
    ir::Node* n = v->producer;
    if (n == nullptr || !v->one_use()) return nullptr;
    if (n->op == Op::kTranspose) {
      std::reverse(path->begin(), path->end());
      return n;
    }
    ir::Value* next = nullptr;
    for (ir::Value* in : n->inputs) {
      if (in != nullptr && in->producer != nullptr && can_move(*n, in)) next = in;
    }
    if (next == nullptr) return nullptr;
    path->push_back(n);
    v = next;
  }
}

// What keeps `n` from a Transpose further up that only nodes with constants part from it; null: nothing, or there is
// none.
const char* obstacle(const ir::Node& n) {
  const char* why = nullptr;
  const ir::Value* v = n.in(0);
  for (int steps = 0; steps < 16; ++steps) {
    const ir::Node* made_by = v->producer;
    if (made_by == nullptr) return nullptr;
    if (why == nullptr && !v->one_use()) why = "a value between two Transposes is used elsewhere";
    if (made_by->op == Op::kTranspose) return steps > 0 ? why : nullptr;
    const ir::Value* next = nullptr;
    for (const ir::Value* in : made_by->inputs) {
      if (in == nullptr || in->constant != nullptr) continue;
      if (next != nullptr) return nullptr;
      next = in;
    }
    const bool walks = is_elementwise(made_by->op) || is_reduction(made_by->op) || made_by->op == Op::kPad;
    if (next == nullptr) return nullptr;
    if (!can_move(*made_by, next)) {
      if (!walks) return nullptr;
      if (why == nullptr) why = "a node between two Transposes cannot change sides";
    }
    v = next;
  }
  return nullptr;
}

// What `v` is in front of its Transpose: the path is made again there. Null when a shape function refuses.
ir::Value* before_transpose(ir::Graph& g, const ir::Node& t, const std::vector<ir::Node*>& path, ir::Node* before) {
  ir::Value* x = t.in(0);
  const ir::Value* operand = t.out();
  for (const ir::Node* n : path) {
    ir::Node* one = moved_node(g, *n, operand, x, permutation(t), before);
    if (one == nullptr) return nullptr;
    x = one->out();
    operand = n->out();
  }
  return x;
}

void put(ir::Graph& g, ir::Node& n, ir::Value* y) {
  if (y->name.empty()) y->name = n.out()->name;
  g.replace_uses(n.out(), y);
  remove_unused(g, &n);
}

bool view(ir::Graph& g, ir::Node& n) {
  int last = -1;
  for (const int p : permutation(n)) {
    if (n.in(0)->type.shape[p] == 1) continue;
    if (p < last) return false;
    last = p;
  }
  ir::Node* one = add_reshape(g, n.in(0), n.out()->type.shape, n, &n);
  if (one == nullptr) return false;
  put(g, n, one->out());
  return true;
}

// T2(...(T1(x))).
bool cancel(ir::Graph& g, ir::Node& n) {
  std::vector<ir::Node*> path;
  ir::Node* first = source(n.in(0), &path);
  if (first == nullptr) return false;
  ir::Value* x = before_transpose(g, *first, path, &n);
  if (x == nullptr) return false;
  Perm both;
  const Perm p = permutation(*first), q = permutation(n);
  for (const int i : q) both.push_back(p[static_cast<size_t>(i)]);
  if (!is_identity(both)) {
    ir::Node* one = add_transpose(g, x, both, n, &n);
    if (one == nullptr) return false;
    x = one->out();
  }
  put(g, n, x);
  return true;
}

// Several operands that come through the same Transpose.
bool join(ir::Graph& g, ir::Node& n, PassLog& log) {
  const bool concat = n.op == Op::kConcat;
  if ((!concat && !is_elementwise(n.op)) || n.outputs.size() != 1 || n.inputs.size() < 2) return false;
  Perm perm;
  std::vector<std::pair<ir::Node*, std::vector<ir::Node*>>> sources(n.inputs.size());
  size_t found = 0;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    ir::Value* v = n.inputs[i];
    if (!concat && is_one_number(v) && (v == nullptr || v->type.shape.rank <= 1)) continue;
    auto& [t, path] = sources[i];
    t = source(v, &path);
    if (t == nullptr || v->type.shape.rank != n.out()->type.shape.rank) return false;
    if (++found == 1) perm = permutation(*t);
    if (permutation(*t) != perm) {
      log.reject(n, "its operands come through different Transposes");
      return false;
    }
  }
  if (found < 2) return false;
  std::vector<ir::Value*> in;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const auto& [t, path] = sources[i];
    in.push_back(t == nullptr ? n.inputs[i] : before_transpose(g, *t, path, &n));
    if (t != nullptr && in.back() == nullptr) return false;
  }
  std::vector<uint8_t> attributes = n.attrs;
  if (concat) {
    attrs::ConcatT a;
    const int axis = n.attributes<attrs::Concat>().axis();
    a.axis = perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int>(perm.size()) : axis)];
    attributes = pack<attrs::Concat>(a);
  }
  ir::Node* one = add_node(g, n.op, std::move(attributes), std::move(in), n, &n);
  ir::Node* turned = one == nullptr ? nullptr : add_transpose(g, one->out(), perm, n, &n);
  if (turned == nullptr) return false;
  put(g, n, turned->out());
  return true;
}

bool reduce(ir::Graph& g, ir::Node& n, PassLog& log) {
  const ir::Node* t = is_reduction(n.op) ? maker(n.in(0), Op::kTranspose) : nullptr;
  if (t == nullptr || !n.in(0)->one_use() || n.attributes<attrs::Reduce>().keepdims()) return false;
  std::vector<int64_t> axes = axes_of(n);
  if (axes.empty()) return false;
  const Perm perm = permutation(*t);
  int last = -1;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end()) continue;
    if (perm[i] < last) {
      log.reject(n, "what it keeps is out of order");
      return false;
    }
    last = perm[i];
  }
  ir::Node* one = moved_node(g, n, n.in(0), t->in(0), perm, &n);
  if (one == nullptr) return false;
  put(g, n, one->out());
  return true;
}

bool product(ir::Graph& g, ir::Node& n) {
  const bool gemm = n.op == Op::kGemm;
  if ((!gemm && n.op != Op::kMatMul) || !dtype_is_float(n.out()->type.dtype)) return false;
  attrs::GemmT a;
  if (gemm) n.attributes<attrs::Gemm>().UnPackTo(&a);
  std::vector<ir::Value*> in = n.inputs;
  bool found = false;
  for (size_t i = 0; i < 2; ++i) {
    if (in[i]->type.shape.rank != 2) return false;
    const ir::Node* t = maker(in[i], Op::kTranspose);
    if (t == nullptr || !in[i]->one_use() || is_identity(permutation(*t))) continue;
    in[i] = t->in(0);
    (i == 0 ? a.trans_a : a.trans_b) ^= true;
    found = true;
  }
  if (!found) return false;
  ir::Node* one = add_node(g, Op::kGemm, pack<attrs::Gemm>(a), std::move(in), n, &n);
  if (one == nullptr) return false;
  put(g, n, one->out());
  return true;
}

// The axes of `x` as runs of `parts`' axes whose product each is: where each run begins. Empty: it is no refinement.
std::vector<size_t> runs_of(const Shape& x, const Shape& parts) {
  std::vector<size_t> begin;
  int p = 0;
  for (int i = 0; i < x.rank; ++i) {
    begin.push_back(static_cast<size_t>(p));
    if (p < parts.rank && parts[p] == x[i]) {
      ++p;
      continue;
    }
    Dim product = 1;
    while (p < parts.rank && !is_symbolic(parts[p]) && !is_symbolic(x[i]) && product < x[i]) product *= parts[p++];
    if (is_symbolic(x[i]) || product != x[i] || static_cast<size_t>(p) == begin.back()) return {};
  }
  return p == parts.rank ? begin : std::vector<size_t>{};
}

// Axes that are split, moved with their parts in order and viewed again move before they are split.
bool move_whole(ir::Graph& g, ir::Node& n) {
  ir::Node* t = maker(n.in(0), Op::kTranspose);
  ir::Node* split = t == nullptr ? nullptr : maker(t->in(0), Op::kReshape);
  if (split == nullptr || !t->out()->one_use() || !split->out()->one_use()) return false;
  ir::Value* x = split->in(0);
  const std::vector<size_t> begin = runs_of(x->type.shape, split->out()->type.shape);
  if (begin.empty()) return false;
  const Perm perm = permutation(*t);
  Perm whole;
  for (size_t i = 0; i < perm.size();) {
    const auto first = std::find(begin.begin(), begin.end(), static_cast<size_t>(perm[i]));
    if (first == begin.end()) return false;
    const size_t end = first + 1 == begin.end() ? perm.size() : *(first + 1);
    for (size_t p = *first; p < end; ++p, ++i) {
      if (i == perm.size() || perm[i] != static_cast<int>(p)) return false;
    }
    whole.push_back(static_cast<int>(first - begin.begin()));
  }
  if (whole.size() != begin.size()) return false;  // an axis without parts
  ir::Node* moved = add_transpose(g, x, whole, *t, &n);
  ir::Node* one = moved == nullptr ? nullptr : add_reshape(g, moved->out(), n.out()->type.shape, n, &n);
  if (one == nullptr) return false;
  put(g, n, one->out());
  return true;
}

bool rewrite_sink_transposes(ir::Graph& g, ir::Node& n, PassLog& log) {
  if (n.outputs.empty() || n.out() == nullptr || n.out()->unused()) return false;
  if (n.op == Op::kTranspose) {
    if (cancel(g, n) || view(g, n)) return true;
    const ir::Value* x = n.in(0);
    const bool meets = x->producer != nullptr && x->producer->op == Op::kTranspose;
    if (meets && !x->one_use()) log.reject(n, std::to_string(x->uses.size() + x->output_uses) + " consumers between");
    if (const char* why = obstacle(n)) log.reject(n, why);
    return false;
  }
  if (n.op == Op::kReshape) return move_whole(g, n);
  return join(g, n, log) || reduce(g, n, log) || product(g, n);
}

void run_sink_transposes(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    const auto next = std::next(it);
    if (rewrite_sink_transposes(g, *it, log)) {
      log.changed();
      // Once more from the start: what came may meet a Transpose in front.
      it = g.nodes().begin();
      log.declined.clear();
    } else {
      it = next;
    }
  }
}

}  // namespace

const Pass kSinkTransposes = {"sink_transposes", run_sink_transposes};

}  // namespace vireo::passes

// Normalisations that exporters spell out become the one operator that they are.
// Before   d = x - ReduceMean(x); d / Sqrt(ReduceMean(d^2) + eps) [* scale] [+ bias]    After  LayerNormalization(x)
//          x / Sqrt(ReduceMean(x^2) + eps) [* scale]                                           RMSNormalization(x)
//          the first over all spatial axes of [N, C, ...], scale and bias of one value a channel: one channel a group
//                                                                                              GroupNormalization(x)
//          Reshape(x, [N, G, ...]), GroupNormalization of G channels, Reshape back [* scale] [+ bias]
//                                                                                              GroupNormalization(x; G)
//          Squares as d * d or Pow(d, 2); roots as Sqrt, Pow(., 0.5), or turned over as Pow(., -0.5) or 1 / Sqrt.
//          A float16 or bfloat16 x that is cast to float32 for all this, and back behind it.
// Fires    means over the last axes, kept as extents of 1; epsilon positive and finite; nothing inside is used
//          elsewhere; scale and bias constant and over the normalised axes (other factors stay behind the operator).
// Numerics the operator rounds once where the parts round each: a few units in the last place of float32; a 16-bit
//          result is rounded behind scale and bias instead of before. The variance is the mean of (x - mean)^2 in both.
//          The other form, mean of x^2 less the mean's square, loses digits and is left alone.
//          Where a square overflows, the parts give 0 and the operator a number.
// Bound    each rewrite replaces at least five nodes by one.        Idempotent.
// Source   Ba et al. 2016, arXiv:1607.06450; Zhang and Sennrich 2019, arXiv:1910.07467; Wu and He 2018,
// arXiv:1803.08494.
#include "converter/passes/recognise/recognise_norm.h"

#include <cmath>

#include "converter/passes/shared/match.h"
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"

namespace vireo::passes {
namespace {

// A spelled-out normalisation, before scale and bias.
struct Norm {
  ir::Value* x = nullptr;
  bool rms = false;
  int axis = 0;  // the first normalised one; all behind it are, too
  double epsilon = 0;
  std::vector<ir::Node*> inside;
  const char* refused = nullptr;  // looks like one and is none
};

// v = ReduceMean of something over its last axes, kept: the first of them, else -1.
int mean_axis(const ir::Value* v, Norm* m) {
  ir::Node* n = maker(v, Op::kReduceMean);
  if (n == nullptr || !n->attributes<attrs::Reduce>().keepdims()) return -1;
  const int rank = n->in(0)->type.shape.rank;
  std::vector<int64_t> axes;
  if (n->in(1) != nullptr && (n->in(1)->constant == nullptr || !known_ints(n->in(1), &axes))) {
    m->refused = "the axes are not constant";
    return -1;
  }
  if (axes.empty() && n->attributes<attrs::Reduce>().noop_with_empty_axes()) return -1;
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (const int64_t a : axes) reduced[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
  int first = rank;
  while (first > 0 && reduced[static_cast<size_t>(first - 1)]) --first;
  for (int i = 0; i < first; ++i) {
    if (reduced[static_cast<size_t>(i)]) m->refused = "the axes are not the last ones";
  }
  if (m->refused != nullptr || first == rank) return -1;
  m->inside.push_back(n);
  return first;
}

// v = sqrt(u): u.
ir::Value* under_root(const ir::Value* v, Norm* m) {
  ir::Node* n = v == nullptr ? nullptr : v->producer;
  if (n == nullptr) return nullptr;
  if (n->op != Op::kSqrt && !(n->op == Op::kPow && is_number(n->in(1), 0.5))) return nullptr;
  m->inside.push_back(n);
  return n->in(0);
}

// v = 1 / sqrt(u): u.
ir::Value* under_inverse(const ir::Value* v, Norm* m) {
  ir::Node* n = v == nullptr ? nullptr : v->producer;
  if (n == nullptr) return nullptr;
  if (n->op == Op::kPow && is_number(n->in(1), -0.5)) {
    m->inside.push_back(n);
    return n->in(0);
  }
  if (n->op != Op::kDiv || !is_number(n->in(0), 1)) return nullptr;
  m->inside.push_back(n);
  return under_root(n->in(1), m);
}

// v = c^2: c.
ir::Value* under_square(const ir::Value* v, Norm* m) {
  ir::Node* n = v == nullptr ? nullptr : v->producer;
  if (n == nullptr || n->inputs.size() != 2) return nullptr;
  if (!(n->op == Op::kMul && n->in(0) == n->in(1)) && !(n->op == Op::kPow && is_number(n->in(1), 2))) return nullptr;
  m->inside.push_back(n);
  return n->in(0);
}

// v = ReduceMean(d^2), of any d where it is null.
bool is_mean_square(const ir::Value* v, const ir::Value* d) {
  Norm unused;
  const ir::Node* mean = maker(v, Op::kReduceMean);
  const ir::Value* under = mean == nullptr ? nullptr : under_square(mean->in(0), &unused);
  return under != nullptr && (d == nullptr || under == d);
}

// d times the inverse root (or over the root) of `u` = mean of its square + epsilon.
Norm normalised(const ir::Node& end, ir::Value* d, ir::Value* u, Norm m) {
  ir::Node* sum = maker(u, Op::kAdd);
  if (d == nullptr || u == nullptr || d->type != end.out()->type) return {};
  if (sum == nullptr) {
    if (is_mean_square(u, d)) m.refused = "no epsilon is added";
    return m;
  }
  m.inside.push_back(sum);
  const ir::Value* mean = nullptr;
  for (size_t i = 0; i < 2 && mean == nullptr; ++i) {
    if (is_scalar(sum->in(i), &m.epsilon)) mean = sum->in(1 - i);
  }
  if (mean == nullptr) {
    if (is_mean_square(sum->in(0), d) || is_mean_square(sum->in(1), d))
      m.refused = "epsilon is not one constant number";
    return m;
  }
  if ((m.axis = mean_axis(mean, &m)) < 0) {
    const ir::Node* less = maker(mean, Op::kSub);
    if (less != nullptr && is_mean_square(less->in(0), nullptr))
      m.refused = "the variance is a mean of squares less the mean's square";
    return m;
  }
  if (under_square(mean->producer->in(0), &m) != d) {
    Norm other;
    other.refused = "the mean is not that of its squares";
    return other;
  }
  m.rms = true;
  m.x = d;
  // Centred first: layer norm. Means over other axes are another function, RMS norm of what is left.
  if (ir::Node* sub = maker(d, Op::kSub)) {
    Norm centred = m;
    const ir::Value* centre = sub->in(1);
    if (mean_axis(centre, &centred) == m.axis && centre->producer->in(0) == sub->in(0)) {
      m = centred;
      m.inside.push_back(sub);
      m.x = sub->in(0);
      m.rms = false;
    }
  }
  if (!(m.epsilon > 0) || std::isinf(m.epsilon)) {
    m.refused = "epsilon is not a positive finite number";
  } else if (!held(m.epsilon, m.x->type.dtype)) {
    m.refused = "epsilon is no float32";
  } else if (!enclosed(m.inside, &end)) {
    m.refused = "an inner value is used elsewhere";
  }
  return m;
}

Norm match(const ir::Node& n) {
  if (n.inputs.size() != 2 || n.out() == nullptr || !dtype_is_float(n.out()->type.dtype)) return {};
  Norm m, tried;
  if (n.op == Op::kDiv) {
    const ir::Value* root = n.in(1);
    if (ir::Value* u = under_root(root, &m)) return normalised(n, n.in(0), u, m);
  }
  for (size_t i = 0; n.op == Op::kMul && i < 2; ++i) {
    tried = {};
    if (ir::Value* u = under_inverse(n.in(i), &tried)) return normalised(n, n.in(1 - i), u, tried);
  }
  return {};
}

// What follows the normalisation: each step is taken when its other operand is a parameter.
struct Tail {
  ir::Node* last = nullptr;  // whose output the operator makes
  ir::ConstantPtr scale, bias;
};

// The constant operand of `op` that alone uses `v`, with the result of v's type; null: there is none.
ir::Node* step(const ir::Value* v, Op op, ir::ConstantPtr* parameter) {
  ir::Node* n = only_user(v);
  if (n == nullptr || n->op != op || n->out()->type != v->type) return nullptr;
  const ir::Value* p = other_input(*n, v);
  if (p == nullptr || p->constant == nullptr || p->type.dtype != v->type.dtype) return nullptr;
  *parameter = p->constant;
  return n;
}

// `p` broadcast to x's extents [begin, end), when it has no other extent than 1 outside; null: it does, or they are not
// known. [begin, end) of rank 4 and [1, 2) of one value a channel look alike.
ir::ConstantPtr spread(const ir::ConstantPtr& p, const Shape& x, int begin, int end) {
  const Shape own = p->tensor.type.shape;
  Shape wanted;
  wanted.rank = end - begin;
  int64_t count = 1;
  for (int i = begin; i < end; ++i) {
    if (is_symbolic(x[i])) return nullptr;
    wanted[i - begin] = x[i];
    count *= x[i];
  }
  std::vector<int64_t> strides(static_cast<size_t>(wanted.rank), 0);
  int64_t step = 1;
  for (int i = own.rank - 1; i >= 0; --i) {
    const int at = i + x.rank - own.rank;
    if (own[i] == 1) continue;
    if (at < begin || at >= end || own[i] != x[at]) return nullptr;
    strides[static_cast<size_t>(at - begin)] = step;
    step *= own[i];
  }
  if (own.rank > x.rank) return nullptr;
  if (step == count) return ir::with_shape(p, wanted);
  const std::vector<double> from = reals(*p);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (int d = wanted.rank - 1; d >= 0; --d) {
      at += rest % wanted[d] * strides[static_cast<size_t>(d)];
      rest /= wanted[d];
    }
    out.push_back(from[static_cast<size_t>(at)]);
  }
  return from_reals(p->tensor.type.dtype, wanted, out);
}

ir::ConstantPtr filled(DType t, const Shape& x, int begin, int end, double value) {
  Shape s;
  s.rank = end - begin;
  int64_t count = 1;
  for (int i = begin; i < end; ++i) {
    if (is_symbolic(x[i])) return nullptr;
    s[i - begin] = x[i];
    count *= x[i];
  }
  return from_reals(t, s, std::vector<double>(static_cast<size_t>(count), value));
}

// Scale and bias behind `end`, both over extents [first, past) of its output.
Tail tail_of(ir::Node& end, int first, int past, bool wants_bias) {
  Tail t;
  t.last = &end;
  const Shape& x = end.out()->type.shape;
  ir::ConstantPtr p;
  ir::Node* mul = step(end.out(), Op::kMul, &p);
  if (mul != nullptr && (t.scale = spread(p, x, first, past)) != nullptr) t.last = mul;
  ir::Node* add = wants_bias ? step(t.last->out(), Op::kAdd, &p) : nullptr;
  if (add != nullptr && (t.bias = spread(p, x, first, past)) != nullptr) t.last = add;
  return t;
}

bool put(ir::Graph& g, Op op, std::vector<uint8_t> attrs, ir::Value* x, const Tail& t, bool bias,
         std::set<const ir::Node*>* removed) {
  std::vector<ir::Value*> inputs{x, g.add_constant("", t.scale)};
  if (bias && t.bias != nullptr) inputs.push_back(g.add_constant("", t.bias));
  ir::Node* one = add_node(g, op, std::move(attrs), std::move(inputs), *t.last, t.last);
  if (one == nullptr) return false;
  if (one->out()->type != t.last->out()->type) {
    g.remove(one);
    return false;
  }
  one->out()->name = t.last->out()->name;
  g.replace_uses(t.last->out(), one->out());
  remove_unused(g, t.last, removed);
  return true;
}

template <class Table, class Object>
std::vector<uint8_t> packed(Object a, double epsilon, int axis) {
  a.epsilon = static_cast<float>(epsilon);
  a.axis = axis;
  return pack<Table>(a);
}

bool rewrite_recognise_norm(ir::Graph& g, ir::Node& end, const Norm& m, PassLog& log,
                            std::set<const ir::Node*>* removed) {
  ir::Value* x = m.x;
  ir::Node* core = &end;
  const Shape shape = x->type.shape;
  // 16-bit values that are float32 for this alone.
  const ir::Node* wide = maker(x, Op::kCast);
  ir::Node* narrow = only_user(end.out());
  if (wide != nullptr && narrow != nullptr && narrow->op == Op::kCast && x->type.dtype == DType::kF32 &&
      dtype_bits(wide->in(0)->type.dtype) == 16 && narrow->out()->type == wide->in(0)->type &&
      dtype_is_float(narrow->out()->type.dtype)) {
    x = wide->in(0);
    core = narrow;
  }
  const DType t = x->type.dtype;
  Tail tail = tail_of(*core, m.axis, shape.rank, !m.rms);
  if (!m.rms && m.axis == 2 && shape.rank > 2 && tail.scale == nullptr && !is_symbolic(shape[1])) {
    // Each image's channel by itself. Three dimensions without a parameter are as well rows of tokens.
    Tail channel = tail_of(*core, 1, 2, true);
    if (channel.scale != nullptr || shape.rank > 3) {
      if (channel.scale == nullptr) channel.scale = filled(t, shape, 1, 2, 1);
      if (channel.bias == nullptr) channel.bias = filled(t, shape, 1, 2, 0);
      attrs::GroupNormalizationT a;
      a.epsilon = static_cast<float>(m.epsilon);
      return put(g, Op::kGroupNormalization, pack<attrs::GroupNormalization>(a), x, channel, true, removed);
    }
  }
  if (tail.scale == nullptr) tail.scale = filled(t, shape, m.axis, shape.rank, 1);
  if (tail.scale == nullptr) {
    log.reject(end, "the normalised extents are not known");
    return false;
  }
  return put(g, m.rms ? Op::kRMSNormalization : Op::kLayerNormalization,
             m.rms ? packed<attrs::RMSNormalization>(attrs::RMSNormalizationT{}, m.epsilon, m.axis - shape.rank)
                   : packed<attrs::LayerNormalization>(attrs::LayerNormalizationT{}, m.epsilon, m.axis - shape.rank),
             x, tail, true, removed);
}

// One value a group, repeated for each of its channels.
ir::ConstantPtr repeated(const ir::Value* v, int64_t times) {
  if (v == nullptr || v->constant == nullptr) return nullptr;
  std::vector<double> out;
  for (const double x : reals(*v->constant)) out.insert(out.end(), static_cast<size_t>(times), x);
  return from_reals(v->type.dtype, {1, {static_cast<int64_t>(out.size())}}, out);
}

bool all_are(const ir::ConstantPtr& c, double value) {
  for (const double x : reals(*c)) {
    if (x != value) return false;
  }
  return true;
}

// Reshape(x, [N, G, ...]), each of the G channels by itself, Reshape back.
bool regroup(ir::Graph& g, ir::Node& n, PassLog& log, std::set<const ir::Node*>* removed) {
  const auto& a = n.attributes<attrs::GroupNormalization>();
  const ir::Node* split = maker(n.in(0), Op::kReshape);
  ir::Node* join = only_user(n.out());
  if (a.num_groups() != 0 || a.layout() != 0 || split == nullptr || join == nullptr || join->op != Op::kReshape)
    return false;
  const Shape &x = split->in(0)->type.shape, &inner = n.in(0)->type.shape;
  if (join->out()->type != split->in(0)->type || x.rank < 3 || x[0] != inner[0]) return false;
  if (is_symbolic(x[1]) || is_symbolic(inner[1]) || inner[1] == 0 || x[1] % inner[1] != 0) {
    log.reject(n, "groups do not divide the channels");
    return false;
  }
  if (n.in(0)->uses.size() != 1 || n.in(0)->output_uses != 0) {
    log.reject(n, "an inner value is used elsewhere");
    return false;
  }
  const int64_t each = x[1] / inner[1];
  ir::ConstantPtr scale = repeated(n.in(1), each), bias = repeated(n.in(2), each);
  if (scale == nullptr || bias == nullptr) {
    log.reject(n, "its scale or bias is not constant");
    return false;
  }
  Tail t;
  t.last = join;
  if (all_are(scale, 1) && all_are(bias, 0)) t = tail_of(*join, 1, 2, true);
  if (t.scale == nullptr) t.scale = scale;
  if (t.bias == nullptr) t.bias = bias;
  attrs::GroupNormalizationT group;
  group.epsilon = a.epsilon();
  group.num_groups = static_cast<int32_t>(inner[1]);
  return put(g, Op::kGroupNormalization, pack<attrs::GroupNormalization>(group), split->in(0), t, true, removed);
}

void run_recognise_norm(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> ends;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMul || n.op == Op::kDiv || n.op == Op::kGroupNormalization) ends.push_back(&n);
  }
  std::set<const ir::Node*> removed;
  for (ir::Node* n : ends) {
    if (removed.count(n) != 0) continue;
    if (n->op == Op::kGroupNormalization) {
      if (regroup(g, *n, log, &removed)) log.changed();
      continue;
    }
    const Norm m = match(*n);
    if (m.refused != nullptr) {
      log.reject(*n, m.refused);
    } else if (m.x != nullptr && rewrite_recognise_norm(g, *n, m, log, &removed)) {
      log.changed();
    }
  }
}

}  // namespace

const Pass kRecogniseNorm = {"recognise_norm", run_recognise_norm};

}  // namespace vireo::passes

// Activations that exporters spell out become the one operator that they are.
// Before   1 / (1 + Exp(-x))                                    After  Sigmoid(x);  x / (1 + Exp(-x))  Swish(x)
//          x * Sigmoid(a x)                                            Swish(x, alpha a): SiLU, quick GELU (a = 1.702)
//          x * HardSigmoid(x; 1/6, 1/2)                                HardSwish(x)
//          x * Clip(x + 3, 0, 6) / 6, in either order                  HardSwish(x)
//          Clip(x + 3, 0, 6) / 6                                       HardSigmoid(x; 1/6, 1/2)
//          Log(1 + Exp(x))                                             Softplus(x)
//          x * Tanh(Softplus(x))                                       Mish(x)
//          x * 0.5 * (1 + Erf(x / sqrt 2)), in any order               Gelu(x)
//          x * 0.5 * (1 + Tanh(k (x + 0.044715 x^3))), likewise        Gelu(x; tanh), k = sqrt(2 / pi); the sum also as
//          x (1 + 0.044715 x^2), powers as products or Pow
// Fires    every inner value is used here alone; constants are scalars within 1e-5 of the formula's (16-bit floats:
//          2^-8 of them; float64: 2^-50 of them, and a factor is a float32, for that is what an attribute holds).
//          Idempotent.
// Numerics the operator's kernel rounds a different number of times: a few units in the last place of float32. A
// constant
//          that is not the formula's to the bit is moved to it: by 1e-5 at most, which moves the activation by up to
//          6e-5 of itself (1/6; 2e-4 of Gelu's cubic term) and what follows by as much as the same change of the
//          model's constant would: a norm of a row that hardly varies amplifies both. Kept: exporters write 0.16667 and
//          0.70711. Where Exp overflows and Log hands infinity on, the operator gives the function's finite value.
// Source   Ramachandran et al. 2017, arXiv:1710.05941; Howard et al. 2019, arXiv:1905.02244; Hendrycks and Gimpel 2016,
//          arXiv:1606.08415; Misra 2019, arXiv:1908.08681.
#include "converter/passes/fuse/fuse_activation.h"

#include <algorithm>
#include <cmath>

#include "converter/passes/shared/match.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::passes {
namespace {

// v = number * x or x * number or x / (1 / number): returns x.
ir::Value* scaled(const ir::Value* v, double* number) {
  const ir::Node* n = v == nullptr ? nullptr : v->producer;
  if (n == nullptr || n->inputs.size() != 2) return nullptr;
  if (n->op == Op::kMul) {
    if (is_scalar(n->in(1), number)) return n->in(0);
    if (is_scalar(n->in(0), number)) return n->in(1);
  }
  if (n->op == Op::kDiv && is_scalar(n->in(1), number) && *number != 0) {
    *number = 1 / *number;
    return n->in(0);
  }
  return nullptr;
}

// A number of the formula's is `b`, as an exporter may write it in a graph of `t`. Float64 would show a moved digit.
bool near(double a, double b, DType t) {
  return std::fabs(a - b) <= (t == DType::kF64 ? std::fabs(b) * 0x1p-50 : 1e-5);
}
// One with many digits, which the model's own type has rounded.
bool near_rounded(double a, double b, DType t) {
  return dtype_bits(t) == 16 ? std::fabs(a - b) <= std::fabs(b) / 256 : near(a, b, t);
}
bool is_near(const ir::Value* v, double wanted) {
  double number = 0;
  return is_scalar(v, &number) && near(number, wanted, v->type.dtype);
}

// v = x + number: returns x.
ir::Value* shifted(const ir::Value* v, double number) {
  const ir::Node* n = maker(v, Op::kAdd);
  if (n == nullptr || n->inputs.size() != 2) return nullptr;
  if (is_near(n->in(1), number)) return n->in(0);
  return is_near(n->in(0), number) ? n->in(1) : nullptr;
}

struct Match {
  Op op = Op::kNone;
  ir::Value* x = nullptr;
  std::vector<uint8_t> attrs;
  std::vector<const ir::Value*> inner;  // all but the end's result
};

// v = Clip(x + 3, 0, 6): returns x.
ir::Value* relu6_of_shifted(const ir::Value* v, Match* m) {
  const ir::Node* clip = maker(v, Op::kClip);
  if (clip == nullptr || !is_near(clip->in(1), 0) || !is_near(clip->in(2), 6)) return nullptr;
  m->inner.insert(m->inner.end(), {v, clip->in(0)});
  return shifted(clip->in(0), 3);
}

// v = 1 + Exp(a x), a number: returns x.
ir::Value* exp_and_one(const ir::Value* v, double* number, Match* m) {
  const ir::Value* e = shifted(v, 1);
  const ir::Node* n = maker(e, Op::kExp);
  if (n == nullptr) return nullptr;
  m->inner.insert(m->inner.end(), {v, e});
  ir::Value* x = n->in(0);
  *number = 1;
  if (const ir::Node* minus = maker(x, Op::kNeg)) {
    m->inner.push_back(x);
    *number = -1;
    return minus->in(0);
  }
  double factor = 0;
  ir::Value* under = scaled(x, &factor);
  if (under == nullptr || !near(factor, -1, v->type.dtype)) return x;
  m->inner.push_back(x);
  *number = -1;
  return under;
}

// v = Softplus(x), also as Log(1 + Exp(x)): returns x.
ir::Value* under_softplus(const ir::Value* v, Match* m) {
  double number = 0;
  if (const ir::Node* n = maker(v, Op::kSoftplus)) {
    m->inner.push_back(v);
    return n->in(0);
  }
  const ir::Node* n = maker(v, Op::kLog);
  ir::Value* x = n == nullptr ? nullptr : exp_and_one(n->in(0), &number, m);
  m->inner.push_back(v);
  return x != nullptr && number == 1 ? x : nullptr;
}

Match done(Match m, Op op, ir::Value* x, std::vector<uint8_t> attrs) {
  m.op = op;
  m.x = x;
  m.attrs = std::move(attrs);
  return m;
}
Match plain(Match m, Op op, ir::Value* x) { return done(std::move(m), op, x, pack<attrs::Unary>(attrs::UnaryT{})); }
Match swish(Match m, ir::Value* x, double alpha) {
  attrs::SwishT a;
  a.alpha = static_cast<float>(alpha);
  return done(std::move(m), Op::kSwish, x, pack<attrs::Swish>(a));
}

constexpr const char* kOtherConstants = "its constants are not the formula's";

// x * gate. `refused` becomes the reason why what looks like one is none, here and below.
Match gated(ir::Value* x, ir::Value* gate, const char** refused) {
  if (x == nullptr || gate == nullptr) return {};
  Match m;
  m.inner.push_back(gate);
  if (const ir::Node* s = maker(gate, Op::kSigmoid)) {
    if (s->in(0) == x) return swish(m, x, 1);
    double alpha = 0;
    m.inner.push_back(s->in(0));
    if (scaled(s->in(0), &alpha) != x) return {};
    if (!std::isfinite(alpha)) {
      *refused = "its factor is not finite";
    } else if (!held(alpha, x->type.dtype)) {
      *refused = "its factor is no float32";
    } else {
      return swish(m, x, alpha);
    }
    return {};
  }
  if (const ir::Node* h = maker(gate, Op::kHardSigmoid)) {
    const auto& a = h->attributes<attrs::HardSigmoid>();
    if (h->in(0) != x) return {};
    if (near(a.alpha(), 1.0 / 6, x->type.dtype) && near(a.beta(), 0.5, x->type.dtype))
      return plain(m, Op::kHardSwish, x);
    *refused = kOtherConstants;
    return {};
  }
  if (const ir::Node* t = maker(gate, Op::kTanh))
    return under_softplus(t->in(0), &m) == x ? plain(m, Op::kMish, x) : Match{};
  double number = 0;
  ir::Value* six = scaled(gate, &number);
  if (six != nullptr && near(number, 1.0 / 6, x->type.dtype) && relu6_of_shifted(six, &m) == x)
    return plain(m, Op::kHardSwish, x);
  return {};
}

// A product of numbers and values: through inner products, quotients by a number, and whole powers.
struct Product {
  double number = 1;
  std::vector<ir::Value*> parts;  // a power as often as it is one
};
void factors(ir::Value* v, int depth, Product* out, Match* m) {
  // What has other uses is a factor itself: x may be a product.
  const ir::Node* n = depth == 0 || v->one_use() ? v->producer : nullptr;
  double number = 0;
  if (is_scalar(v, &number)) {
    out->number *= number;
  } else if (depth < 5 && n != nullptr && n->op == Op::kMul) {
    if (depth > 0) m->inner.push_back(v);
    factors(n->in(0), depth + 1, out, m);
    factors(n->in(1), depth + 1, out, m);
  } else if (depth < 5 && n != nullptr && n->op == Op::kDiv && is_scalar(n->in(1), &number) && number != 0) {
    if (depth > 0) m->inner.push_back(v);
    out->number /= number;
    factors(n->in(0), depth + 1, out, m);
  } else if (n != nullptr && n->op == Op::kPow && (is_number(n->in(1), 2) || is_number(n->in(1), 3))) {
    m->inner.push_back(v);
    out->parts.insert(out->parts.end(), is_number(n->in(1), 2) ? 2 : 3, n->in(0));
  } else {
    out->parts.push_back(v);
  }
}
Product product_of(ir::Value* v, Match* m) {
  Product p;
  factors(v, 0, &p, m);
  return p;
}
// number x^power
bool is_power(const Product& p, double number, const ir::Value* x, size_t power, DType t) {
  return near_rounded(p.number, number, t) && p.parts.size() == power &&
         std::all_of(p.parts.begin(), p.parts.end(), [&](const ir::Value* v) { return v == x; });
}

// v = sqrt(2 / pi) (x + 0.044715 x^3), or the same with x drawn out.
bool is_tanh_argument(ir::Value* v, const ir::Value* x, Match* m) {
  const DType t = x->type.dtype;
  m->inner.push_back(v);
  const Product p = product_of(v, m);
  if (!near_rounded(p.number, std::sqrt(2 / std::acos(-1.0)), t) || p.parts.empty()) return false;
  ir::Value* sum = p.parts[0] == x ? p.parts.back() : p.parts[0];
  const ir::Node* add = maker(sum, Op::kAdd);
  if (add == nullptr || p.parts.size() > 2 || (p.parts.size() == 2 && p.parts[0] != x && p.parts[1] != x)) return false;
  m->inner.push_back(sum);
  for (size_t i = 0; i < 2; ++i) {
    const bool drawn_out = p.parts.size() == 2;
    if (drawn_out ? !is_near(add->in(i), 1) : add->in(i) != x) continue;
    Match tried = *m;
    tried.inner.push_back(add->in(1 - i));
    if (!is_power(product_of(add->in(1 - i), &tried), 0.044715, x, drawn_out ? 2 : 3, t)) continue;
    *m = tried;
    return true;
  }
  return false;
}

// 0.5 x (1 + f(x))
Match gelu(const ir::Node& n, const char** refused) {
  Match all;
  const Product p = product_of(n.out(), &all);
  if (p.parts.size() != 2 || p.parts[0]->type != p.parts[1]->type || !near(p.number, 0.5, p.parts[0]->type.dtype))
    return {};
  for (size_t i = 0; i < 2; ++i) {
    Match m = all;
    ir::Value *x = p.parts[i], *e = shifted(p.parts[1 - i], 1);
    m.inner.insert(m.inner.end(), {p.parts[1 - i], e});
    attrs::GeluT a;
    double number = 0;
    if (const ir::Node* erf = maker(e, Op::kErf)) {
      m.inner.push_back(erf->in(0));
      if (scaled(erf->in(0), &number) != x) continue;
      if (!near_rounded(number, std::sqrt(0.5), x->type.dtype)) {
        *refused = kOtherConstants;
        continue;
      }
    } else if (const ir::Node* t = maker(e, Op::kTanh)) {
      if (!is_tanh_argument(t->in(0), x, &m)) {
        *refused = "what its Tanh takes is not the formula's";
        continue;
      }
      a.form = attrs::GeluForm::Tanh;
    } else {
      continue;
    }
    return done(m, Op::kGelu, x, pack<attrs::Gelu>(a));
  }
  return {};
}

// x / (1 + Exp(-x)), 1 / (1 + Exp(-x))
Match over_one_and_exp(const ir::Node& n) {
  Match m;
  double number = 0;
  ir::Value* x = exp_and_one(n.in(1), &number, &m);
  if (x == nullptr || number != -1) return {};
  if (is_number(n.in(0), 1)) return plain(m, Op::kSigmoid, x);
  return n.in(0) == x ? swish(m, x, 1) : Match{};
}

Match match_activation(const ir::Node& n, const char** refused) {
  if (n.out() == nullptr || !dtype_is_float(n.out()->type.dtype)) return {};
  Match m;
  if (n.op == Op::kLog) {
    ir::Value* x = under_softplus(n.out(), &m);
    if (x == nullptr) return {};
    m.inner.pop_back();  // the end itself
    return plain(m, Op::kSoftplus, x);
  }
  if (n.op == Op::kDiv) m = over_one_and_exp(n);
  if (m.x != nullptr) return m;
  if (n.op == Op::kMul) {
    m = gated(n.in(0), n.in(1), refused);
    if (m.x == nullptr) m = gated(n.in(1), n.in(0), refused);
  }
  if (m.x == nullptr) m = gelu(n, refused);
  if (m.x != nullptr) return m;
  double number = 0;
  ir::Value* inner = scaled(n.out(), &number);
  if (inner == nullptr || !near(number, 1.0 / 6, inner->type.dtype)) return {};
  if (ir::Value* x = relu6_of_shifted(inner, &m)) {
    if (!held(1.0 / 6, x->type.dtype)) {
      *refused = "its factor is no float32";
      return {};
    }
    attrs::HardSigmoidT a;
    a.alpha = 1.0f / 6;
    a.beta = 0.5f;
    return done(m, Op::kHardSigmoid, x, pack<attrs::HardSigmoid>(a));
  }
  const ir::Node* product = maker(inner, Op::kMul);
  for (size_t i = 0; product != nullptr && i < 2; ++i) {
    m = {};
    m.inner.push_back(inner);
    ir::Value* x = product->in(i);
    if (relu6_of_shifted(product->in(1 - i), &m) == x) return plain(m, Op::kHardSwish, x);
    const ir::Node* clip = maker(product->in(1 - i), Op::kClip);
    const ir::Node* sum = clip == nullptr ? nullptr : maker(clip->in(0), Op::kAdd);
    if (sum != nullptr && is_scalar(other_input(*sum, x), &number)) *refused = kOtherConstants;
  }
  return {};
}

// Each inner value has all its uses within the pattern.
bool match_enclosed(const Match& m, const ir::Node& end) {
  std::vector<ir::Node*> inside;
  for (const ir::Value* v : m.inner) {
    if (v->producer != nullptr) inside.push_back(v->producer);
  }
  return enclosed(inside, &end);
}

void run_fuse_activation(ir::Graph& g, PassLog& log) {
  // From the last node to the first, so that a whole x * Clip(x + 3) / 6 is seen before its parts.
  std::vector<ir::Node*> candidates;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMul || n.op == Op::kDiv || n.op == Op::kLog) candidates.push_back(&n);
  }
  std::vector<ir::Node*> replaced;
  for (size_t i = candidates.size(); i-- > 0;) {
    ir::Node& n = *candidates[i];
    if (n.out()->unused()) continue;
    const char* refused = nullptr;
    const Match m = match_activation(n, &refused);
    if (m.x == nullptr) {
      if (refused != nullptr) log.reject(n, refused);
      continue;
    }
    if (m.x->type != n.out()->type || !match_enclosed(m, n)) {
      log.reject(n, "an inner value is used elsewhere");
      continue;
    }
    ir::Node* one = add_node(g, m.op, m.attrs, {m.x}, n, &n);
    if (one == nullptr) continue;
    one->out()->name = n.out()->name;
    g.replace_uses(n.out(), one->out());
    replaced.push_back(&n);
    log.changed();
  }
  // A node inside a pattern lost its last use only when the pattern's end went; ends never stand inside each other's
  // chains.
  std::set<const ir::Node*> removed;
  for (ir::Node* n : replaced) {
    if (removed.count(n) == 0) remove_unused(g, n, &removed);
  }
}

}  // namespace

const Pass kFuseActivation = {"fuse_activation", run_fuse_activation};

}  // namespace vireo::passes

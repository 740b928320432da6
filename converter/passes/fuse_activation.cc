// Activations that exporters spell out become the one operator that they are.
// Before   x * Sigmoid(a x)                              After  Swish(x, alpha a)
//          x * HardSigmoid(x; 1/6, 1/2)                         HardSwish(x)
//          x * Clip(x + 3, 0, 6) / 6, in either order           HardSwish(x)
//          Clip(x + 3, 0, 6) / 6                                HardSigmoid(x; 1/6, 1/2)
//          x * 0.5 * (1 + Erf(x / sqrt 2)), in any order        Gelu(x)
// Fires    every inner value has one consumer; constants are scalars within 1e-5 of the formula's.       Idempotent.
// Numerics the operator's kernel rounds a different number of times: a few units in the last place of float32.
// Source   Ramachandran et al. 2017, arXiv:1710.05941; Howard et al. 2019, arXiv:1905.02244; Hendrycks and Gimpel 2016,
//          arXiv:1606.08415.
#include "converter/passes/fuse_activation.h"

#include <cmath>

#include "converter/passes/match.h"
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

// v = x + number: returns x.
ir::Value* shifted(const ir::Value* v, double number) {
  const ir::Node* n = maker(v, Op::kAdd);
  if (n == nullptr || n->inputs.size() != 2) return nullptr;
  if (is_scalar_near(n->in(1), number)) return n->in(0);
  return is_scalar_near(n->in(0), number) ? n->in(1) : nullptr;
}

bool single(const ir::Value* v) { return v->one_use(); }
bool near(double a, double b) { return std::fabs(a - b) <= 1e-5; }

// v = Clip(x + 3, 0, 6): returns x.
ir::Value* relu6_of_shifted(const ir::Value* v) {
  const ir::Node* clip = maker(v, Op::kClip);
  if (clip == nullptr || !single(v) || !is_scalar_near(clip->in(1), 0) || !is_scalar_near(clip->in(2), 6))
    return nullptr;
  return single(clip->in(0)) ? shifted(clip->in(0), 3) : nullptr;
}

struct Match {
  Op op = Op::kNone;
  ir::Value* x = nullptr;
  std::vector<uint8_t> attrs;
};

Match swish(ir::Value* x, double alpha) {
  attrs::SwishT a;
  a.alpha = static_cast<float>(alpha);
  return {Op::kSwish, x, pack<attrs::Swish>(a)};
}
Match plain(Op op, ir::Value* x) { return {op, x, pack<attrs::Unary>(attrs::UnaryT{})}; }

// x * gate
Match gated(ir::Value* x, ir::Value* gate) {
  if (x == nullptr || gate == nullptr || !single(gate)) return {};
  if (const ir::Node* s = maker(gate, Op::kSigmoid)) {
    if (s->in(0) == x) return swish(x, 1);
    double alpha = 0;
    if (single(s->in(0)) && scaled(s->in(0), &alpha) == x) return swish(x, alpha);
  }
  if (const ir::Node* h = maker(gate, Op::kHardSigmoid)) {
    const auto& a = h->attributes<attrs::HardSigmoid>();
    if (h->in(0) == x && near(a.alpha(), 1.0 / 6) && near(a.beta(), 0.5)) return plain(Op::kHardSwish, x);
  }
  double number = 0;
  ir::Value* six = scaled(gate, &number);
  if (six != nullptr && near(number, 1.0 / 6) && relu6_of_shifted(six) == x) return plain(Op::kHardSwish, x);
  return {};
}

// Factors of a product, through inner products of one consumer.
void factors(ir::Value* v, bool inner, int depth, std::vector<ir::Value*>* out) {
  const ir::Node* n = maker(v, Op::kMul);
  if (n == nullptr || depth == 3 || (inner && !single(v)) || n->inputs.size() != 2) {
    out->push_back(v);
    return;
  }
  factors(n->in(0), true, depth + 1, out);
  factors(n->in(1), true, depth + 1, out);
}

Match gelu(ir::Node& n) {
  std::vector<ir::Value*> parts;
  factors(n.out(), false, 0, &parts);
  if (parts.size() != 3) return {};
  for (const ir::Value* gate : parts) {
    if (!single(gate)) continue;
    const ir::Value* e = shifted(gate, 1);
    const ir::Node* erf = maker(e, Op::kErf);
    double number = 0;
    if (erf == nullptr || !single(e) || !single(erf->in(0))) continue;
    ir::Value* x = scaled(erf->in(0), &number);
    if (x == nullptr || !near(number, std::sqrt(0.5))) continue;
    bool has_x = false, has_half = false;
    for (const ir::Value* p : parts) {
      if (p == gate) continue;
      if (p == x && !has_x) {
        has_x = true;
      } else {
        has_half = is_scalar_near(p, 0.5);
      }
    }
    if (!has_x || !has_half) continue;
    return {Op::kGelu, x, pack<attrs::Gelu>(attrs::GeluT{})};
  }
  return {};
}

Match match(ir::Node& n) {
  if (n.inputs.size() != 2 || n.out() == nullptr || !dtype_is_float(n.out()->type.dtype)) return {};
  Match m;
  if (n.op == Op::kMul) {
    m = gated(n.in(0), n.in(1));
    if (m.x == nullptr) m = gated(n.in(1), n.in(0));
    if (m.x == nullptr) m = gelu(n);
  }
  double number = 0;
  ir::Value* inner = m.x == nullptr ? scaled(n.out(), &number) : nullptr;
  if (inner != nullptr && near(number, 1.0 / 6)) {
    if (ir::Value* x = relu6_of_shifted(inner)) {
      attrs::HardSigmoidT a;
      a.alpha = 1.0f / 6;
      a.beta = 0.5f;
      return {Op::kHardSigmoid, x, pack<attrs::HardSigmoid>(a)};
    }
    const ir::Node* product = single(inner) ? maker(inner, Op::kMul) : nullptr;
    for (int i = 0; product != nullptr && product->inputs.size() == 2 && i < 2; ++i) {
      ir::Value* x = product->in(static_cast<size_t>(i));
      if (relu6_of_shifted(product->in(static_cast<size_t>(1 - i))) == x) return plain(Op::kHardSwish, x);
    }
  }
  return m;
}

void run(ir::Graph& g, PassLog& log) {
  // From the last node to the first, so that a whole x * Clip(x + 3) / 6 is seen before its parts.
  std::vector<ir::Node*> candidates;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMul || n.op == Op::kDiv) candidates.push_back(&n);
  }
  std::vector<ir::Node*> replaced;
  for (size_t i = candidates.size(); i-- > 0;) {
    ir::Node& n = *candidates[i];
    if (n.out()->unused()) continue;
    const Match m = match(n);
    if (m.x == nullptr || m.x->type != n.out()->type) continue;
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

const Pass kFuseActivation = {"fuse_activation", run};

}  // namespace vireo::passes

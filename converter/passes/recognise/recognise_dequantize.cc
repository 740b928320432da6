// Constant codes that a graph widens by hand are dequantized by the operator, which kernels and quantized passes know.
// Before   Mul(Cast(w), s), Mul(Sub(Cast(w), z), s), operands in either order of the Mul        After
// DequantizeLinear(w, s, z)
// Fires    w is a constant of 8 or 16 bits, the Cast gives float32; s and z are constants: single numbers, or one
//          number for each index of one axis, the same for both; every z is a code of w's type. The nodes have one use
//          each.
// Cost     none. The codes stay codes: a table's rows are widened behind the Gather that picks them, and a product
//          reads a quarter of the bytes.
// Numerics none: codes and their differences are whole numbers that float32 holds, and one product is rounded once.
// Bound    removes two nodes or three for one and a view.        Idempotent.
#include "converter/passes/recognise/recognise_dequantize.h"

#include <algorithm>
#include <cmath>

#include "converter/passes/shared/quantized.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::passes {
namespace {

// Numbers along an axis of the codes; one number, whose axis means nothing, for all.
struct Along {
  std::vector<double> numbers;
  int axis = 0;
  bool one() const { return numbers.size() == 1; }
};

// False: `v` is not constant, or differs along several axes of a value of shape `x`, or widens it.
bool along(const ir::Value* v, const Shape& x, Along* out) {
  if (v->constant == nullptr || v->type.dtype != DType::kF32) return false;
  const Shape& s = v->type.shape;
  if (s.rank > x.rank) return false;
  int wide = 0;
  for (int i = 0; i < s.rank; ++i) {
    const int at = x.rank - s.rank + i;
    if (s[i] == 1) continue;
    if (s[i] != x[at]) return false;
    out->axis = at;
    ++wide;
  }
  if (wide > 1 || element_count(s) == 0) return false;
  out->numbers = reals(*v->constant);
  return true;
}

bool is_code_of(double z, DType t) { return z >= least(t) && z <= greatest(t) && z == std::floor(z); }

struct Match {
  ir::Value* codes = nullptr;
  Along scale, zero;
  bool has_zero = false;
};

// Null: `n` widens codes; else why not. Empty where it is nothing like it.
const char* match(const ir::Node& n, Match* out) {
  ir::Value* wide = nullptr;
  const ir::Value* scale = nullptr;
  for (size_t i = 0; i < 2 && wide == nullptr; ++i) {
    const ir::Node* from = n.in(i)->producer;
    if (from == nullptr || (from->op != Op::kCast && from->op != Op::kSub)) continue;
    wide = n.in(i);
    scale = n.in(1 - i);
  }
  if (wide == nullptr) return "";
  const ir::Node* sub = maker(wide, Op::kSub);
  const ir::Node* cast = maker(sub == nullptr ? wide : sub->in(0), Op::kCast);
  if (cast == nullptr || cast->in(0)->constant == nullptr || cast->out()->type.dtype != DType::kF32) return "";
  out->codes = cast->in(0);
  const TensorType& codes = out->codes->type;
  if (!is_code(codes.dtype)) return "";
  if (only_user(cast->out()) == nullptr || only_user(wide) == nullptr) return "the widened codes are used elsewhere";
  if (!along(scale, codes.shape, &out->scale) || n.out()->type.shape != codes.shape)
    return "the codes' scales differ along several axes or are not constant";
  if (sub == nullptr) return nullptr;
  out->has_zero = true;
  if (!along(sub->in(1), codes.shape, &out->zero) || wide->type.shape != codes.shape)
    return "the codes' zero points differ along several axes or are not constant";
  if (!std::all_of(out->zero.numbers.begin(), out->zero.numbers.end(),
                   [&](double z) { return is_code_of(z, codes.dtype); }))
    return "a zero point is no code";
  if (!out->scale.one() && !out->zero.one() && out->scale.axis != out->zero.axis)
    return "scales and zero points differ along different axes";
  return nullptr;
}

// Numbers for all of `count` indices.
std::vector<double> spread(const Along& a, size_t count) {
  return a.one() ? std::vector<double>(count, a.numbers[0]) : a.numbers;
}

bool rewrite_recognise_dequantize(ir::Graph& g, ir::Node* n, const Match& m) {
  const size_t count = std::max(m.scale.numbers.size(), m.has_zero ? m.zero.numbers.size() : 1);
  const Shape shape = count == 1 ? Shape() : vector_shape(static_cast<int64_t>(count));
  attrs::DequantizeLinearT a;
  a.axis = m.scale.one() && m.has_zero ? m.zero.axis : m.scale.axis;
  std::vector<ir::Value*> inputs = {m.codes,
                                    g.add_constant("", from_reals(DType::kF32, shape, spread(m.scale, count)))};
  if (m.has_zero) {
    const std::vector<double> zeros = spread(m.zero, count);
    inputs.push_back(g.add_constant("", code_constant(m.codes->type.dtype, shape, {zeros.begin(), zeros.end()})));
  }
  const ir::Node* made = add_node(g, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), std::move(inputs), *n, n);
  if (made == nullptr) return false;
  made->out()->name = n->out()->name;
  g.replace_uses(n->out(), made->out());
  remove_unused(g, n);
  return true;
}

void run_recognise_dequantize(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMul) products.push_back(&n);
  }
  for (ir::Node* n : products) {
    Match m;
    if (const char* why = match(*n, &m)) {
      if (*why != '\0') log.reject(*n, why);
    } else if (rewrite_recognise_dequantize(g, n, m)) {
      log.changed();
    } else {
      log.reject(*n, "its shape function refuses the codes");
    }
  }
}

}  // namespace

const Pass kRecogniseDequantize = {"recognise_dequantize", run_recognise_dequantize};

}  // namespace vireo::passes

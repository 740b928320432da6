// Regions that were marked as quantized compute on the codes.
// Before   DequantizeLinear -> Conv | Gemm | MatMul (-> Add of a constant) -> Relu | Clip -> QuantizeLinear
// After    IntConv | IntGemm; the bias in int32, Relu and Clip in the bounds of the codes
// Before   DequantizeLinear -> MatMul -> Mul | Div with a positive number -> Relu | Clip -> QuantizeLinear
// After    IntGemm; the number in its multiplier
// Before   DequantizeLinear of both -> Add | Sub | Mul -> Relu | Clip -> QuantizeLinear
// After    IntAdd | IntMul
// Before   DequantizeLinear -> AveragePool | GlobalAveragePool | ReduceMean | Softmax | Resize -> QuantizeLinear
// After    IntAveragePool (a mean over all axes between batch and channels) | IntSoftmax | IntResize
// Before   DequantizeLinear -> Mul | Div with a positive number -> Softmax -> QuantizeLinear
// After    IntSoftmax; the number in its table
// Before   the same with Where(kept, ., low) in front of the Softmax, low at most -1e30 and finite
// After    IntSoftmax of what is kept
// Before   DequantizeLinear -> PRelu | BatchNormalization -> Relu | Clip -> QuantizeLinear
// After    IntAffine
// Before   DequantizeLinear -> Relu | Clip -> QuantizeLinear, codes of 16 bits on one side
// After    IntAffine, or nothing where it changes no code
// Before   DequantizeLinear -> any functions of that one value -> QuantizeLinear
// After    IntTable, or nothing where the table changes no code
// Before   DequantizeLinear of each -> Concat -> QuantizeLinear
// After    Concat of the codes; IntTable, for 16 bits IntAffine, before it where a scale differs
// Before   QLinearConv | QLinearMatMul
// After    IntConv | IntGemm
// Fires    codes of 8 bits, and of 16 for all but functions, Softmax and Resize; weights of 8 or 4; one scale and zero
//          point, weights also one for each output channel; all of them constant and positive; values inside the region
//          have one consumer; no sum of 8-bit codes can leave int32. Idempotent.
// Numerics the integer formula replaces the float body: bounds in sdk/ops/INTEGER.md.
// Source   Jacob et al. 2018, arXiv:1712.05877, section 2.
#include "converter/passes/quantized/fold_quantization.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "converter/passes/quantized/integer_region.h"
#include "converter/passes/shared/spell_out.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::passes {
namespace {

constexpr size_t kMaxChain = 32;  // nodes of a function that becomes a table

bool is_function(const ir::Node& n) {
  if (n.outputs.size() != 1 || !n.bodies.empty() || !dtype_is_float(n.out()->type.dtype)) return false;
  switch (n.op) {
    case Op::kClip:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kPow:
    case Op::kMin:
    case Op::kMax:
    case Op::kPRelu:
    case Op::kIdentity:
      return true;
    case Op::kCast:
    case Op::kBitCast:
      return false;
    default:
      return is_elementwise(n.op) && n.def().max_inputs == 1;
  }
}

// What `v` is a function of, node by node: one dequantized value and scalar constants.
struct Function {
  const ir::Value* leaf = nullptr;
  std::vector<ir::Node*> nodes;  // in the order they can run

  bool collect(const ir::Value* v) {
    if (v == leaf && leaf != nullptr) return true;
    std::vector<double> constant;
    if (constant_reals(v, &constant)) return constant.size() == 1;
    ir::Node* n = v->producer;
    if (n == nullptr || nodes.size() > kMaxChain) return false;
    if (n->op == Op::kDequantizeLinear) {
      if (leaf != nullptr) return false;
      leaf = v;
      return true;
    }
    if (std::find(nodes.begin(), nodes.end(), n) != nodes.end()) return true;
    if (!is_function(*n)) return false;
    for (const ir::Value* in : n->inputs) {
      if (in != nullptr && !collect(in)) return false;
    }
    nodes.push_back(n);
    return true;
  }
  // Nothing outside uses a value inside; `end` uses the last.
  bool closed(const ir::Node* end) const {
    for (const ir::Node* n : nodes) {
      if (n->out()->output_uses != 0) return false;
      for (const ir::Use& u : n->out()->uses) {
        if (u.node != end && std::find(nodes.begin(), nodes.end(), u.node) == nodes.end()) return false;
      }
    }
    return true;
  }
  // The function's values for all codes of the leaf, as the nodes compute them: in their type, each rounded. A step
  // function jumps where its argument moves by a last place. Null where a kernel refuses.
  ir::ConstantPtr evaluate() const {
    std::map<const ir::Value*, ir::ConstantPtr> known;
    const ir::ConstantPtr x = all_values(*leaf->producer);
    if (x == nullptr) return nullptr;
    known[leaf] = x;
    for (const ir::Node* n : nodes) {
      std::vector<ir::ConstantPtr> in, result;
      for (const ir::Value* v : n->inputs) {
        std::vector<double> scalar;
        if (v == nullptr) {
          in.push_back(nullptr);
        } else if (known.count(v) != 0) {
          in.push_back(known[v]);
        } else if (constant_reals(v, &scalar)) {
          in.push_back(from_reals(v->type.dtype, Shape{}, scalar));
        } else {
          return nullptr;
        }
      }
      std::string message;
      if (!ir::evaluate_node(*n, in, 1 << 16, &result, &message)) return nullptr;
      known[n->out()] = result[0];
    }
    const ir::ConstantPtr last = nodes.empty() ? known[leaf] : known[nodes.back()->out()];
    return last->tensor.count() == x->tensor.count() ? last : nullptr;
  }
};

// Whether the region is a function of one value; then `out` is its replacement, or `why` says what stands in the way.
bool as_table(const Region& r, const ir::Value* v, ir::Value** out, std::string* why) {
  Function f;
  if (!f.collect(v) || f.leaf == nullptr || v->type.shape != f.leaf->type.shape) return false;
  Scale x;
  ir::Value* codes = codes_of(f.leaf, &x, why);
  if (codes == nullptr) {
    *why = "its operand " + *why;
    return true;
  }
  if (is_half_word(x.dtype) || is_half_word(r.y.dtype)) return false;  // no table of 65,536 entries
  if (!f.closed(r.end)) {
    *why = "a value inside has another consumer";
    return true;
  }
  const ir::ConstantPtr y = f.evaluate();
  if (y == nullptr) {
    *why = "it has no table: a kernel does not compute its values here";
    return true;
  }
  const ir::ConstantPtr table = make_table(y, *r.end);
  if (table == nullptr) {
    *why = "it is NaN for a code";
    return true;
  }
  *out = apply_table(*r.graph, codes, table, f.nodes.empty() ? *r.end : *f.nodes.back(), r.end);
  return true;
}

int32_t within(int32_t code, int32_t low, int32_t high) { return code < low ? low : code > high ? high : code; }

// Bounds of a Relu or a Clip with constant, ordered bounds.
bool bounds_of(const ir::Node& n, double* low, double* high) {
  *low = n.op == Op::kRelu ? 0 : -INFINITY;
  *high = INFINITY;
  if (n.op == Op::kRelu) return true;
  if (n.op != Op::kClip) return false;
  std::vector<double> bound;
  for (size_t i = 1; i < 3; ++i) {
    if (n.in(i) == nullptr) continue;
    if (!constant_reals(n.in(i), &bound) || bound.size() != 1 || std::isnan(bound[0])) return false;
    (i == 1 ? *low : *high) = bound[0];
  }
  return *low <= *high;
}

// Climbs over Relu and Clip; false with `why` when a value on the way has another consumer.
bool find_core(Region* r, std::string* why) {
  ir::Value* v = r->end->in(0);
  r->low = least(r->y.dtype);
  r->high = greatest(r->y.dtype);
  for (;;) {
    ir::Node* n = v->producer;
    if (n == nullptr) {  // a graph input: the border of the quantized part
      r->core = nullptr;
      return false;
    }
    r->core = n;
    r->result = v;
    if (n->op != Op::kDequantizeLinear && only_user(v) == nullptr) {
      *why = std::to_string(v->uses.size() + v->output_uses) + " consumers";
      return false;
    }
    double low = 0, high = 0;
    if (!bounds_of(*n, &low, &high)) return true;
    const int32_t l = code_of(*r->end, low), h = code_of(*r->end, high), was_low = r->low, was_high = r->high;
    r->low = within(l, was_low, was_high);
    r->high = within(h, was_low, was_high);
    v = n->in(0);
  }
}

// The MatMul that `n` multiplies with a positive number or divides by it, and the factor; null: it is nothing of that.
ir::Node* scaled_product(const ir::Node& n, double* factor) {
  ir::Value* x = scaled_value(n, factor);
  ir::Node* product = maker(x, Op::kMatMul);
  return product != nullptr && only_user(x) != nullptr ? product : nullptr;
}

ir::Value* fold(const Region& r, std::string* why) {
  ir::Node& n = *r.core;
  switch (n.op) {
    case Op::kConv:
      return make_int_conv(r, why);
    case Op::kGemm:
    case Op::kMatMul:
      return make_int_gemm(r, &n, nullptr, 1, why);
    case Op::kAdd:
      for (const ir::Value* v : n.inputs) {
        ir::Node* product = maker(v, Op::kMatMul);
        if (product != nullptr && only_user(v) != nullptr && n.out()->type == v->type)
          return make_int_gemm(r, product, &n, 1, why);
      }
      return make_int_add(r, why);
    case Op::kSub:
      return make_int_add(r, why);
    case Op::kMul:
    case Op::kDiv: {
      double factor = 0;
      ir::Node* product = scaled_product(n, &factor);
      if (product != nullptr) return make_int_gemm(r, product, nullptr, factor, why);
      if (n.op == Op::kMul) return make_int_mul(r, why);
      *why = "there is no integer form of Div";
      return nullptr;
    }
    case Op::kPRelu:
    case Op::kBatchNormalization:
      return make_int_affine(r, why);
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kReduceMean:
      return make_int_average(r, why);
    case Op::kSoftmax:
      return make_int_softmax(r, why);
    case Op::kResize:
      return make_int_resize(r, why);
    case Op::kConcat:
      return make_int_concat(r, why);
    case Op::kDequantizeLinear:
      return make_int_rescale(r, why);
    case Op::kLSTM:
    case Op::kGRU:  // fuse_recurrent has those with a state in codes
      if (n.attributes<attrs::Recurrent>().state_scale() != 0) return nullptr;
      [[fallthrough]];
    default:
      *why = "there is no integer form of " + std::string(op_name(n.op));
      return nullptr;
  }
}

bool is_trunk(Op op) { return op == Op::kConv || op == Op::kConvTranspose || op == Op::kGemm || op == Op::kMatMul; }

// What the region that ends in `end` becomes; null with the reason in the log. `core` is then who was to blame, null
// where nothing was in sight.
ir::Value* fold_region(ir::Graph& g, ir::Node* end, PassLog& log, const ir::Node** core) {
  Region r;
  r.graph = &g;
  r.end = end;
  std::string why;
  if (!read_scale(*end, &r.y, &why)) {
  } else if (!r.y.per_tensor()) {
    why = "it has a scale for each channel";
  } else if (!is_code(r.y.dtype)) {
    why = "its codes are " + std::string(dtype_name(r.y.dtype));
  }
  if (!why.empty()) {
    log.reject(*end, why);
    return nullptr;
  }
  ir::Value* y = nullptr;
  if (!as_table(r, end->in(0), &y, &why) && find_core(&r, &why)) y = fold(r, &why);
  *core = r.core;
  if (y == nullptr) {
    if (!why.empty()) log.reject(r.core != nullptr ? *r.core : *end, why);
    return nullptr;
  }
  if (y->producer != nullptr && y->unused()) y->name = end->out()->name;
  return y;
}

void run_fold_quantization(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> ends, done, literal;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kQuantizeLinear && !n.out()->unused()) ends.push_back(&n);
    if (n.op == Op::kQLinearConv || n.op == Op::kQLinearMatMul) literal.push_back(&n);
  }
  std::vector<const ir::Node*> said;
  const auto replace = [&](ir::Node* end, ir::Value* y) {
    g.replace_uses(end->out(), y);
    done.push_back(end);
    log.changed();
  };
  for (ir::Node* end : ends) {
    const ir::Node* core = nullptr;
    ir::Value* y = fold_region(g, end, log, &core);
    if (y == nullptr) {
      said.push_back(core);
    } else {
      replace(end, y);
    }
  }
  for (ir::Node* n : literal) {
    // Spelled out for as long as it takes; what does not fold stays the operator that it was.
    std::string why;
    ir::Node* end = spell_out(g, *n, &why);
    if (end == nullptr) {
      log.reject(*n, why);
      continue;
    }
    const ir::Node* core = nullptr;
    ir::Value* y = fold_region(g, end, log, &core);
    if (y != nullptr) {
      y->name = n->out()->name;
      replace(n, y);
    }
    remove_unused(g, end);
  }
  for (ir::Node* end : done) remove_unused(g, end);
  // What multiplies codes and is still float: its region had no end, or one that said why above.
  for (const ir::Node& n : g.nodes()) {
    if (!is_trunk(n.op) || maker(n.in(0), Op::kDequantizeLinear) == nullptr) continue;
    if (std::find(said.begin(), said.end(), &n) != said.end()) continue;
    log.reject(n, "its result is not quantized");
  }
}

}  // namespace

// An element near the middle of two codes may take the other one, and the layers behind it carry that on: evaluations
// of one quantized model that differ only there were seen 5 % of full scale apart. The check is against gross errors;
// the arithmetic itself has golden vectors.
const Pass kFoldQuantization = {"fold_quantization", run_fold_quantization, 0.1};

}  // namespace vireo::passes

// Before   x -> DynamicQuantizeLinear -> MatMulInteger | ConvInteger -> Cast to float32 -> Mul(x's scale * w's)
//          -> Add(bias) -> activation (a convolution's)
// After    DynamicQuantizeLinear, and one composite "dynamic_gemm" or "dynamic_conv" with the others as its body
// Fires    the weights (of a MatMulInteger: one matrix) and their zero point are constant; every value inside has one
//          consumer. Scale of w and bias are constant, a number or one a channel; the bias may be missing, and a
//          MatMulInteger may be multiplied with one scale after the other. A PRelu's slopes are constant.
//          Idempotent: bodies are not entered.
// Cost     The quantization stays outside: several products may share it, and x, four times the size of its codes, is
//          needed no longer when the product begins. A convolution takes its activation: one visit to each channel's
//          sums does what took four or five (vireo explain: dynamic_conv_f32_nchw). minifas_antispoof_dynquant takes
//          1.06 times as long without (tests/perf/OPTIMISER.md). A product's sums become float32 in registers
//          (dynamic_gemm_i8i8f32).
// Numerics none: the body is the meaning, in the same order of operations.
#include "converter/passes/quantized/fuse_dynamic_quantization.h"

#include <algorithm>

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/composites/function.h"
#include "sdk/composites/operand.h"

namespace vireo::passes {
namespace {

// What a convolution's channel may end with.
bool is_activation(const ir::Node& n, const ir::Value* x) {
  if (n.in(0) != x) return false;
  return (composites::function_uses(n.op) & composites::kEndsDynamic) != 0 || n.op == Op::kPRelu;
}

// A constant that is one number, or has one for each channel of a result of shape `y`.
bool is_one_a_channel(const ir::Value* v, const Shape& y, bool conv) {
  return v->constant != nullptr && v->type.shape.rank <= y.rank &&
         (v->constant->tensor.count() == 1 || composites::is_one_a_channel(v->type.shape, y, conv ? 1 : y.rank - 1));
}

// The nodes of the pattern around `product`, in the order of the graph; empty with `why`.
std::vector<ir::Node*> match(const ir::Graph& g, ir::Node& product, std::string* why) {
  ir::Node* quantize = maker(product.in(0), Op::kDynamicQuantizeLinear);
  if (quantize == nullptr) return {};
  if (product.in(2) == nullptr || product.in(2) != quantize->out(2)) {
    *why = "its zero point is not that of its operand";
    return {};
  }
  if (product.in(1)->constant == nullptr || (product.in(3) != nullptr && product.in(3)->constant == nullptr)) {
    *why = "its weights or their zero point are not constant";
    return {};
  }
  const bool conv = product.op == Op::kConvInteger;
  const Shape& y = product.out()->type.shape;
  if (!conv && product.in(1)->type.shape.rank != 2) {
    *why = "its weights are not one matrix";
    return {};
  }
  const auto next = [&](const ir::Value* v) {
    ir::Node* n = only_user(v);
    if (n == nullptr) *why = std::to_string(v->uses.size() + v->output_uses) + " consumers";
    return n;
  };
  std::vector<ir::Node*> found{&product};
  ir::Node* cast = next(product.out());
  if (cast == nullptr) return {};
  if (cast->op != Op::kCast || cast->out()->type.dtype != DType::kF32) {
    *why = "its sum goes to " + std::string(op_name(cast->op)) + " and not to float32";
    return {};
  }
  found.push_back(cast);
  // One product with both scales, or one with each.
  bool of_x = false;
  ir::Node* last = cast;
  int muls = 0;
  while (!of_x) {
    const ir::Value* v = last->out();
    ir::Node* mul = next(v);
    if (mul == nullptr) return {};
    ir::Value* other = mul->op == Op::kMul ? other_input(*mul, v) : nullptr;
    if (other == nullptr) {
      *why = "the scale of its operand is not multiplied in";
      return {};
    }
    if (other == quantize->out(1)) {
      of_x = true;
    } else if (ir::Node* scale = maker(other, Op::kMul)) {
      const ir::Value* w = other_input(*scale, quantize->out(1));
      of_x = w != nullptr && is_one_a_channel(w, y, conv);
      if (of_x && only_user(other) == mul) found.push_back(scale);
    }
    if (++muls > (conv ? 1 : 2) || (!of_x && !is_one_a_channel(other, y, conv))) {
      *why = "the scale of its operand is not multiplied in";
      return {};
    }
    found.push_back(mul);
    last = mul;
  }
  for (;;) {
    ir::Node* n = only_user(last->out());
    const ir::Value* other =
        n == nullptr || (n->op != Op::kAdd && n->op != Op::kMul) ? nullptr : other_input(*n, last->out());
    if (other == nullptr || !is_one_a_channel(other, y, conv) || n->out()->type != last->out()->type) break;
    if (n->op == Op::kMul && ++muls > (conv ? 1 : 2)) break;
    found.push_back(n);
    last = n;
    if (n->op == Op::kAdd) break;
  }
  ir::Node* act = only_user(last->out());
  if (conv && act != nullptr && act->out()->type == last->out()->type && is_activation(*act, last->out()) &&
      (act->op != Op::kPRelu || is_one_a_channel(act->in(1), y, conv))) {
    found.push_back(act);
  }
  std::vector<ir::Node*> ordered;
  for (const ir::Node& n : g.nodes()) {
    const auto it = std::find(found.begin(), found.end(), &n);
    if (it != found.end()) ordered.push_back(*it);
  }
  return ordered;
}

void run_fuse_dynamic_quantization(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMatMulInteger || n.op == Op::kConvInteger) products.push_back(&n);
  }
  for (ir::Node* n : products) {
    std::string why;
    const std::string name = n->name;  // the product's, whichever node stands first
    const std::vector<ir::Node*> nodes = match(g, *n, &why);
    if (nodes.empty()) {
      if (!why.empty()) log.reject(*n, why);
      continue;
    }
    ir::Node* one =
        make_composite(g, nodes, n->op == Op::kConvInteger ? composites::kDynamicConv : composites::kDynamicGemm);
    one->name = one->bodies[0]->name = name;
    log.changed();
  }
}

}  // namespace

const Pass kFuseDynamicQuantization = {"fuse_dynamic_quantization", run_fuse_dynamic_quantization};

}  // namespace vireo::passes

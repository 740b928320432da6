// Before   x -> Conv | Gemm | MatMul (weights, bias) -> y, float32
// After    x -> Cast to bfloat16 -> Cast to float32 -> the same (Cast of bfloat16 weights to float32, bias) -> y
// Fires    the weights are constant and finite in bfloat16; Conv
//          in one group and channels last; Gemm with x as it lies and a bias of
//          one value a column; weights of MatMul a matrix.        Idempotent: what has its Casts is left.
// Numerics bfloat16 has 8 significant bits, so each operand is rounded by at most u = 2^-8 of itself, and
//            |dy| <= (2 u + u^2) sum |w x|,
//          0.8 % of the sum of magnitudes at worst. Roundings are independent, so that of a sum of many terms it is
//          about u sqrt(2 / 3) of sqrt(sum (w x)^2). Sums are float32 as before; bias, residual and activation are not
//          rounded.
// Source   Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the Casts, the product and what follows it. Casts are for each product its own: a
// shared one would be a tensor in memory between nodes, and rounding on the way costs a kernel next to nothing.
#include "quant/schemes/bf16.h"

#include <cmath>
#include <cstring>
#include <map>

#include "sdk/base/half.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/window.h"

namespace vireo::quant {
namespace {

bool is_conv_for_it(const ir::Node& n, std::string* reason) {
  const auto& a = n.attributes<attrs::Conv>();
  if (a.group() != 1) {
    *reason = "in " + std::to_string(a.group()) + " groups: stays float32";
    return false;
  }
  if (static_cast<Layout>(a.layout()) != Layout::kNhwc) {
    *reason = "channels first: stays float32";
    return false;
  }
  return true;
}

bool is_gemm_for_it(const ir::Node& n, std::string* reason) {
  const auto& a = n.attributes<attrs::Gemm>();
  const Shape& w = n.in(1)->type.shape;
  const ir::Value* bias = n.in(2);
  const Dim columns = w[a.trans_b() ? 0 : 1];
  const bool row = bias == nullptr || (bias->type.shape.rank == 1 && bias->type.shape[0] == columns) ||
                   (bias->type.shape.rank == 2 && bias->type.shape[0] == 1 && bias->type.shape[1] == columns);
  if (a.trans_a() || !row || (bias != nullptr && a.beta() != 1)) {
    *reason = "a transposed x, or a bias other than one value a column: stays float32";
    return false;
  }
  return true;
}

// A product of the kinds above; `reason` says why it is left.
bool is_for_it(const ir::Node& n, std::string* reason) {
  if (n.op != Op::kConv && n.op != Op::kGemm && n.op != Op::kMatMul) return false;
  const ir::Value *x = n.in(0), *w = n.in(1);
  if (n.outputs.size() != 1 || x == nullptr || w == nullptr) return false;
  if (n.out()->type.dtype != DType::kF32 || x->type.dtype != DType::kF32 || w->type.dtype != DType::kF32) return false;
  if (x->producer != nullptr && x->producer->op == Op::kCast && x->producer->in(0)->type.dtype == DType::kBF16)
    return false;  // has its Casts
  if (w->constant == nullptr) {
    *reason = "weights that are computed stay float32";
    return false;
  }
  if (n.op == Op::kConv) return is_conv_for_it(n, reason);
  if (w->type.shape.rank != 2 || x->type.shape.rank < 2) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  return n.op == Op::kMatMul || is_gemm_for_it(n, reason);
}

// Null where a weight is too large for bfloat16: it would become infinite.
ir::ConstantPtr rounded(const ir::Constant& c) {
  const size_t count = c.tensor.bytes.size() / sizeof(float);
  std::vector<uint8_t> bytes(count * sizeof(uint16_t));
  for (size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, c.tensor.bytes.data() + i * sizeof(value), sizeof(value));
    const uint16_t bits = f32_to_bf16(value);
    if ((bits & 0x7FFF) == 0x7F80 && std::isfinite(value)) return nullptr;
    std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return ir::make_constant({DType::kBF16, c.tensor.type.shape}, std::move(bytes));
}

ir::Value* cast(ir::Graph& g, ir::Value* from, DType to, ir::Node& before) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {from}, 1, &before);
  n->name = before.name;
  n->out()->name = from->name + (to == DType::kBF16 ? "_bf16" : "_rounded");
  n->out()->type = {to, from->type.shape};
  return n->out();
}

void run(ir::Graph& g, SchemeLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    if (is_for_it(n, &reason)) {
      products.push_back(&n);
    } else if (!reason.empty()) {
      log.declined.emplace_back(n.name, reason);
    }
  }
  std::map<const ir::Constant*, ir::Value*> narrow;  // weights that several products share stay shared
  for (ir::Node* n : products) {
    const ir::ConstantPtr c = n->in(1)->constant;
    const auto at = narrow.find(c.get());
    ir::Value* weights = at == narrow.end() ? nullptr : at->second;
    if (at == narrow.end()) {
      const ir::ConstantPtr bits = rounded(*c);
      weights = bits == nullptr ? nullptr : g.add_constant(n->in(1)->name, bits);
      narrow[c.get()] = weights;
    }
    if (weights == nullptr) {
      log.declined.emplace_back(n->name, "a weight is beyond bfloat16: stays float32");
      continue;
    }
    g.set_input(n, 0, cast(g, cast(g, n->in(0), DType::kBF16, *n), DType::kF32, *n));
    g.set_input(n, 1, cast(g, weights, DType::kF32, *n));
    ++log.changes;
  }
  g.drop_unused_values();
}

}  // namespace

const Scheme kBf16 = {"bf16", "products (Conv, Gemm, MatMul) in bfloat16: half the weights", run, 0.05};

}  // namespace vireo::quant

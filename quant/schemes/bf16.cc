// Before   x -> Conv | Gemm | MatMul (weights, bias) -> y, float32
// After    x -> Cast to bfloat16 -> Cast to float32 -> the same (Cast of bfloat16 weights to float32, bias) -> y
// and      x -> LSTM (W, R, biases, h, c) -> y, y_h, y_c, float32
// to       x -> Cast to bfloat16 -> Cast to float32 -> LSTM (Casts of bfloat16 W and R to float32, biases, h, c)
// and      q, k, v -> Attention -> y, float32
// to       q, k, v -> Cast to bfloat16 -> Attention in bfloat16 -> Cast to float32 -> y
// Fires    the weights are constant and finite in bfloat16; Conv
//          in one group and channels last; Gemm with x as it lies and a bias of
//          one value a column; weights of MatMul a matrix; LSTM with its usual functions, no clip, peepholes or coupled
//          gates, whole sequences, time or one batch first. Attention without cached keys, windows, lengths and told
//          scores, whose queries number 8 or are not known: with fewer, reading the keys bounds it.
//          Idempotent: what has its Casts is left.
// Numerics bfloat16 has 8 significant bits, so each operand is rounded by at most u = 2^-8 of itself, and
//            |dy| <= (2 u + u^2) sum |w x|,
//          0.8 % of the sum of magnitudes at worst. Roundings are independent, so that of a sum of many terms it is
//          about u sqrt(2 / 3) of sqrt(sum (w x)^2). Sums are float32 as before; bias, residual and activation are not
//          rounded. A gate of LSTM has |dz| <= (2 u + u^2) sum |w x| + u sum |r h| at the first step; then |r dh| of
//          the step before comes to it: h and c are not rounded. Attention rounds q, k, v, the weights a of the keys
//          and y, each by at most u: scores move by at most e = (2 u + u^2) |scale| max sum |q k|, and |dy| <= (exp(2
//          e) (1 + u)^2 - 1) sum a |v| + u |y|.
// Source   Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the Casts, the product and what follows it. Casts are for each product its own;
// which values lie in bfloat16 between nodes is decided when nodes are fused (bf16_between.cc).
#include "quant/schemes/bf16.h"

#include <cmath>

#include "quant/schemes/bf16_between.h"
#include "quant/schemes/products16.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

constexpr Dim kFewestQueries = 8;

// Whether its products are worth it and its kernel takes it; `reason` says why it is left.
bool is_attention_for_it(const ir::Node& n, std::string* reason) {
  if (n.op != Op::kAttention || n.out()->type.dtype != DType::kF32) return false;
  for (const size_t i : {0, 1, 2}) {
    if (n.in(i)->type.dtype != DType::kF32) return false;
  }
  const auto& a = n.attributes<attrs::Attention>();
  const ir::Value* mask = n.in(3);
  const Shape &q = n.in(0)->type.shape, &y = n.out()->type.shape;
  const Dim queries = q[q.rank == 3 ? 1 : 2];
  if (n.outputs.size() != 1 || n.in(4) != nullptr) {
    *reason = "with cached keys: stays float32";
  } else if (a.left_window() >= 0 || a.right_window() >= 0 || n.in(6) != nullptr) {
    *reason = "with windows or lengths: stays float32";
  } else if (mask != nullptr &&
             ((mask->type.dtype != DType::kF32 && mask->type.dtype != DType::kBool) || mask->type.shape.rank == 0)) {
    *reason = "a mask of another type: stays float32";
  } else if (!(q == y) || (a.softcap() > 0 && !std::isnormal(a.scale() / a.softcap()) && !std::isnan(a.scale()))) {
    *reason = "values of another size than keys, or an odd scale: stays float32";
  } else if (!is_symbolic(queries) && queries < kFewestQueries) {
    *reason = "few queries: stays float32";
  } else {
    return true;
  }
  return false;
}

ir::Value* cast(ir::Graph& g, ir::Value* from, DType to, ir::Node& before) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {from}, 1, &before);
  n->name = before.name;
  n->out()->name = from->name + (to == DType::kBF16 ? "_bf16" : "_wide");
  n->out()->type = {to, from->type.shape};
  return n->out();
}

void round_attention(ir::Graph& g, ir::Node& n) {
  std::vector<ir::Value*> in = n.inputs;
  for (size_t i = 0; i < 3; ++i) in[i] = cast(g, in[i], DType::kBF16, n);
  ir::Node* rounded = g.add_node(n.op, n.attrs, std::move(in), 1, &n);
  rounded->name = n.name;
  rounded->version = n.version;
  rounded->out()->name = n.out()->name + "_bf16";
  rounded->out()->type = {DType::kBF16, n.out()->type.shape};
  ir::Value* const y = cast(g, rounded->out(), DType::kF32, n);
  y->name = n.out()->name;
  g.replace_uses(n.out(), y);
  g.remove(&n);
}

void run(ir::Graph& g, PassLog& log) {
  store_products(g, {DType::kBF16, true, true, true}, log);
  std::vector<ir::Node*> attention;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    if (is_attention_for_it(n, &reason)) {
      attention.push_back(&n);
    } else if (!reason.empty()) {
      log.reject(n, reason);
    }
  }
  for (ir::Node* n : attention) round_attention(g, *n);
  log.changes += attention.size();
  g.drop_unused_values();
}

}  // namespace

const Scheme kBf16 = {"bf16", "products (Conv, Gemm, MatMul, LSTM, Attention) in bfloat16: half the weights", run, 0.05,
                      keep_bf16_between};

}  // namespace vireo::quant

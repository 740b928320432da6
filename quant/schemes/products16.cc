#include "quant/schemes/products16.h"

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

bool is_gemm_by_rows(const ir::Node& n, std::string* reason) {
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

namespace {

bool is_conv_for_it(const ir::Node& n, const Stored16& how, std::string* reason) {
  const auto& a = n.attributes<attrs::Conv>();
  if (a.group() != 1) {
    *reason = "in " + std::to_string(a.group()) + " groups: stays float32";
    return false;
  }
  if (how.last_only && static_cast<Layout>(a.layout()) != Layout::kNhwc) {
    *reason = "channels first: stays float32";
    return false;
  }
  return true;
}

// A product of the kinds above; `reason` says why it is left.
bool is_for_it(const ir::Node& n, const Stored16& how, std::string* reason) {
  if (n.op != Op::kConv && n.op != Op::kGemm && n.op != Op::kMatMul) return false;
  const ir::Value *x = n.in(0), *w = n.in(1);
  if (n.outputs.size() != 1 || x == nullptr || w == nullptr) return false;
  if (n.out()->type.dtype != DType::kF32 || x->type.dtype != DType::kF32 || w->type.dtype != DType::kF32) return false;
  for (const ir::Value* v : {x, w}) {  // has its Casts
    if (v->producer != nullptr && v->producer->op == Op::kCast && dtype_bits(v->producer->in(0)->type.dtype) == 16)
      return false;
  }
  if (w->constant == nullptr) {
    *reason = "weights that are computed stay float32";
    return false;
  }
  if (n.op == Op::kConv) return is_conv_for_it(n, how, reason);
  if (w->type.shape.rank != 2 || x->type.shape.rank < 2) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  return n.op == Op::kMatMul || is_gemm_by_rows(n, reason);
}

// Null where a weight is too large for the type: it would become infinite.
ir::ConstantPtr rounded(const ir::Constant& c, DType type) {
  const size_t count = c.tensor.bytes.size() / sizeof(float);
  std::vector<uint8_t> bytes(count * sizeof(uint16_t));
  for (size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, c.tensor.bytes.data() + i * sizeof(value), sizeof(value));
    const uint16_t bits = type == DType::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
    if ((bits & 0x7FFF) == (type == DType::kBF16 ? 0x7F80 : 0x7C00) && std::isfinite(value)) return nullptr;
    std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return ir::make_constant({type, c.tensor.type.shape}, std::move(bytes));
}

ir::Value* cast(ir::Graph& g, ir::Value* from, DType to, ir::Node& before) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {from}, 1, &before);
  n->name = before.name;
  n->out()->name = from->name + (to == DType::kF32 ? "_rounded" : "_bf16");
  n->out()->type = {to, from->type.shape};
  return n->out();
}

}  // namespace

void store_products(ir::Graph& g, const Stored16& how, SchemeLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    if (is_for_it(n, how, &reason)) {
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
      const ir::ConstantPtr bits = rounded(*c, how.type);
      weights = bits == nullptr ? nullptr : g.add_constant(n->in(1)->name, bits);
      narrow[c.get()] = weights;
    }
    if (weights == nullptr) {
      log.declined.emplace_back(n->name, std::string("a weight is beyond ") + dtype_name(how.type) + ": stays float32");
      continue;
    }
    if (how.rounds_x) g.set_input(n, 0, cast(g, cast(g, n->in(0), how.type, *n), DType::kF32, *n));
    g.set_input(n, 1, cast(g, weights, DType::kF32, *n));
    ++log.changes;
  }
  g.drop_unused_values();
}

}  // namespace vireo::quant

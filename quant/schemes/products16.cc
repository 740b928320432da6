#include "quant/schemes/products16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "sdk/base/half.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/recurrent/recurrent.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/view.h"

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
    *reason = "a convolution in groups: stays float32";
    return false;
  }
  if (how.last_only && static_cast<Layout>(a.layout()) != Layout::kNhwc) {
    *reason = "channels first: stays float32";
    return false;
  }
  return true;
}

bool is_lstm_for_it(const ir::Node& n, std::string* reason) {
  const auto& a = n.attributes<attrs::Recurrent>();
  const Shape& x = n.in(0)->type.shape;
  const Dim steps = x[a.batch_first() ? 1 : 0];
  const ir::Value* lens = n.in(4);
  if (!has_usual_functions(true, a) || a.clip() != 0 || a.input_forget() || n.in(7) != nullptr) {
    *reason = "with other functions, clip, peepholes or coupled gates: stays float32";
    return false;
  }
  if (a.batch_first() && x[0] != 1) {
    *reason = "batches first: stays float32";
    return false;
  }
  if (lens == nullptr) return true;
  bool whole = lens->constant != nullptr && !is_symbolic(steps);
  for (size_t i = 0; whole && i < lens->constant->tensor.bytes.size() / sizeof(int32_t); ++i) {
    int32_t length = 0;
    std::memcpy(&length, lens->constant->tensor.bytes.data() + i * sizeof(length), sizeof(length));
    whole = length == steps;
  }
  if (!whole) *reason = "with lengths: stays float32";
  return whole;
}

// The operands that are its weights; none: it is no product.
std::vector<size_t> weights_of(const ir::Node& n, const Stored16& how) {
  if (n.op == Op::kConv || n.op == Op::kGemm || n.op == Op::kMatMul)
    return n.outputs.size() == 1 ? std::vector<size_t>{1} : std::vector<size_t>{};
  return n.op == Op::kLSTM && how.lstm ? std::vector<size_t>{1, 2} : std::vector<size_t>{};
}

// Float32, and without its Casts.
bool is_untouched(const ir::Value* v) {
  const bool cast = v != nullptr && v->producer != nullptr && v->producer->op == Op::kCast;
  return v != nullptr && v->type.dtype == DType::kF32 && !(cast && dtype_bits(v->producer->in(0)->type.dtype) == 16);
}

// A product of the kinds above; `reason` says why it is left.
bool is_for_it(const ir::Node& n, const Stored16& how, std::string* reason) {
  const std::vector<size_t> weights = weights_of(n, how);
  if (weights.empty() || !is_untouched(n.in(0))) return false;
  for (const size_t i : weights) {
    if (!is_untouched(n.in(i))) return false;
  }
  for (const size_t i : weights) {
    if (n.in(i)->constant != nullptr) continue;
    *reason = "weights that are computed stay float32";
    return false;
  }
  if (n.op == Op::kLSTM) return is_lstm_for_it(n, reason);
  if (n.op == Op::kConv) return is_conv_for_it(n, how, reason);
  if (n.in(1)->type.shape.rank != 2 || n.in(0)->type.shape.rank < 2) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  return n.op == Op::kMatMul || is_gemm_by_rows(n, reason);
}

// Which of a product's outputs a weight belongs to.
struct Outputs {
  size_t count = 1, inner = 1;
  size_t of(size_t i) const { return i / inner % count; }
};

Outputs outputs_of(const ir::Node& n, const ir::Constant& weights) {
  const Shape& s = weights.tensor.type.shape;
  const size_t all = static_cast<size_t>(weights.tensor.count());
  const bool by_columns = n.op == Op::kMatMul || (n.op == Op::kGemm && !n.attributes<attrs::Gemm>().trans_b());
  if (by_columns) return {static_cast<size_t>(s[1]), 1};
  const auto rows = static_cast<size_t>(n.op == Op::kLSTM ? s[0] * s[1] : s[0]);  // [D, 4 H, .], else [O, ...]
  return {rows, rows == 0 ? 1 : all / rows};
}

// Sums of squares.
struct Noise {
  double signal = 0, noise = 0;
  void add(double w, double rounded) {
    signal += w * w;
    noise += (w - rounded) * (w - rounded);
  }
  double share() const { return signal > 0 ? std::sqrt(noise / signal) : 0; }
};

struct Rounded {
  ir::Value* value = nullptr;  // null: the weights stay as they are
  std::string reason;          // why
};

// Weights in a type of 16 bits. They stay float32 where one would become infinite, or where all together lose more than
// the type's digits, because they lie below its range.
Rounded rounded(ir::Graph& g, const ir::Value& w, DType type, const Outputs& outputs, PassLog& log) {
  const ir::Constant& c = *w.constant;
  const size_t count = c.tensor.bytes.size() / sizeof(float);
  const bool bf16 = type == DType::kBF16;
  const double digits = bf16 ? 0x1p-8 : 0x1p-11;  // the most that a weight within the range is off by
  std::vector<uint8_t> bytes(count * sizeof(uint16_t));
  std::vector<Noise> each(outputs.count);
  Noise all;
  for (size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, c.tensor.bytes.data() + i * sizeof(value), sizeof(value));
    const uint16_t bits = bf16 ? f32_to_bf16(value) : f32_to_f16(value);
    if ((bits & 0x7FFF) == (bf16 ? 0x7F80 : 0x7C00) && std::isfinite(value))
      return {nullptr, std::string("a weight is beyond ") + dtype_name(type) + ": stays float32"};
    const double back = static_cast<double>(bf16 ? bf16_to_f32(bits) : f16_to_f32(bits));
    all.add(static_cast<double>(value), back);
    each[outputs.of(i)].add(static_cast<double>(value), back);
    std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  if (all.share() > digits)
    return {nullptr, std::string("the weights lie below ") + dtype_name(type) + "'s range: stays float32"};
  double lost = 0;
  for (const Noise& one : each) lost = std::max(lost, one.share());
  const double infinite = std::numeric_limits<double>::infinity();
  log.errors.push_back(
      {w.name, all.noise > 0 ? 10 * std::log10(all.signal / all.noise) : infinite, lost > digits ? lost : 0});
  return {g.add_constant(w.name, ir::make_constant({type, c.tensor.type.shape}, std::move(bytes))), ""};
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

void store_products(ir::Graph& g, const Stored16& how, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    if (is_for_it(n, how, &reason)) {
      products.push_back(&n);
    } else if (!reason.empty()) {
      log.reject(n, reason);
    }
  }
  std::map<const ir::Constant*, Rounded> narrow;  // weights that several products share stay shared
  const auto narrowed = [&](const ir::Node& n, size_t i) -> const Rounded& {
    const ir::Value& w = *n.in(i);
    const auto [at, is_new] = narrow.emplace(w.constant.get(), Rounded{});
    if (is_new) at->second = rounded(g, w, how.type, outputs_of(n, *w.constant), log);
    return at->second;
  };
  for (size_t at = 0; at < products.size(); ++at) {
    ir::Node* n = products[at];
    if (log.progress) log.progress(n->in(1)->name, static_cast<double>(at) / static_cast<double>(products.size()));
    const std::vector<size_t> weights = weights_of(*n, how);
    const auto left =
        std::find_if(weights.begin(), weights.end(), [&](size_t i) { return narrowed(*n, i).value == nullptr; });
    if (left != weights.end()) {
      log.reject(*n, narrowed(*n, *left).reason);
      continue;
    }
    if (how.rounds_x) g.set_input(n, 0, cast(g, cast(g, n->in(0), how.type, *n), DType::kF32, *n));
    for (const size_t i : weights) g.set_input(n, i, cast(g, narrowed(*n, i).value, DType::kF32, *n));
    ++log.changes;
  }
  g.drop_unused_values();
}

}  // namespace vireo::quant

// Before   LayerNormalization | RMSNormalization (gains g, bias b) -> x; Gemm | MatMul (x, W) of each reader of x
// After    the same with g / s, b / s and s W, a factor s for each channel
// Fires    gains and bias are constant, one number a channel of the last axis; only products that become codes of 4
//          bits read x, and nobody else reads their weights. s is a power of sqrt(g^2 + b^2), which is what x is like
//          in a channel whatever the data are: 0, a half or 1, whichever loses least. Called before products get their
//          codes, and once: those that have codes are none of `products`.
// Numerics none but rounding in float32. The loss, the sum of (sqrt(g^2 + b^2) (w - w'))^2 over all weights, never
//          rises: a power of 0 leaves everything as it is.
// Source   Lin et al. 2023, arXiv:2306.00978, section 3.2, with the normalisation's own parameters in place of data.
#include "quant/schemes/fold_gains.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quant/schemes/weights.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo::quant {
namespace {

// A gain that is less than this of the largest is taken for as much.
constexpr float kLeastShare = 1e-3f;

std::vector<float> numbers(const ir::Value* v) {
  if (v == nullptr || v->constant == nullptr || v->type.dtype != DType::kF32 || v->type.shape.rank != 1) return {};
  std::vector<float> out(v->constant->tensor.bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), v->constant->tensor.bytes.data(), out.size() * sizeof(float));
  return out;
}

// What x is like in each channel; empty: not known.
std::vector<float> magnitudes(const ir::Node& norm) {
  std::vector<float> out = numbers(norm.in(1));
  const std::vector<float> bias = numbers(norm.in(2));
  if (out.empty() || (norm.in(2) != nullptr && bias.size() != out.size())) return {};
  for (size_t k = 0; k < out.size(); ++k) out[k] = std::hypot(out[k], bias.empty() ? 0.0f : bias[k]);
  const float most = *std::max_element(out.begin(), out.end());
  if (!std::isnormal(most)) return {};
  for (float& v : out) v = std::max(v, most * kLeastShare);
  return out;
}

// Powers of `magnitudes`, even ones 1.
std::vector<float> factors_of(const std::vector<float>& magnitudes, double power) {
  const auto [least, most] = std::minmax_element(magnitudes.begin(), magnitudes.end());
  const double middle = std::sqrt(static_cast<double>(*least) * static_cast<double>(*most));
  std::vector<float> out;
  out.reserve(magnitudes.size());
  for (const float v : magnitudes) out.push_back(static_cast<float>(std::pow(static_cast<double>(v) / middle, power)));
  return out;
}

// The products that read `norm`, where nothing else does and their weights are theirs.
std::vector<ir::Node*> readers_of(const ir::Node& norm, const std::vector<ir::Node*>& products,
                                  const std::function<bool(const ir::Node&)>& may_change) {
  std::vector<ir::Node*> out;
  const ir::Value* const x = norm.out();
  if (x == nullptr || x->output_uses != 0 || norm.out(1) != nullptr || norm.out(2) != nullptr) return {};
  for (const ir::Use& use : x->uses) {
    const bool is_product = std::find(products.begin(), products.end(), use.node) != products.end();
    if (!is_product || use.input != 0 || !may_change(*use.node) || !use.node->in(1)->one_use()) return {};
    out.push_back(use.node);
  }
  return out;
}

bool is_norm(const ir::Node& n) {
  if (n.op != Op::kLayerNormalization && n.op != Op::kRMSNormalization) return false;
  const int axis = n.op == Op::kRMSNormalization ? n.attributes<attrs::RMSNormalization>().axis()
                                                 : n.attributes<attrs::LayerNormalization>().axis();
  const int rank = n.in(0)->type.shape.rank;
  return normalize_axis(axis, rank) == rank - 1;
}

// True: the factors changed.
bool fold(ir::Graph& g, const GainedProducts& products) {
  const std::vector<float> importance = magnitudes(*products.norm);
  if (importance.empty()) return false;
  const std::vector<float> factors = best_factors(products, importance, {0.5, 1.0});
  if (factors.empty()) return false;
  move_gains(g, products, factors);
  return true;
}

}  // namespace

GainedProducts gained_products(ir::Node& norm, const std::vector<ir::Node*>& products,
                               const std::function<bool(const ir::Node&)>& may_change) {
  if (!is_norm(norm) || numbers(norm.in(1)).empty()) return {};
  if (norm.in(2) != nullptr && numbers(norm.in(2)).size() != numbers(norm.in(1)).size()) return {};
  GainedProducts out = {&norm, readers_of(norm, products, may_change)};
  const auto channels = static_cast<int64_t>(numbers(norm.in(1)).size());
  for (const ir::Node* n : out.readers) {
    if (n->in(1)->type.shape[has_columns_in_rows(*n) ? 1 : 0] != channels) return {};
  }
  return out;
}

std::vector<float> best_factors(const GainedProducts& products, const std::vector<float>& importance,
                                const std::vector<double>& powers) {
  const auto loss = [&](const std::vector<float>& factors) {
    double sum = 0;
    for (const ir::Node* n : products.readers)
      sum += loss_of_codes(*n->in(1)->constant, has_columns_in_rows(*n), factors, importance);
    return sum;
  };
  std::vector<float> best;
  double least = loss(factors_of(importance, 0));
  for (const double power : powers) {
    std::vector<float> factors = factors_of(importance, power);
    const double lost = loss(factors);
    if (lost >= least) continue;
    least = lost;
    best = std::move(factors);
  }
  return best;
}

void divide_gains(ir::Graph& g, ir::Node& norm, const std::vector<float>& factors) {
  for (const size_t input : {1, 2}) {
    const ir::Value* const was = norm.in(input);
    if (was == nullptr) continue;
    std::vector<float> now = numbers(was);
    for (size_t k = 0; k < now.size(); ++k) now[k] /= factors[k];
    g.set_input(&norm, input,
                g.add_constant(was->name, ir::make_constant_of<float>(DType::kF32, was->type.shape, now)));
  }
}

void move_gains(ir::Graph& g, const GainedProducts& products, const std::vector<float>& factors) {
  for (ir::Node* n : products.readers) {
    const ir::Value* const w = n->in(1);
    g.set_input(n, 1, g.add_constant(w->name, multiply_rows(*w->constant, has_columns_in_rows(*n), factors)));
  }
  divide_gains(g, *products.norm, factors);
}

size_t fold_gains(ir::Graph& g, const std::vector<ir::Node*>& products,
                  const std::function<bool(const ir::Node&)>& may_change) {
  size_t changed = 0;
  for (ir::Node& n : g.nodes()) {
    const GainedProducts found = gained_products(n, products, may_change);
    if (found.norm != nullptr && !found.readers.empty() && fold(g, found)) ++changed;
  }
  return changed;
}

}  // namespace vireo::quant

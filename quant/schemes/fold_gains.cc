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

#include "quant/schemes/matrix_codes.h"
#include "sdk/ops/gemm/gemm_generated.h"
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

bool by_rows(const ir::Node& product) { return product.op == Op::kGemm && product.attributes<attrs::Gemm>().trans_b(); }

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

void divide(ir::Graph& g, ir::Node& norm, size_t input, const std::vector<float>& factors) {
  const ir::Value* const was = norm.in(input);
  if (was == nullptr) return;
  std::vector<float> now = numbers(was);
  for (size_t k = 0; k < now.size(); ++k) now[k] /= factors[k];
  g.set_input(&norm, input, g.add_constant(was->name, ir::make_constant_of<float>(DType::kF32, was->type.shape, now)));
}

// True: the factors changed.
bool fold(ir::Graph& g, ir::Node& norm, const std::vector<ir::Node*>& readers) {
  const std::vector<float> importance = magnitudes(norm);
  const int64_t k = static_cast<int64_t>(importance.size());
  if (importance.empty()) return false;
  for (const ir::Node* n : readers) {
    if (n->in(1)->type.shape[by_rows(*n) ? 1 : 0] != k) return false;
  }
  double least = 0, best = 0;
  for (const double power : {0.0, 0.5, 1.0}) {
    const std::vector<float> factors = factors_of(importance, power);
    double loss = 0;
    for (const ir::Node* n : readers) loss += loss_of_codes(*n->in(1)->constant, by_rows(*n), factors, importance);
    if (power == 0 || loss < least) {
      least = loss;
      best = power;
    }
  }
  if (best == 0) return false;
  const std::vector<float> factors = factors_of(importance, best);
  for (ir::Node* n : readers) {
    const ir::Value* const w = n->in(1);
    g.set_input(n, 1, g.add_constant(w->name, multiply_rows(*w->constant, by_rows(*n), factors)));
  }
  for (const size_t input : {1, 2}) divide(g, norm, input, factors);
  return true;
}

bool is_norm(const ir::Node& n) {
  if (n.op != Op::kLayerNormalization && n.op != Op::kRMSNormalization) return false;
  const int axis = n.op == Op::kRMSNormalization ? n.attributes<attrs::RMSNormalization>().axis()
                                                 : n.attributes<attrs::LayerNormalization>().axis();
  const int rank = n.in(0)->type.shape.rank;
  return normalize_axis(axis, rank) == rank - 1;
}

}  // namespace

size_t fold_gains(ir::Graph& g, const std::vector<ir::Node*>& products,
                  const std::function<bool(const ir::Node&)>& may_change) {
  size_t changed = 0;
  for (ir::Node& n : g.nodes()) {
    if (!is_norm(n)) continue;
    const std::vector<ir::Node*> readers = readers_of(n, products, may_change);
    if (!readers.empty() && fold(g, n, readers)) ++changed;
  }
  return changed;
}

}  // namespace vireo::quant

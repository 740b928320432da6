#include "quant/int4/eight_bits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/schemes/matrix_codes.h"

namespace vireo::quant {
namespace {

bool is_cache(const ir::Value& output) {
  const ir::Node* const n = output.producer;
  return n != nullptr && n->op == Op::kConcat &&
         std::any_of(n->inputs.begin(), n->inputs.end(), [](const ir::Value* v) {
           return v != nullptr && v->producer == nullptr && v->constant == nullptr;
         });
}

// Half of the variance of is - was under the softmax of `was`.
double divergence(const float* was, const float* is, int64_t count) {
  const auto most = static_cast<double>(*std::max_element(was, was + count));
  double all = 0, mean = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(was[i]) - most);
    const double d = static_cast<double>(is[i]) - static_cast<double>(was[i]);
    all += p;
    mean += p * d;
    square += p * d * d;
  }
  if (!(all > 0)) return 0;
  mean /= all;
  return 0.5 * std::max(0.0, square / all - mean * mean);
}

}  // namespace

std::vector<size_t> best_raises(const std::vector<Raise>& raises, uint64_t budget) {
  std::vector<size_t> order(raises.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto worth = [&](size_t i) {
    return raises[i].loss / static_cast<double>(std::max<uint64_t>(1, raises[i].bytes));
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return worth(a) > worth(b); });
  std::vector<size_t> out;
  for (const size_t i : order) {
    if (!(raises[i].loss > 0) || raises[i].bytes > budget) continue;
    budget -= raises[i].bytes;
    out.push_back(i);
  }
  std::sort(out.begin(), out.end());
  return out;
}

uint64_t bytes_of_codes(int64_t k, int64_t n, int bits) {
  const auto rows = static_cast<uint64_t>(k), columns = static_cast<uint64_t>(n);
  if (bits == 8) return rows * columns + 4 * columns;
  const auto block = static_cast<uint64_t>(kCodesBlock);
  return rows * columns / 2 + 2 * columns * ((rows + block - 1) / block);
}

void AnswerLoss::add(const TensorView& was, const TensorView& is, bool is_scores) {
  if (was.dtype != DType::kF32 || is.dtype != DType::kF32 || was.bytes.size() != is.bytes.size() || was.dims.empty())
    return;
  const auto* const a = reinterpret_cast<const float*>(was.bytes.data());
  const auto* const b = reinterpret_cast<const float*>(is.bytes.data());
  const auto count = static_cast<int64_t>(was.bytes.size() / sizeof(float));
  const int64_t row = was.dims.back();
  if (count == 0) return;
  if (is_scores) {
    for (int64_t i = 0; i < count; i += row) divergence_ += divergence(a + i, b + i, row);
    rows_ += static_cast<double>(count) / static_cast<double>(row);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double v = a[i], d = static_cast<double>(b[i]) - v;
    signal_ += v * v;
    noise_ += d * d;
  }
}

std::vector<const ir::Value*> answers_of(const ir::Graph& graph) {
  std::vector<const ir::Value*> all, answers;
  for (const ir::Value* v : graph.outputs()) {
    if (v->type.dtype != DType::kF32 || v->constant != nullptr) continue;
    all.push_back(v);
    if (!is_cache(*v)) answers.push_back(v);
  }
  return answers.empty() ? all : answers;
}

}  // namespace vireo::quant

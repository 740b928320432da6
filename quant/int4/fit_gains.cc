#include "quant/int4/fit_gains.h"

#include <algorithm>
#include <cstring>

#include "quant/schemes/feedback.h"

namespace vireo::quant {
namespace {

constexpr double kDamping = 0.01;          // keeps d near 1 where the data say little
constexpr double kLeast = 0.5, kMost = 2;  // of d

// At once: the head of a language model has more columns than anything else is large.
constexpr int64_t kColumns = 1024;

// A row of K numbers for each of columns [first, last) of the product.
std::vector<float> columns_of(const ir::Constant& w, bool by_rows, int64_t first, int64_t last) {
  const int64_t k = w.tensor.type.shape[by_rows ? 1 : 0], n = w.tensor.type.shape[by_rows ? 0 : 1];
  std::vector<float> out(static_cast<size_t>((last - first) * k));
  const auto* const from = w.tensor.bytes.data();
  if (by_rows) {
    std::memcpy(out.data(), from + static_cast<size_t>(first * k) * sizeof(float), out.size() * sizeof(float));
    return out;
  }
  std::vector<float> line(static_cast<size_t>(last - first));
  for (int64_t i = 0; i < k; ++i) {
    std::memcpy(line.data(), from + static_cast<size_t>(i * n + first) * sizeof(float), line.size() * sizeof(float));
    for (size_t j = 0; j < line.size(); ++j) out[j * static_cast<size_t>(k) + static_cast<size_t>(i)] = line[j];
  }
  return out;
}

}  // namespace

void GainFit::add(const ir::Constant& was, const ir::Constant& is, bool by_rows) {
  const int64_t k = was.tensor.type.shape[by_rows ? 1 : 0], n = was.tensor.type.shape[by_rows ? 0 : 1];
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t last = std::min(first + kColumns, n);
    const std::vector<float> before = columns_of(was, by_rows, first, last), now = columns_of(is, by_rows, first, last);
    squares_.add(now.data(), now.data(), last - first, k);
    products_.add(before.data(), now.data(), last - first, k);
  }
}

std::vector<float> GainFit::factors() {
  const auto size = static_cast<size_t>(squares_.size());
  if (size == 0 || moment_.size() != size * size) return {};
  std::vector<double> a = squares_.take_mean();
  const std::vector<double> w = products_.take_mean();
  // The loss is d^T A d - 2 b^T d and what d does not change.
  std::vector<double> b(size, 0);
  for (size_t k = 0; k < size; ++k) {
    for (size_t j = 0; j < size; ++j) {
      const size_t at = k * size + j;
      b[k] += (moment_[at] + (drift_.empty() ? 0 : drift_[at])) * w[j * size + k];
      a[at] *= moment_[at];
    }
  }
  std::vector<double> step = b;  // d - 1
  for (size_t k = 0; k < size; ++k) {
    for (size_t j = 0; j < size; ++j) step[k] -= a[k * size + j];
  }
  Moment(a, static_cast<int64_t>(size), kDamping).solve(step.data());
  const auto loss = [&](const std::vector<double>& d) {
    double sum = 0;
    for (size_t k = 0; k < size; ++k) {
      double line = 0;
      for (size_t j = 0; j < size; ++j) line += a[k * size + j] * d[j];
      sum += d[k] * (line - 2 * b[k]);
    }
    return sum;
  };
  std::vector<double> d;
  d.reserve(size);
  for (const double s : step) d.push_back(std::clamp(1 + s, kLeast, kMost));
  if (loss(d) >= loss(std::vector<double>(size, 1))) return {};
  std::vector<float> out;
  out.reserve(size);
  for (const double v : d) out.push_back(static_cast<float>(1 / v));
  return out;
}

}  // namespace vireo::quant

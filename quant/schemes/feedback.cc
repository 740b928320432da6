#include "quant/schemes/feedback.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vireo::quant {
namespace {
constexpr double kLeastRest = 1e-12;
}

Moment::Moment(std::vector<double> values, int64_t size, double damping) : size_(size), values_(std::move(values)) {
  values_.resize(static_cast<size_t>(size * size), 0);
  double trace = 0;
  for (int64_t i = 0; i < size; ++i) trace += at(i, i);
  const double raised = trace > 0 ? damping * trace / static_cast<double>(size) : 1;
  for (int64_t i = 0; i < size; ++i) diagonal_.push_back(values_[static_cast<size_t>(i * size + i)] += raised);
  factorise();
}

// H = R R^T with R upper, from the last column on; U is the inverse of R.
void Moment::factorise() {
  const int64_t n = size_;
  std::vector<double> r(values_.size(), 0);
  for (int64_t j = n; j-- > 0;) {
    double* const last = r.data() + j * n;
    for (int64_t i = 0; i <= j; ++i) {
      double* const row = r.data() + i * n;
      row[j] = at(i, j);
      for (int64_t m = j + 1; m < n; ++m) row[j] -= row[m] * last[m];
    }
    // Rounding of float64 can leave nothing of a channel that others repeat.
    const double root = std::sqrt(std::max(last[j], at(j, j) * kLeastRest));
    for (int64_t i = 0; i < j; ++i) r[static_cast<size_t>(i * n + j)] /= root;
    last[j] = root;
  }
  upper_.assign(values_.size(), 0);
  for (int64_t i = n; i-- > 0;) {
    double* const u = upper_.data() + i * n;
    const double* const ri = r.data() + i * n;
    u[i] = 1;
    for (int64_t m = i + 1; m < n; ++m) {
      const double* const um = upper_.data() + m * n;
      for (int64_t j = m; j < n; ++j) u[j] -= ri[m] * um[j];
    }
    for (int64_t j = i; j < n; ++j) u[j] /= ri[i];
  }
}

void Moment::add_row(int64_t i, double factor, double* to) const {
  const double* const row = values_.data() + i * size_;
  for (int64_t j = 0; j < size_; ++j) to[j] += factor * row[j];
}

double Moment::of(const double* error) const {
  double sum = 0;
  for (int64_t i = 0; i < size_; ++i) {
    const double* const row = values_.data() + i * size_;
    double line = 0;  // behind the diagonal; before it lies the same
    for (int64_t j = i + 1; j < size_; ++j) line += row[j] * error[j];
    sum += error[i] * (row[i] * error[i] + 2 * line);
  }
  return sum;
}

void Moment::solve(double* b) const {
  std::vector<double> turned(static_cast<size_t>(size_), 0);  // U b
  for (int64_t i = 0; i < size_; ++i) {
    for (int64_t j = i; j < size_; ++j) turned[static_cast<size_t>(i)] += feedback(i)[j] * b[j];
  }
  std::fill(b, b + size_, 0.0);
  for (int64_t i = 0; i < size_; ++i) {
    for (int64_t j = i; j < size_; ++j) b[j] += feedback(i)[j] * turned[static_cast<size_t>(i)];
  }
}

}  // namespace vireo::quant

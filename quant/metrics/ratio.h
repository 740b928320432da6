// Metrics that are a ratio of two sums over the samples: shares, means, signal to noise.
#ifndef VIREO_QUANT_METRICS_RATIO_H_
#define VIREO_QUANT_METRICS_RATIO_H_

#include <vector>

#include "quant/metrics/metric.h"

namespace vireo::quant {

class Ratio : public Metric {
 public:
  using Metric::value;
  double value(Span<const uint32_t> times) const override;
  const std::vector<double>& each() const override { return each_; }

 protected:
  void put(double part, double whole);
  // What the metric makes of sum(part) and sum(whole).
  virtual double finish(double part, double whole) const { return part / whole; }

 private:
  std::vector<double> parts_, wholes_, each_;
};

// The class with the largest score, the first of equal ones. NaN is below all numbers.
size_t best_of(const float* scores, size_t count);
// -log of the probability that softmax gives to `label`.
double negative_log(const float* scores, size_t count, size_t label);

// "" where the output is scores of classes that `label` is one of: one row, of at least `least` classes.
std::string scores_fault(const Output& output, size_t least, const std::vector<int64_t>& labels);
// "" where both have the same shape and hold numbers.
std::string reference_fault(const Output& output, const Output* reference);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_RATIO_H_

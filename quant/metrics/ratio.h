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
  // Puts the sum of of_row(scores, classes, label) over the rows of the output. What scores_fault() says.
  template <class OfRow>
  std::string put_rows(const Sample& sample, size_t least, const OfRow& of_row);
  // What the metric makes of sum(part) and sum(whole).
  virtual double finish(double part, double whole) const { return part / whole; }

 private:
  std::vector<double> parts_, wholes_, each_;
};

// The class with the largest score, the first of equal ones. NaN is below all numbers.
size_t best_of(const float* scores, size_t count);
// -log of the probability that softmax gives to `label`.
double negative_log(const float* scores, size_t count, size_t label);

// Classes along the last axis; where one dimension is above 1, along that.
size_t row_width(const Output& output);
// "" where the output is rows of scores, of at least `least` classes, with one of them as the label of each row.
std::string scores_fault(const Output& output, size_t least, const std::vector<int64_t>& labels);
// "" where both have the same shape and hold numbers.
std::string reference_fault(const Output& output, const Output* reference);

template <class OfRow>
std::string Ratio::put_rows(const Sample& sample, size_t least, const OfRow& of_row) {
  std::string fault = scores_fault(*sample.output, least, sample.labels);
  if (!fault.empty()) return fault;
  const size_t rows = sample.labels.size(), classes = sample.output->values.size() / rows;
  double sum = 0;
  for (size_t i = 0; i < rows; ++i)
    sum += of_row(&sample.output->values[i * classes], classes, static_cast<size_t>(sample.labels[i]));
  put(sum, static_cast<double>(rows));
  return "";
}

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_RATIO_H_

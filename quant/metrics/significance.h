// How sure a metric's value is, and whether two models differ on the same samples.
#ifndef VIREO_QUANT_METRICS_SIGNIFICANCE_H_
#define VIREO_QUANT_METRICS_SIGNIFICANCE_H_

#include <stdint.h>

#include <vector>

#include "quant/metrics/metric.h"

namespace vireo::quant {

constexpr size_t kResamples = 1000;

// The metric on kResamples selections of its samples, drawn with replacement. Selection k is the same for all metrics
// of as many samples, so that differences of two results are paired (Efron 1979).
std::vector<double> resampled(const Metric& metric);

struct Interval {
  double lo = 0, hi = 0;
};
// Where the middle 95 % of the values lie. NaN are left out.
Interval middle95(std::vector<double> values);

struct Apart {
  bool mcnemar = false;  // the test: McNemar's, exact, for shares of right answers; else the paired bootstrap
  double p = 1;          // McNemar's; else two-sided, from the selections with the other sign
  Interval interval;     // of the difference
  bool apart = false;    // at 95 %
  // Samples at which a difference of this size would be told apart with a probability of 80 %; 0: there is no
  // difference.
  double samples_needed = 0;
};

// `counts`: MetricKind::counts of both. `drawn_...`: resampled() of each. As many samples in both.
Apart compare(const Metric& a, const Metric& b, bool counts, const std::vector<double>& drawn_a,
              const std::vector<double>& drawn_b);

// Two-sided probability of as uneven a split of only_a + only_b as this one, were both sides as likely (McNemar 1947,
// exact).
double mcnemar(uint64_t only_a, uint64_t only_b);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_SIGNIFICANCE_H_

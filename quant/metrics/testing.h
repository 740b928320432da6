// What tests of metrics share.
#ifndef VIREO_QUANT_METRICS_TESTING_H_
#define VIREO_QUANT_METRICS_TESTING_H_

#include <string>
#include <vector>

#include "quant/metrics/metric.h"

namespace vireo::quant::testing {

// Output 'y' of shape 1xN.
inline Output row(const std::vector<float>& values) {
  Output out;
  out.name = "y";
  out.dims = {1, static_cast<int64_t>(values.size())};
  out.values = values;
  return out;
}

inline std::string added(Metric* metric, const Output& output, const std::vector<int64_t>& labels,
                         const Output* reference = nullptr) {
  Sample sample;
  sample.output = &output;
  sample.reference = reference;
  sample.labels = labels;
  return metric->add(sample);
}

}  // namespace vireo::quant::testing

#endif  // VIREO_QUANT_METRICS_TESTING_H_

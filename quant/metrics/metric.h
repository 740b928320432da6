// Metrics of models on labelled data. They see the outputs of one sample after the other and keep a few numbers of
// each, so that a value over any selection of the samples can be had: significance.h draws such selections.
#ifndef VIREO_QUANT_METRICS_METRIC_H_
#define VIREO_QUANT_METRICS_METRIC_H_

#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "quant/metrics/boxes.h"
#include "sdk/base/span.h"

namespace vireo::quant {

// An output of one sample, row-major. Strings are in `texts`, all else in `values`.
struct Output {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> values;
  std::vector<std::string> texts;
};

// What a model made of one sample, and what is right. A metric reads what its `needs` says.
struct Sample {
  const Output* output = nullptr;     // the one that is judged
  const Output* reference = nullptr;  // what it is compared with: the first model's, or the data's
  std::vector<int64_t> labels;        // one class; the token behind each row of the output; the class of each pixel
  std::vector<Box> boxes, found;      // in the data; of the model
  std::string text;
};

enum class Needs { kLabel, kTokens, kPixels, kBoxes, kText, kReference };

class Metric {
 public:
  virtual ~Metric() = default;
  // Takes a sample. "" or why the metric does not fit it: then nothing was taken.
  virtual std::string add(const Sample& sample) = 0;
  // Over all samples, sample i counted times[i] times. NaN where nothing is counted.
  virtual double value(Span<const uint32_t> times) const = 0;
  // One number a sample, better where the metric is: the worst samples are found by it.
  virtual const std::vector<double>& each() const = 0;

  double value() const;
  size_t samples() const { return each().size(); }
};

struct MetricKind {
  const char* name;
  const char* about;  // for help texts
  Needs needs;
  bool higher_is_better;
  bool counts;  // a row is right (1) or wrong (0), and the value is the share of those that are right
  std::unique_ptr<Metric> (*make)();
};

Span<const MetricKind> metric_kinds();
const MetricKind* find_metric(const std::string& name);  // nullptr: none has this name

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_METRIC_H_

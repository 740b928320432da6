// Mean intersection over union of the classes that are in the data or in the answers. An output is a class for each
// pixel, or scores with the classes in front of the pixels (1, C, H, W), else behind them. Pixels whose label is below
// 0, or 255 where there are fewer classes, are left out.
#include <math.h>

#include <algorithm>
#include <map>

#include "quant/metrics/kinds.h"
#include "quant/metrics/metric.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

struct Areas {
  double both = 0, either = 0;
};
using ByClass = std::map<int64_t, Areas>;

double mean_of(const ByClass& classes) {
  double sum = 0;
  size_t count = 0;
  for (const auto& [label, areas] : classes) {
    if (areas.either == 0) continue;
    sum += areas.both / areas.either;
    ++count;
  }
  return count == 0 ? static_cast<double>(NAN) : sum / static_cast<double>(count);
}

class Miou final : public Metric {
 public:
  using Metric::value;
  std::string add(const Sample& s) override {
    const size_t pixels = s.labels.size(), size = s.output->values.size();
    if (pixels == 0 || size == 0 || size % pixels != 0) {
      return "output '" + s.output->name + "' has " + std::to_string(size) + " numbers, and the label " +
             std::to_string(pixels) + " pixels";
    }
    const size_t classes = size / pixels;
    ByClass found;
    std::vector<float> scores(classes);
    for (size_t p = 0; p < pixels; ++p) {
      const int64_t label = s.labels[p];
      if (label < 0 || (label == 255 && (classes > 1 ? classes <= 255 : true))) continue;
      if (classes > 1 && label >= static_cast<int64_t>(classes))
        return "label " + std::to_string(label) + " is none of the " + std::to_string(classes) + " classes";
      for (size_t c = 0; c < classes; ++c)
        scores[c] = s.output->values[in_front(*s.output, classes) ? c * pixels + p : p * classes + c];
      const int64_t answer = classes > 1 ? static_cast<int64_t>(best_of(scores.data(), classes)) : llroundf(scores[0]);
      found[label].either += 1;
      if (answer == label)
        found[label].both += 1;
      else
        found[answer].either += 1;
    }
    each_.push_back(mean_of(found));
    samples_.push_back(std::move(found));
    return "";
  }

  double value(Span<const uint32_t> times) const override {
    ByClass sum;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (times[i] == 0) continue;
      for (const auto& [label, areas] : samples_[i]) {
        sum[label].both += times[i] * areas.both;
        sum[label].either += times[i] * areas.either;
      }
    }
    return mean_of(sum);
  }
  const std::vector<double>& each() const override { return each_; }

 private:
  static bool in_front(const Output& output, size_t classes) {
    return output.dims.size() > 2 && output.dims[1] == static_cast<int64_t>(classes);
  }

  std::vector<ByClass> samples_;
  std::vector<double> each_;
};

}  // namespace

std::unique_ptr<Metric> make_miou() { return std::make_unique<Miou>(); }

}  // namespace vireo::quant

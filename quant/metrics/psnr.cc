// Peak signal to noise in dB: 10 log10(peak^2 / mean of (output - reference)^2), at most 300. The peak is the range of
// the reference, from its least to its greatest number over all samples.
#include <math.h>

#include <algorithm>

#include "quant/metrics/kinds.h"
#include "quant/metrics/metric.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

constexpr double kMost = 300;

class Psnr final : public Metric {
 public:
  using Metric::value;
  std::string add(const Sample& s) override {
    std::string fault = reference_fault(*s.output, s.reference);
    if (!fault.empty()) return fault;
    double noise = 0;
    for (size_t i = 0; i < s.output->values.size(); ++i) {
      const double b = static_cast<double>(s.reference->values[i]), d = static_cast<double>(s.output->values[i]) - b;
      noise += d * d;
      least_ = std::min(least_, b);
      greatest_ = std::max(greatest_, b);
    }
    noise_.push_back(noise);
    numbers_.push_back(static_cast<double>(s.output->values.size()));
    closeness_.push_back(-noise / std::max(1.0, numbers_.back()));
    return "";
  }

  double value(Span<const uint32_t> times) const override {
    double noise = 0, numbers = 0;
    for (size_t i = 0; i < noise_.size(); ++i) {
      noise += times[i] * noise_[i];
      numbers += times[i] * numbers_[i];
    }
    if (numbers == 0) return static_cast<double>(NAN);
    const double peak = greatest_ - least_;
    return noise == 0 ? kMost : std::min(kMost, 10 * log10(peak * peak * numbers / noise));
  }
  // The mean squared difference with its sign turned: the range is known only at the end.
  const std::vector<double>& each() const override { return closeness_; }

 private:
  double least_ = INFINITY, greatest_ = -INFINITY;
  std::vector<double> noise_, numbers_, closeness_;
};

}  // namespace

std::unique_ptr<Metric> make_psnr() { return std::make_unique<Psnr>(); }

}  // namespace vireo::quant

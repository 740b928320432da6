// Signal to noise in dB over all samples: 10 log10(sum ref^2 / sum (output - ref)^2), within +-300: equal outputs have
// no noise.
#include <math.h>

#include <algorithm>

#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

constexpr double kMost = 300;

class Sqnr final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = reference_fault(*s.output, s.reference);
    if (!fault.empty()) return fault;
    double signal = 0, noise = 0;
    for (size_t i = 0; i < s.output->values.size(); ++i) {
      const double b = static_cast<double>(s.reference->values[i]), d = static_cast<double>(s.output->values[i]) - b;
      signal += b * b;
      noise += d * d;
    }
    put(signal, noise);
    return "";
  }

 protected:
  double finish(double signal, double noise) const override {
    if (noise == 0) return kMost;
    return signal == 0 ? -kMost : std::clamp(10 * log10(signal / noise), -kMost, kMost);
  }
};

}  // namespace

std::unique_ptr<Metric> make_sqnr() { return std::make_unique<Sqnr>(); }

}  // namespace vireo::quant

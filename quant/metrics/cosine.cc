// Mean of the cosines between an output and the reference's. Two outputs of zeros count as equal.
#include <math.h>

#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Cosine final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = reference_fault(*s.output, s.reference);
    if (!fault.empty()) return fault;
    double dot = 0, own = 0, other = 0;
    for (size_t i = 0; i < s.output->values.size(); ++i) {
      const double a = static_cast<double>(s.output->values[i]), b = static_cast<double>(s.reference->values[i]);
      dot += a * b;
      own += a * a;
      other += b * b;
    }
    const double norms = sqrt(own) * sqrt(other);
    put(norms > 0 ? dot / norms : own == other ? 1 : 0, 1);
    return "";
  }
};

}  // namespace

std::unique_ptr<Metric> make_cosine() { return std::make_unique<Cosine>(); }

}  // namespace vireo::quant

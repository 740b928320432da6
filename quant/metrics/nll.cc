// Mean of -log p(label), p the softmax of the scores: natural logarithms, scores before the softmax.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Nll final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = scores_fault(*s.output, 2, s.labels);
    if (!fault.empty()) return fault;
    const std::vector<float>& scores = s.output->values;
    put(negative_log(scores.data(), scores.size(), static_cast<size_t>(s.labels[0])), 1);
    return "";
  }
};

}  // namespace

std::unique_ptr<Metric> make_nll() { return std::make_unique<Nll>(); }

}  // namespace vireo::quant

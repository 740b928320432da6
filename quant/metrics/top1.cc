// The share of samples whose label has the best score.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Top1 final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = scores_fault(*s.output, 2, s.labels);
    if (!fault.empty()) return fault;
    const std::vector<float>& scores = s.output->values;
    put(best_of(scores.data(), scores.size()) == static_cast<size_t>(s.labels[0]) ? 1 : 0, 1);
    return "";
  }
};

}  // namespace

std::unique_ptr<Metric> make_top1() { return std::make_unique<Top1>(); }

}  // namespace vireo::quant

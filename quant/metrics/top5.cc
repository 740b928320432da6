// The share of samples whose label is among the five best scores. Of equal scores the lower class is the better one.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

constexpr size_t kPlaces = 5;

class Top5 final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = scores_fault(*s.output, kPlaces + 1, s.labels);
    if (!fault.empty()) return fault;
    const std::vector<float>& scores = s.output->values;
    const auto label = static_cast<size_t>(s.labels[0]);
    size_t better = 0;
    for (size_t i = 0; i < scores.size(); ++i)
      better += scores[i] > scores[label] || (scores[i] == scores[label] && i < label) ? 1 : 0;
    put(better < kPlaces && scores[label] == scores[label] ? 1 : 0, 1);
    return "";
  }
};

}  // namespace

std::unique_ptr<Metric> make_top5() { return std::make_unique<Top5>(); }

}  // namespace vireo::quant

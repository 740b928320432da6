// The share of samples whose label is among the five best scores. Of equal scores the lower class is the better one.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

constexpr size_t kPlaces = 5;

class Top5 final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    return put_rows(s, kPlaces + 1, [](const float* scores, size_t classes, size_t label) {
      size_t better = 0;
      for (size_t i = 0; i < classes; ++i)
        better += scores[i] > scores[label] || (scores[i] == scores[label] && i < label) ? 1 : 0;
      return better < kPlaces && scores[label] == scores[label] ? 1.0 : 0.0;
    });
  }
};

}  // namespace

std::unique_ptr<Metric> make_top5() { return std::make_unique<Top5>(); }

}  // namespace vireo::quant

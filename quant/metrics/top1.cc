// The share of samples, or of the rows of samples, whose label has the best score.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Top1 final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    return put_rows(s, 2, [](const float* scores, size_t classes, size_t label) {
      return best_of(scores, classes) == label ? 1.0 : 0.0;
    });
  }
};

}  // namespace

std::unique_ptr<Metric> make_top1() { return std::make_unique<Top1>(); }

}  // namespace vireo::quant

// Mean of -log p(label), p the softmax of the scores: natural logarithms, scores before the softmax.
#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Nll final : public Ratio {
 public:
  std::string add(const Sample& s) override { return put_rows(s, 2, negative_log); }
};

}  // namespace

std::unique_ptr<Metric> make_nll() { return std::make_unique<Nll>(); }

}  // namespace vireo::quant

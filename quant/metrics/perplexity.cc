// exp of the mean -log p(next token), over all tokens.
#include <math.h>

#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Perplexity final : public Ratio {
 public:
  std::string add(const Sample& s) override { return put_rows(s, 2, negative_log); }

 protected:
  double finish(double sum, double tokens) const override { return exp(sum / tokens); }
};

}  // namespace

std::unique_ptr<Metric> make_perplexity() { return std::make_unique<Perplexity>(); }

}  // namespace vireo::quant

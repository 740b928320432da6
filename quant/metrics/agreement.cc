// The share of rows whose best class is the reference's. Rows are along the last axis; an output with one dimension
// above 1 is a row.
#include <algorithm>

#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

class Agreement final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    std::string fault = reference_fault(*s.output, s.reference);
    if (!fault.empty()) return fault;
    const size_t size = s.output->values.size(), width = row_width(*s.output);
    if (width < 2) return "output '" + s.output->name + "' has no two classes to choose from";
    const size_t rows = size / width;
    size_t same = 0;
    for (size_t at = 0; at < size; at += width)
      same += best_of(&s.output->values[at], width) == best_of(&s.reference->values[at], width) ? 1 : 0;
    put(static_cast<double>(same), static_cast<double>(rows));
    return "";
  }
};

}  // namespace

std::unique_ptr<Metric> make_agreement() { return std::make_unique<Agreement>(); }

}  // namespace vireo::quant

// Mean average precision over the overlaps 0.5, 0.55 .. 0.95, as COCO takes them.
#include "quant/metrics/average_precision.h"
#include "quant/metrics/kinds.h"

namespace vireo::quant {

std::unique_ptr<Metric> make_map() {
  std::vector<double> limits;
  for (int k = 0; k < 10; ++k) limits.push_back(0.5 + 0.05 * k);
  return std::make_unique<AveragePrecision>(limits);
}

}  // namespace vireo::quant

// Mean average precision at an overlap of 0.5.
#include "quant/metrics/average_precision.h"
#include "quant/metrics/kinds.h"

namespace vireo::quant {

std::unique_ptr<Metric> make_map50() { return std::make_unique<AveragePrecision>(std::vector<double>{0.5}); }

}  // namespace vireo::quant

#include "quant/metrics/metric.h"

#include "quant/metrics/kinds.h"

namespace vireo::quant {

double Metric::value() const {
  const std::vector<uint32_t> once(samples(), 1);
  return value({once.data(), once.size()});
}

Span<const MetricKind> metric_kinds() {
  static const MetricKind kinds[] = {
      {"top1", "share of samples whose label has the best score", Needs::kLabel, true, true, make_top1},
      {"top5", "share whose label is among the five best scores", Needs::kLabel, true, true, make_top5},
      {"nll", "mean -log p(label), p the softmax of the output", Needs::kLabel, false, false, make_nll},
  };
  return kinds;
}

const MetricKind* find_metric(const std::string& name) {
  for (const MetricKind& kind : metric_kinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

}  // namespace vireo::quant

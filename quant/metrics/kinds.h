// What makes each metric: the files of this folder, for the table in metric.cc.
#ifndef VIREO_QUANT_METRICS_KINDS_H_
#define VIREO_QUANT_METRICS_KINDS_H_

#include <memory>

#include "quant/metrics/metric.h"

namespace vireo::quant {

std::unique_ptr<Metric> make_top1();
std::unique_ptr<Metric> make_top5();
std::unique_ptr<Metric> make_nll();

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_KINDS_H_

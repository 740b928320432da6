// What makes each metric: the files of this folder, for the table in metric.cc.
#ifndef VIREO_QUANT_METRICS_KINDS_H_
#define VIREO_QUANT_METRICS_KINDS_H_

#include <memory>

#include "quant/metrics/metric.h"

namespace vireo::quant {

std::unique_ptr<Metric> make_perplexity();
std::unique_ptr<Metric> make_top1();
std::unique_ptr<Metric> make_top5();
std::unique_ptr<Metric> make_nll();
std::unique_ptr<Metric> make_eer();
std::unique_ptr<Metric> make_map();
std::unique_ptr<Metric> make_map50();
std::unique_ptr<Metric> make_miou();
std::unique_ptr<Metric> make_wer();
std::unique_ptr<Metric> make_sqnr();
std::unique_ptr<Metric> make_cosine();
std::unique_ptr<Metric> make_psnr();
std::unique_ptr<Metric> make_agreement();

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_KINDS_H_

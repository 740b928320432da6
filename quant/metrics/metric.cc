#include "quant/metrics/metric.h"

#include "quant/metrics/kinds.h"

namespace vireo::quant {

double Metric::value() const {
  const std::vector<uint32_t> once(samples(), 1);
  return value({once.data(), once.size()});
}

Span<const MetricKind> metric_kinds() {
  static const MetricKind kinds[] = {
      {"perplexity", "exp of the mean -log p(next token)", Needs::kTokens, false, false, make_perplexity},
      {"top1", "share of samples or tokens with the best score at the label", Needs::kLabel, true, true, make_top1},
      {"top5", "share with the label among the five best scores", Needs::kLabel, true, true, make_top5},
      {"nll", "mean -log p(label), p the softmax of the output", Needs::kLabel, false, false, make_nll},
      {"eer", "equal error rate of a score, labels 0 and 1", Needs::kLabel, false, false, make_eer},
      {"map", "mean average precision at overlaps of 0.5 to 0.95", Needs::kBoxes, true, false, make_map},
      {"map50", "mean average precision at an overlap of 0.5", Needs::kBoxes, true, false, make_map50},
      {"miou", "mean intersection over union, a label for each pixel", Needs::kPixels, true, false, make_miou},
      {"wer", "word error rate of an output of strings", Needs::kText, false, false, make_wer},
      {"sqnr", "dB of signal to noise against the first model", Needs::kReference, true, false, make_sqnr},
      {"cosine", "mean cosine to the first model's output", Needs::kReference, true, false, make_cosine},
      {"psnr", "dB of the first model's range to the noise", Needs::kReference, true, false, make_psnr},
      {"agreement", "share of rows with the first model's best class", Needs::kReference, true, false, make_agreement},
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

#include "quant/repair/bias.h"

#include "quant/repair/rounding.h"

namespace vireo::quant {

std::vector<double> means_of(const Layer& layer, const WeightRows& weights, const MomentsObserver& input) {
  const auto channels = static_cast<int64_t>(input.channels());
  const int64_t groups = groups_of(layer);
  if (channels == 0 || channels % groups != 0) return {};
  const int64_t read = channels / groups;  // by one output channel
  if (weights.per_channel % read != 0) return {};
  const int64_t taps = weights.per_channel / read;
  if (layer.node->op != Op::kConv && taps != 1) return {};
  std::vector<double> means;
  for (int64_t i = 0; i < channels * taps; ++i) means.push_back(input.mean(static_cast<size_t>(i / taps)));
  return means;
}

std::vector<double> bias_shift(const WeightRows& weights, const WeightCodes& codes, const std::vector<double>& means) {
  const int64_t groups = static_cast<int64_t>(means.size()) / weights.per_channel;
  std::vector<double> shift;
  for (int64_t c = 0; c < weights.channels; ++c) {
    const int64_t first = c / (weights.channels / groups) * weights.per_channel;
    double sum = 0;
    for (int64_t i = 0; i < weights.per_channel; ++i) {
      const double code = codes.codes[static_cast<size_t>(c * weights.per_channel + i)];
      sum += (weights.row(c)[i] - code * static_cast<double>(codes.scale(c))) * means[static_cast<size_t>(first + i)];
    }
    shift.push_back(sum);
  }
  return shift;
}

}  // namespace vireo::quant

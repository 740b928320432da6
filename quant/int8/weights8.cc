#include "quant/int8/weights8.h"

#include <algorithm>
#include <cmath>

namespace vireo::quant {
namespace {

double nearest(double w, double scale, double most) { return std::clamp(std::nearbyint(w / scale), -most, most); }

double loss_of(const double* w, int64_t count, double scale, double most) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = w[i] - nearest(w[i], scale, most) * scale;
    sum += d * d;
  }
  return sum;
}

// Of `count` weights that share a scale.
float best_scale(const double* w, int64_t count, int bits) {
  const double codes = most_code(bits);
  const int least_percent = bits == 4 ? 50 : 70;  // with few codes clipping more loses less
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(w[i]));
  const auto full = static_cast<float>(most / codes);
  if (!std::isnormal(full)) return 1;
  float best = full;
  double least = loss_of(w, count, static_cast<double>(full), codes);
  for (int percent = 98; percent >= least_percent; percent -= 2) {
    const auto scale = static_cast<float>(most / codes * percent / 100);
    if (!std::isnormal(scale)) break;
    const double loss = loss_of(w, count, static_cast<double>(scale), codes);
    if (loss >= least) continue;
    least = loss;
    best = scale;
  }
  return best;
}

}  // namespace

std::vector<float> weight_scales(const WeightRows& w, bool per_channel, const std::vector<double>& bias, double x_scale,
                                 int bits) {
  std::vector<float> scales;
  if (!per_channel) {
    scales.push_back(best_scale(w.values.data(), static_cast<int64_t>(w.values.size()), bits));
  } else {
    for (int64_t c = 0; c < w.channels; ++c) scales.push_back(best_scale(w.row(c), w.per_channel, bits));
  }
  for (size_t c = 0; c < bias.size(); ++c) {
    float& scale = scales[scales.size() == 1 ? 0 : c];
    const double least = std::fabs(bias[c]) / (std::ldexp(1.0, 30) * x_scale);
    if (static_cast<double>(scale) < least) scale = static_cast<float>(least);
  }
  return scales;
}

WeightCodes nearest_codes(const WeightRows& w, std::vector<float> scales, int bits) {
  WeightCodes out;
  out.bits = bits;
  out.scales = std::move(scales);
  out.codes.resize(w.values.size());
  for (int64_t c = 0; c < w.channels; ++c) {
    for (int64_t i = 0; i < w.per_channel; ++i) {
      const auto at = static_cast<size_t>(c * w.per_channel + i);
      out.codes[at] = static_cast<int8_t>(nearest(w.values[at], static_cast<double>(out.scale(c)), most_code(bits)));
    }
  }
  return out;
}

}  // namespace vireo::quant

#include "quant/shared/weights8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "quant/shared/nearest.h"
#include "quant/shared/widest.h"

namespace vireo::quant {
namespace {

// Calls f(index in the tensor, index in the rows).
template <class F>
void each_weight(const Shape& s, int axis, const F& f) {
  const int64_t channels = s[axis], count = element_count(s);
  int64_t inner = 1;
  for (int d = axis + 1; d < s.rank; ++d) inner *= s[d];
  if (count == 0) return;
  const int64_t per_channel = count / channels;
  for (int64_t i = 0; i < count; i += channels * inner) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t at = i + c * inner, row = c * per_channel + i / channels;
      for (int64_t k = 0; k < inner; ++k) f(static_cast<size_t>(at + k), static_cast<size_t>(row + k));
    }
  }
}

inline double nearest(double w, double scale, double most) {
  const double code = nearest_whole(w / scale);
  return code < -most ? -most : code > most ? most : code;
}

// The sum of the squares of what the nearest codes are off by, in lanes.
VIREO_WIDEST double loss_of(const double* w, int64_t count, double scale, double most) {
  constexpr int64_t kLanes = 16;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const double d = w[i + k] - nearest(w[i + k], scale, most) * scale;
      sums[k] += d * d;
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    const double d = w[i] - nearest(w[i], scale, most) * scale;
    sums[k] += d * d;
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

VIREO_WIDEST void find_codes(const double* w, int64_t count, double scale, double most, int8_t* codes) {
  for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<int8_t>(nearest(w[i], scale, most));
}

double largest(const double* w, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(w[i]));
  return most;
}

// Of `count` weights that share a scale.
float best_scale(const double* w, int64_t count, int bits) {
  const double codes = most_code(bits);
  const int least_percent = bits == 4 ? 50 : 70;  // with few codes clipping more loses less
  const double most = largest(w, count);
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

WeightRows rows_of(const ir::Constant& w, int axis) {
  const Shape& shape = w.tensor.type.shape;
  WeightRows rows;
  rows.channels = shape[axis];
  rows.per_channel = rows.channels == 0 ? 0 : w.tensor.count() / rows.channels;
  rows.values.resize(static_cast<size_t>(w.tensor.count()));
  each_weight(shape, axis, [&](size_t at, size_t row) {
    float value;
    std::memcpy(&value, w.tensor.bytes.data() + at * sizeof(value), sizeof(value));
    rows.values[row] = static_cast<double>(value);
  });
  return rows;
}

std::vector<float> in_order(const WeightRows& rows, const Shape& shape, int axis) {
  std::vector<float> values(rows.values.size());
  each_weight(shape, axis, [&](size_t at, size_t row) { values[at] = static_cast<float>(rows.values[row]); });
  return values;
}

ir::ConstantPtr codes_of_shape(const WeightCodes& codes, const Shape& shape, int axis) {
  if (codes.bits == 4) {
    std::vector<uint8_t> bytes((codes.codes.size() + 1) / 2, 0);
    each_weight(shape, axis, [&](size_t at, size_t row) {
      bytes[at / 2] = static_cast<uint8_t>(bytes[at / 2] | (codes.codes[row] & 15) << (at % 2 * 4));
    });
    return ir::make_constant({DType::kI4, shape}, std::move(bytes));
  }
  std::vector<uint8_t> bytes(codes.codes.size());
  each_weight(shape, axis, [&](size_t at, size_t row) { bytes[at] = static_cast<uint8_t>(codes.codes[row]); });
  return ir::make_constant({DType::kI8, shape}, std::move(bytes));
}

std::vector<float> full_scales(const WeightRows& w) {
  std::vector<float> scales;
  for (int64_t c = 0; c < w.channels; ++c) {
    const auto scale = static_cast<float>(largest(w.row(c), w.per_channel) / most_code(8));
    scales.push_back(std::isnormal(scale) ? scale : 1);  // nothing but zeros
  }
  return scales;
}

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
    find_codes(w.row(c), w.per_channel, static_cast<double>(out.scale(c)), most_code(bits),
               out.codes.data() + c * w.per_channel);
  }
  return out;
}

double signal_to_noise_db(const WeightRows& w, const WeightCodes& codes) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < w.values.size(); ++i) {
    const double scale = static_cast<double>(codes.scale(static_cast<int64_t>(i) / w.per_channel));
    const double x = w.values[i], d = x - codes.codes[i] * scale;
    signal += x * x;
    noise += d * d;
  }
  return noise > 0 ? 10 * std::log10(signal / noise) : INFINITY;
}

}  // namespace vireo::quant

// Weights in int8 codes, -127 to 127, or int4 codes, -7 to 7, with a scale for each output channel or one for all.
#ifndef VIREO_QUANT_SHARED_WEIGHTS8_H_
#define VIREO_QUANT_SHARED_WEIGHTS8_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// Weights by output channel: [channels, per_channel], whatever order the tensor has.
struct WeightRows {
  int64_t channels = 0, per_channel = 0;
  std::vector<double> values;

  double* row(int64_t c) { return values.data() + c * per_channel; }
  const double* row(int64_t c) const { return values.data() + c * per_channel; }
};
// Of a float32 constant whose channels are along `axis`.
WeightRows rows_of(const ir::Constant& w, int axis);
// Rows as they were, in the order of a tensor of this shape.
std::vector<float> in_order(const WeightRows& rows, const Shape& shape, int axis);

struct WeightCodes {
  std::vector<float> scales;  // one a channel, or one
  std::vector<int8_t> codes;  // as WeightRows::values
  int bits = 8;               // or 4
  float scale(int64_t c) const { return scales[scales.size() == 1 ? 0 : static_cast<size_t>(c)]; }
};

// The scales: of each channel's largest weight, or where clipping it loses less, a smaller one (least squares). `bias`
// (one a channel, or empty) at the scale of x and the weights has to fit into 2^30: a scale that is too small for that
// is raised. One scale for all where not `per_channel`.
std::vector<float> weight_scales(const WeightRows& w, bool per_channel, const std::vector<double>& bias, double x_scale,
                                 int bits = 8);
// The scales of each channel's largest weight.
std::vector<float> full_scales(const WeightRows& w);
// Each weight's nearest code.
WeightCodes nearest_codes(const WeightRows& w, std::vector<float> scales, int bits = 8);
// Codes in the order of a tensor of this shape, whose channels are along `axis`: int8, or int4.
ir::ConstantPtr codes_of_shape(const WeightCodes& codes, const Shape& shape, int axis);
// 10 log10(sum w^2 / sum (w - w')^2); infinite where nothing is lost.
double signal_to_noise_db(const WeightRows& w, const WeightCodes& codes);
// The largest code of `bits`; the least is -this.
inline double most_code(int bits) { return bits == 4 ? 7 : 127; }

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SHARED_WEIGHTS8_H_

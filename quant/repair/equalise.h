// Equalisation: a factor on each channel of a value is taken out of what makes it (a product's rows and bias, a
// normalisation's gains) and put into the weights that read it. No float answer changes, but for its rounding. Between
// two products (Nagel et al. 2019, arXiv:1906.04721, section 4.1) nothing but Relu, sums of values and what takes the
// maximum or mean of whole channels may stand; what sums join takes the same factors. Behind a normalisation this is
// smoothing (Xiao et al. 2022, arXiv:2211.10438).
//
// The factors are y^a / r^(1 - a), y = a channel's largest magnitude on data, r = the largest weight that reads it, or
// sqrt(rows / r) of the weights only. Which a, or none at all, is decided by what codes then cost the readers: the step
// of the value times the weights, and the steps of the weights times the value. Where all weights of a layer share a
// scale, the other choice is sqrt(rows / r) of all values in turn, until it is settled: the noise of all layers
// against their signals decides.
#ifndef VIREO_QUANT_REPAIR_EQUALISE_H_
#define VIREO_QUANT_REPAIR_EQUALISE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quant/calibrate/statistics.h"
#include "quant/int8/plan.h"

namespace vireo::quant {

struct EqualisedValue {
  std::string value;
  double gain_db = 0;         // of the cost
  std::vector<uint32_t> ids;  // of the value and of those that took the same factors: their statistics are others now
};

// Changes weights, biases and gains; the plan stays right.
std::vector<EqualisedValue> equalise(ir::Graph& graph, Plan& plan, const std::map<uint32_t, Statistics>& statistics,
                                     bool per_channel);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_REPAIR_EQUALISE_H_

// Bias correction: rounded weights shift the mean of each output channel by sum (w^ - w) E[x]; the bias takes it back.
// Source: Nagel et al. 2019, arXiv:1906.04721, section 4.2; Finkelstein et al. 2019, arXiv:1906.03193.
#ifndef VIREO_QUANT_REPAIR_BIAS_H_
#define VIREO_QUANT_REPAIR_BIAS_H_

#include <vector>

#include "quant/int8/plan.h"
#include "quant/observers/moments.h"
#include "quant/shared/weights8.h"

namespace vireo::quant {

// The mean of what each weight of a group's rows multiplies, [groups, per_channel], from those of the input's channels.
// Empty where these do not belong to the layer's weights (a view stands between them).
std::vector<double> means_of(const Layer& layer, const WeightRows& weights, const MomentsObserver& input);

// What to add to each output channel.
std::vector<double> bias_shift(const WeightRows& weights, const WeightCodes& codes, const std::vector<double>& means);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_REPAIR_BIAS_H_

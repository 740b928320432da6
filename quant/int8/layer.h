// Weights and biases of a plan's layers, as rows by output channel, and back into the graph.
#ifndef VIREO_QUANT_INT8_LAYER_H_
#define VIREO_QUANT_INT8_LAYER_H_

#include <vector>

#include "quant/int8/plan.h"
#include "quant/shared/weights8.h"

namespace vireo::quant {

WeightRows weights_of(const Layer& layer);
int64_t channels_of(const Layer& layer);
int64_t weights_of_row(const Layer& layer);  // how many they are
// One a channel; empty without a bias.
std::vector<double> bias_of(const Layer& layer);
// Replace the constants; others that use them keep theirs.
void set_weights(ir::Graph& graph, const Layer& layer, const WeightRows& rows);
// A layer without bias gets one: a Conv and a Gemm as an input. False where there is no place for it (a MatMul whose
// result is not added to).
bool set_bias(ir::Graph& graph, Layer& layer, const std::vector<double>& bias);
// To the numbers that integers have for it, multiples of the scale of x times the weights': what leaves as QDQ then
// says the same. One number for all channels stays.
void round_bias(ir::Graph& graph, Layer& layer, double x_scale, const WeightCodes& codes);
// The codes in the order of the layer's tensor.
ir::ConstantPtr codes_as_tensor(const Layer& layer, const WeightCodes& codes);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_LAYER_H_

#include "quant/int8/layer.h"

#include <cmath>

#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::quant {
namespace {

const ir::Value* weight_value(const Layer& layer) { return layer.node->in(static_cast<size_t>(layer.weights)); }

// The node and input that hold the bias; null without one.
ir::Node* bias_holder(const Layer& layer, size_t* input) {
  if (layer.sum != nullptr) {
    *input = layer.sum->in(0)->constant != nullptr ? 0 : 1;
    return layer.sum;
  }
  *input = static_cast<size_t>(layer.bias);
  return layer.bias < 0 ? nullptr : layer.node;
}

}  // namespace

int64_t channels_of(const Layer& layer) { return weight_value(layer)->type.shape[layer.weight_axis]; }

int64_t weights_of_row(const Layer& layer) {
  const int64_t channels = channels_of(layer);
  return channels == 0 ? 0 : element_count(weight_value(layer)->type.shape) / channels;
}

WeightRows weights_of(const Layer& layer) {
  const ir::Constant& weights = *weight_value(layer)->constant;
  WeightRows rows = rows_of(weights, layer.weight_axis);
  if (weights.mapped) ir::MappedFile::forget(weights.tensor.bytes);
  return rows;
}

std::vector<double> bias_of(const Layer& layer) {
  size_t input = 0;
  const ir::Node* holder = bias_holder(layer, &input);
  if (holder == nullptr) return {};
  const ConstTensor& t = holder->in(input)->constant->tensor;
  std::vector<double> out;
  for (int64_t c = 0; c < channels_of(layer); ++c)
    out.push_back(read_real(t.type.dtype, t.bytes.data(), t.count() == 1 ? 0 : c));
  return out;
}

void set_weights(ir::Graph& graph, const Layer& layer, const WeightRows& rows) {
  const auto input = static_cast<size_t>(layer.weights);
  ir::Value& w = *layer.node->inputs[input];
  const std::vector<float> values = in_order(rows, w.type.shape, layer.weight_axis);
  ir::ConstantPtr changed = ir::make_constant_of<float>(DType::kF32, w.type.shape, values);
  if (w.one_use()) {
    w.constant = std::move(changed);  // what it was need not stay in memory
  } else {
    graph.set_input(layer.node, input, graph.add_constant(w.name, std::move(changed)));
  }
}

bool set_bias(ir::Graph& graph, Layer& layer, const std::vector<double>& bias) {
  std::vector<float> values(bias.begin(), bias.end());
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int64_t>(values.size());
  ir::ConstantPtr constant = ir::make_constant_of<float>(DType::kF32, shape, values);
  size_t input = 0;
  ir::Node* holder = bias_holder(layer, &input);
  if (holder != nullptr) {
    const ir::Value& was = *holder->in(input);
    if (was.constant->tensor.count() == static_cast<int64_t>(values.size()))
      constant = ir::with_shape(constant, was.type.shape);
    graph.set_input(holder, input, graph.add_constant(was.name, constant));
    return true;
  }
  if (layer.node == nullptr || layer.node->op == Op::kMatMul) return false;
  ir::Value* added = graph.add_constant(layer_name(*layer.node) + "_bias", constant);
  if (layer.node->inputs.size() < 3) {
    graph.add_operand(layer.node, added);
  } else {
    graph.set_input(layer.node, 2, added);
  }
  layer.bias = 2;
  return true;
}

void round_bias(ir::Graph& graph, Layer& layer, double x_scale, const WeightCodes& codes) {
  size_t input = 0;
  const ir::Node* holder = bias_holder(layer, &input);
  if (holder == nullptr || holder->in(input)->constant->tensor.count() != channels_of(layer)) return;
  double factor = 1;  // of the product over that of the bias
  if (layer.sum == nullptr && layer.node->op == Op::kGemm) {
    const auto& a = layer.node->attributes<attrs::Gemm>();
    factor = static_cast<double>(a.alpha()) / static_cast<double>(a.beta());
  }
  std::vector<double> bias = bias_of(layer);
  for (size_t c = 0; c < bias.size(); ++c) {
    const double unit = std::fabs(factor) * x_scale * static_cast<double>(codes.scale(static_cast<int64_t>(c)));
    if (unit > 0 && std::isfinite(unit)) bias[c] = std::nearbyint(bias[c] / unit) * unit;
  }
  set_bias(graph, layer, bias);
}

ir::ConstantPtr codes_as_tensor(const Layer& layer, const WeightCodes& codes) {
  return codes_of_shape(codes, weight_value(layer)->type.shape, layer.weight_axis);
}

}  // namespace vireo::quant

#include "quant/int8/annotate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "quant/int8/layer.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::quant {
namespace {

ir::Value* number(ir::Graph& graph, const std::string& name, float x) {
  return graph.add_constant(name, ir::make_constant_of<float>(DType::kF32, Shape{}, {x}));
}

ir::Value* zero_code(ir::Graph& graph, const std::string& name, const ValueScale& s) {
  if (s.type == DType::kI16)
    return graph.add_constant(name, ir::make_constant_of<int16_t>(s.type, Shape{}, {static_cast<int16_t>(s.zero)}));
  return graph.add_constant(name, ir::make_constant_of<uint8_t>(s.type, Shape{}, {static_cast<uint8_t>(s.zero)}));
}

// A node of one result, named after it.
ir::Value* emit(ir::Graph& graph, Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, DType type,
                const std::string& name, ir::Node* before) {
  const Shape shape = inputs[0]->type.shape;
  ir::Node* n = graph.add_node(op, std::move(attributes), std::move(inputs), 1, before);
  n->name = name;
  n->out()->name = name;
  n->out()->type = {type, shape};
  return n->out();
}

// The node behind which what reads `v` may stand; the first one of all for an input.
ir::Node* after(ir::Graph& graph, const ir::Value* v) {
  auto it = v->producer == nullptr ? graph.nodes().begin() : std::next(v->producer->self);
  return it == graph.nodes().end() ? nullptr : &*it;
}

// The scale of a constant's own codes: its exact range.
void code_constant(ir::Graph& graph, const CodedConstant& c, DType type) {
  const ir::Value& v = *c.node->in(c.input);
  const ConstTensor& t = v.constant->tensor;
  ValueRange range;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double x = read_real(DType::kF32, t.bytes.data(), i);
    range.low = std::min(range.low, x);
    range.high = std::max(range.high, x);
  }
  const ValueScale s = type == DType::kI16 ? wide_scale_of(range) : scale_of(range);
  std::vector<uint8_t> codes;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double x = through_codes(s, read_real(DType::kF32, t.bytes.data(), i));
    const auto code = static_cast<int32_t>(std::nearbyint(x / static_cast<double>(s.scale))) + s.zero;
    codes.push_back(static_cast<uint8_t>(code));
    if (type == DType::kI16) codes.push_back(static_cast<uint8_t>(code >> 8));
  }
  ir::Value* held = graph.add_constant(v.name, ir::make_constant({type, t.type.shape}, std::move(codes)));
  ir::Value* wide = emit(graph, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}),
                         {held, number(graph, v.name + "_scale", s.scale), zero_code(graph, v.name + "_zero", s)},
                         DType::kF32, v.name + "_wide", c.node);
  graph.set_input(c.node, c.input, wide);
}

}  // namespace

ir::Value* add_pair(ir::Graph& graph, ir::Value* v, const ValueScale& s, ir::Node* before) {
  ir::Value *scale = number(graph, v->name + "_scale", s.scale), *zero = zero_code(graph, v->name + "_zero", s);
  attrs::QuantizeLinearT q;
  q.output_dtype = static_cast<uint8_t>(s.type);
  ir::Value* codes = emit(graph, Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(q), {v, scale, zero}, s.type,
                          v->name + "_codes", before);
  return emit(graph, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}),
              {codes, scale, zero}, DType::kF32, v->name + "_decoded", before);
}

ir::Value* add_weights(ir::Graph& graph, const Layer& layer, const WeightCodes& codes, ir::Node* before) {
  const ir::Value& w = *layer.node->in(static_cast<size_t>(layer.weights));
  ir::Value* held = graph.add_constant(w.name + "_codes", codes_as_tensor(layer, codes));
  Shape shape;
  shape.rank = codes.scales.size() == 1 ? 0 : 1;
  if (shape.rank == 1) shape[0] = static_cast<int64_t>(codes.scales.size());
  ir::Value* scale =
      graph.add_constant(w.name + "_scale", ir::make_constant_of<float>(DType::kF32, shape, codes.scales));
  attrs::DequantizeLinearT a;
  a.axis = layer.weight_axis;
  return emit(graph, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {held, scale}, DType::kF32,
              w.name + "_wide", before);
}

std::vector<ir::Value*> annotate(ir::Graph& graph, const Plan& plan, const Choice& choice) {
  std::vector<ir::Value*> all;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    ir::Value* wide = add_weights(graph, layer, choice.weights[i], layer.node);
    graph.set_input(layer.node, static_cast<size_t>(layer.weights), wide);
  }
  for (size_t i = 0; i < plan.cells.size(); ++i)
    set_cell_codes(graph, plan.cells[i].node, choice.cells[i], plan.cells[i].node);
  for (const CodedConstant& c : plan.constants) code_constant(graph, c, choice.constants);
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const CodedValue& c = plan.values[i];
    ir::Value* decoded = add_pair(graph, c.value, choice.scales[i], after(graph, c.value));
    all.push_back(decoded);
    if (c.made_in_float) {
      for (const ir::Use& u : c.readers) graph.set_input(u.node, u.input, decoded);
    } else {
      graph.replace_uses(c.value, decoded);
      graph.set_input(decoded->producer->in(0)->producer, 0, c.value);
    }
  }
  graph.drop_unused_values();
  return all;
}

}  // namespace vireo::quant

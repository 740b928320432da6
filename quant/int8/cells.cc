#include "quant/int8/cells.h"

#include <algorithm>

#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/traits.h"

namespace vireo::quant {
namespace {

WeightRows cell_rows(const ir::Value& v) {
  const ConstTensor& t = v.constant->tensor;
  WeightRows rows;
  rows.channels = t.type.shape[0] * t.type.shape[1];
  rows.per_channel = t.type.shape[2];
  for (int64_t i = 0; i < t.count(); ++i) rows.values.push_back(read_real(DType::kF32, t.bytes.data(), i));
  return rows;
}

WeightCodes rounded_rows(const ir::Value& v, bool per_channel) {
  const WeightRows rows = cell_rows(v);
  std::vector<float> scales = weight_scales(rows, per_channel, {}, 1);
  scales.resize(static_cast<size_t>(rows.channels), scales[0]);  // cells have a scale for each row
  return nearest_codes(rows, std::move(scales));
}

// One direction's rows are those of an axis. Rows of two directions are blocks: an axis has no two of them.
ir::Value* dequantized(ir::Graph& graph, const ir::Value& w, const WeightCodes& codes, ir::Node* before) {
  const Shape& shape = w.type.shape;
  const bool blocks = shape[0] != 1;
  Shape of_scales;
  of_scales.rank = blocks ? 3 : 1;
  of_scales[0] = blocks ? shape[0] : shape[1];
  if (blocks) {
    of_scales[1] = shape[1];
    of_scales[2] = 1;
  }
  attrs::DequantizeLinearT a;
  a.axis = blocks ? 2 : 1;
  a.block_size = blocks ? static_cast<int32_t>(shape[2]) : 0;
  std::vector<uint8_t> bytes(codes.codes.begin(), codes.codes.end());
  ir::Value* held = graph.add_constant(w.name, ir::make_constant({DType::kI8, shape}, std::move(bytes)));
  ir::Value* scale =
      graph.add_constant(w.name + "_scale", ir::make_constant_of<float>(DType::kF32, of_scales, codes.scales));
  ir::Node* n = graph.add_node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {held, scale}, 1, before);
  n->name = n->out()->name = w.name + "_wide";
  n->out()->type = w.type;
  return n->out();
}

template <class Bytes>
bool all_zero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
}

// Zeros of any shape, as exporters make the state that a sequence begins with.
bool is_zero(const ir::Value* v) {
  while (v->producer != nullptr && moves_elements(v->producer->op)) v = v->producer->in(0);
  if (v->constant != nullptr) return all_zero(v->constant->tensor.bytes);
  if (v->producer == nullptr || v->producer->op != Op::kConstantOfShape) return false;
  const auto* value = v->producer->attributes<attrs::ConstantOfShape>().value();
  return value == nullptr || all_zero(*value);
}

}  // namespace

CellCodes cell_codes(const Cell& cell, const std::vector<ValueScale>& scales, bool per_channel) {
  CellCodes codes;
  codes.w = rounded_rows(*cell.node->in(1), per_channel);
  codes.r = rounded_rows(*cell.node->in(2), per_channel);
  codes.state = cell.result == Cell::kNoValue ? scale_of({-1, 1}) : scales[cell.result];
  return codes;
}

void set_cell_codes(ir::Graph& graph, ir::Node* node, const CellCodes& codes, ir::Node* before) {
  graph.set_input(node, 1, dequantized(graph, *node->in(1), codes.w, before));
  graph.set_input(node, 2, dequantized(graph, *node->in(2), codes.r, before));
  for (size_t i = 5; i < 7; ++i) {  // nodes that make a shape for zeros take more of a small file than the cell does
    if (node->in(i) != nullptr && is_zero(node->in(i))) graph.set_input(node, i, nullptr);
  }
  const auto a = std::unique_ptr<attrs::RecurrentT>(node->attributes<attrs::Recurrent>().UnPack());
  a->state_scale = codes.state.scale;
  a->state_zero = codes.state.zero;
  node->attrs = pack<attrs::Recurrent>(*a);
}

}  // namespace vireo::quant

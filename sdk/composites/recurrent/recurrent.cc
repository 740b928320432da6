#include "sdk/composites/recurrent/recurrent.h"

#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::composites {
namespace {

// The Casts in their order, and the cell behind them.
bool read_casts(const GraphReader& body, const vireo_graph_node (&n)[5]) {
  const vireo_graph_node &w = n[0], &r = n[1], &narrow = n[2], &wide = n[3], &cell = n[4];
  for (const vireo_graph_node* cast : {&w, &r, &narrow}) {
    if (cast->input_count != 1) return false;
  }
  return is_cast(body, w, w.inputs[0], DType::kF32) && cell.inputs[1] == w.outputs[0] &&
         is_cast(body, r, r.inputs[0], DType::kF32) && cell.inputs[2] == r.outputs[0] &&
         is_cast(body, narrow, narrow.inputs[0], DType::kBF16) && is_cast(body, wide, narrow.outputs[0], DType::kF32) &&
         cell.inputs[0] == wide.outputs[0];
}

// Every output of the body is a result of the cell.
bool read_results(const NodeView& node, const vireo_graph_node& cell, FusedRecurrent* out) {
  const GraphReader body = node.body();
  uint32_t results = 0;
  for (uint32_t o = 0; o < 3; ++o) {
    out->out[o] = -1;
    for (uint32_t k = 0; o < cell.output_count && cell.outputs[o] >= 0 && k < body.output_count(); ++k) {
      if (body.output(k) != cell.outputs[o]) continue;
      out->out[o] = static_cast<int32_t>(k);
      ++results;
      break;
    }
  }
  return results == body.output_count() && results == node.output_count;
}

// Where the cell's operands stand among the node's: those that `before` makes (x, W, R), then its own.
bool read_operands(const NodeView& node, const vireo_graph_node& cell, const int32_t (&before)[3],
                   FusedRecurrent* out) {
  for (uint32_t i = 0; i < 8; ++i) {
    const int32_t from = i < 3 ? before[i] : i < cell.input_count ? cell.inputs[i] : -1;
    out->in[i] = operand_of(node, from).input;
    if (from >= 0 && out->in[i] < 0) return false;
  }
  return true;
}

// `n` makes the cell's input `i` of codes, with this scale and zero point among the node's inputs.
bool read_dequantize(const NodeView& node, const vireo_graph_node& n, const vireo_graph_node& cell, uint32_t i,
                     int32_t* scale, int32_t* zero) {
  if (static_cast<Op>(n.op) != Op::kDequantizeLinear || n.input_count < 2 || cell.inputs[i] != n.outputs[0])
    return false;
  *scale = operand_of(node, n.inputs[1]).input;
  if (*scale < 0 || node.inputs[*scale].type.dtype != DType::kF32) return false;
  *zero = -1;
  if (n.input_count < 3 || n.inputs[2] < 0) return true;
  *zero = operand_of(node, n.inputs[2]).input;
  return *zero >= 0;
}

// Whether `w` is constant int8 [D, rows, columns] that `n` gives one scale a row: the same for all directions, or of
// each its own.
bool scales_rows(const vireo_graph_node& n, const GraphValue& w, const Shape& scale) {
  const auto& a = *::flatbuffers::GetRoot<attrs::DequantizeLinear>(n.attrs);
  const Shape& codes = w.type.shape;
  if (w.type.dtype != DType::kI8 || w.constant == nullptr || codes.rank != 3) return false;
  const int axis = a.axis() < 0 ? a.axis() + 3 : a.axis();
  if (a.block_size() == 0) return axis == 1 && scale.rank == 1 && scale[0] == codes[1];
  return axis == 2 && scale.rank == 3 && scale[0] == codes[0] && scale[1] == codes[1] && scale[2] == 1;
}

}  // namespace

bool match_recurrent_codes(const NodeView& node, FusedRecurrentCodes* out) {
  if (node.op != Op::kComposite || node.node.body == nullptr || node.body().node_count() != 4) return false;
  const GraphReader body = node.body();
  vireo_graph_node n[4];
  for (uint32_t i = 0; i < 4; ++i) n[i] = body.node(i);
  const vireo_graph_node &w = n[0], &r = n[1], &x = n[2], &cell = n[3];
  const Op op = static_cast<Op>(cell.op);
  if ((op != Op::kLSTM && op != Op::kGRU) || cell.input_count < 3 || cell.output_count > 3) return false;
  out->lstm = op == Op::kLSTM;
  out->attrs = ::flatbuffers::GetRoot<attrs::Recurrent>(cell.attrs);
  int32_t w_zero = -1, r_zero = -1;
  if (out->attrs->state_scale() == 0 || !read_dequantize(node, w, cell, 1, &out->w_scale, &w_zero) ||
      !read_dequantize(node, r, cell, 2, &out->r_scale, &r_zero) ||
      !read_dequantize(node, x, cell, 0, &out->x_scale, &out->x_zero) || w_zero >= 0 || r_zero >= 0)
    return false;
  if (node.inputs[out->w_scale].constant == nullptr || node.inputs[out->r_scale].constant == nullptr) return false;
  const int32_t before[3] = {x.inputs[0], w.inputs[0], r.inputs[0]};
  if (!read_operands(node, cell, before, out) || out->in[0] < 0) return false;
  const GraphValue* const values = node.inputs;
  const DType codes = values[out->in[0]].type.dtype;
  return (codes == DType::kU8 || codes == DType::kI8) && values[out->x_scale].type.shape.rank == 0 &&
         scales_rows(w, values[out->in[1]], values[out->w_scale].type.shape) &&
         scales_rows(r, values[out->in[2]], values[out->r_scale].type.shape) && read_results(node, cell, out);
}

bool match_recurrent_bf16(const NodeView& node, FusedRecurrent* out) {
  if (node.op != Op::kComposite || node.node.body == nullptr || node.body().node_count() != 5) return false;
  const GraphReader body = node.body();
  vireo_graph_node n[5];
  for (uint32_t i = 0; i < 5; ++i) n[i] = body.node(i);
  const vireo_graph_node& cell = n[4];
  if (static_cast<Op>(cell.op) != Op::kLSTM || cell.input_count < 3 || cell.output_count > 3) return false;
  if (!read_casts(body, n)) return false;
  out->attrs = ::flatbuffers::GetRoot<attrs::Recurrent>(cell.attrs);
  const int32_t before[3] = {n[2].inputs[0], n[0].inputs[0], n[1].inputs[0]};
  if (!read_operands(node, cell, before, out)) return false;
  for (const int i : {1, 2}) {
    const GraphValue& w = node.inputs[out->in[i]];
    if (w.type.dtype != DType::kBF16 || w.constant == nullptr) return false;
  }
  return read_results(node, cell, out);
}

}  // namespace vireo::composites

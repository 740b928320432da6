#include "sdk/composites/recurrent/recurrent.h"

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

}  // namespace

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
  for (uint32_t i = 0; i < 8; ++i) {
    const int32_t from = i < 3 ? before[i] : i < cell.input_count ? cell.inputs[i] : -1;
    out->in[i] = operand_of(node, from).input;
    if (from >= 0 && out->in[i] < 0) return false;
  }
  for (const int i : {1, 2}) {
    const GraphValue& w = node.inputs[out->in[i]];
    if (w.type.dtype != DType::kBF16 || w.constant == nullptr) return false;
  }
  return read_results(node, cell, out);
}

}  // namespace vireo::composites

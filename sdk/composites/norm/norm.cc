#include "sdk/composites/norm/norm.h"

#include "sdk/ops/layer_normalization/layer_normalization_generated.h"

namespace vireo::composites {
namespace {

// A parameter of one float32 for each normalised element, on both sides for sure.
bool covers(const NodeView& node, const Operand& p, const Shape& x, int axis) {
  bool good = p.type.dtype == DType::kF32 && p.is_static(node) && p.type.shape.rank == x.rank - axis;
  for (int i = axis; good && i < x.rank; ++i) good = p.type.shape[i - axis] == x[i];
  return good;
}

// False where `inner` is another operator, tells of its rows, or has other parameters. `x`: the shape of its operand.
bool read_norm(const NodeView& node, const vireo_graph_node& inner, const Shape& x, FusedNorm* out) {
  out->rms = static_cast<Op>(inner.op) == Op::kRMSNormalization;
  if (!out->rms && static_cast<Op>(inner.op) != Op::kLayerNormalization) return false;
  if (inner.input_count < 2 || inner.output_count < 1) return false;
  for (uint32_t o = 1; o < inner.output_count; ++o) {
    if (inner.outputs[o] >= 0) return false;
  }
  int axis = 0;
  if (out->rms) {
    const auto& a = *::flatbuffers::GetRoot<attrs::RMSNormalization>(inner.attrs);
    axis = a.axis();
    out->epsilon = a.epsilon();
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::LayerNormalization>(inner.attrs);
    axis = a.axis();
    out->epsilon = a.epsilon();
  }
  out->axis = normalize_axis(axis, x.rank);
  out->scale = operand_of(node, inner.inputs[1]);
  if (!covers(node, out->scale, x, out->axis)) return false;
  if (inner.input_count < 3 || inner.inputs[2] < 0) return true;
  out->shift = operand_of(node, inner.inputs[2]);
  return covers(node, out->shift, x, out->axis);
}

bool read_add_norm(const NodeView& node, const vireo_graph_node& add, const vireo_graph_node& norm, FusedNorm* out) {
  const GraphReader body = node.body();
  if (node.output_count < 1 || node.output_count > 2 || body.output_count() != node.output_count) return false;
  if (add.input_count != 2 || add.output_count != 1) return false;
  if (norm.output_count < 1 || norm.input_count < 1 || norm.inputs[0] != add.outputs[0]) return false;
  if (body.output(0) != norm.outputs[0]) return false;
  if (node.output_count == 2 && body.output(1) != add.outputs[0]) return false;
  const TensorType& y = node.outputs[0].type;
  const auto whole = [&](int32_t i) {
    return i >= 0 && static_cast<uint32_t>(i) < node.input_count && node.inputs[i].type == y && y.dtype == DType::kF32;
  };
  out->x = operand_of(node, add.inputs[0]).input;
  out->residual = operand_of(node, add.inputs[1]).input;
  return whole(out->x) && whole(out->residual) && read_norm(node, norm, y.shape, out);
}

bool read_norm_bf16(const NodeView& node, const vireo_graph_node& norm, const vireo_graph_node& last, FusedNorm* out) {
  const GraphReader body = node.body();
  if (node.output_count != 1 || norm.input_count < 1 || norm.output_count < 1) return false;
  if (!is_cast(body, last, norm.outputs[0], DType::kBF16)) return false;
  if (body.output_count() != 1 || body.output(0) != last.outputs[0]) return false;
  const Operand x = operand_of(node, norm.inputs[0]);
  out->x = x.input;
  out->half = true;
  return x.input >= 0 && x.type.dtype == DType::kF32 && read_norm(node, norm, x.type.shape, out);
}

}  // namespace

bool match_norm(const NodeView& node, FusedNorm* out) {
  if (node.op != Op::kComposite || node.node.body == nullptr || node.body().node_count() != 2) return false;
  const vireo_graph_node first = node.body().node(0), second = node.body().node(1);
  return static_cast<Op>(first.op) == Op::kAdd ? read_add_norm(node, first, second, out)
                                               : read_norm_bf16(node, first, second, out);
}

}  // namespace vireo::composites

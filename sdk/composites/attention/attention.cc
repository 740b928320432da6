#include "sdk/composites/attention/attention.h"

#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::composites {
namespace {

// One scale for all, or one a row: runs of the last axis of rank 4, as long as it is. No zero point.
bool read_scales(const NodeView& q, const vireo_graph_node& n, const TensorType& codes, Operand* scale,
                 int64_t* block) {
  const auto& a = *::flatbuffers::GetRoot<attrs::DequantizeLinear>(n.attrs);
  if (n.input_count < 2 || (n.input_count > 2 && n.inputs[2] >= 0)) return false;
  *scale = operand_of(q, n.inputs[1]);
  *block = a.block_size();
  if (codes.dtype != DType::kI8 || scale->type.dtype != DType::kF32 || scale->input < 0) return false;
  const int rank = codes.shape.rank;
  const Shape& s = scale->type.shape;
  if (s.is_static() && product(s, 0, s.rank) == 1 && a.block_size() == 0) return true;
  return rank == 4 && (a.axis() == 3 || a.axis() == -1) && a.block_size() == codes.shape[3];
}

bool read_body(const NodeView& q, FusedAttention* out) {
  const GraphReader body = q.body();
  const uint32_t count = body.node_count();
  vireo_graph_node casts[3] = {}, node = {};
  uint32_t n = 0;
  for (; n < count; ++n) {
    node = body.node(n);
    const bool codes = n > 0 && static_cast<Op>(node.op) == Op::kDequantizeLinear;
    if (static_cast<Op>(node.op) != Op::kCast && !codes) break;
    if (n == 3) return false;
    casts[n] = node;
  }
  if (n == 0 || n == count || static_cast<Op>(node.op) != Op::kAttention || node.output_count != 1) return false;
  if (node.input_count <= kV || node.input_count > kAttentionInputs || node.inputs[kQ] != casts[0].outputs[0])
    return false;
  uint32_t used = 0;
  for (uint32_t i = 0; i < node.input_count; ++i) {
    int32_t from = node.inputs[i];
    for (uint32_t c = 0; c < n && i <= kV; ++c) {
      if (node.inputs[i] != casts[c].outputs[0]) continue;
      from = casts[c].inputs[0];
      ++used;
    }
    out->inputs[i] = operand_of(q, from);
    if (from >= 0 && out->inputs[i].input < 0) return false;
  }
  if (used != n) return false;
  for (uint32_t c = 1; c < n; ++c) {
    if (static_cast<Op>(casts[c].op) != Op::kDequantizeLinear) continue;
    const int i = casts[c].outputs[0] == node.inputs[kK] ? 0 : 1;
    if (!read_scales(q, casts[c], out->inputs[kK + i].type, &out->scales[i], &out->blocks[i])) return false;
  }
  out->attributes = node.attrs;
  out->computed = type_at(body, node.inputs[kQ]).dtype;
  out->is_body = true;
  int32_t result = node.outputs[0];
  if (++n < count) {
    const vireo_graph_node last = body.node(n++);
    if (static_cast<Op>(last.op) != Op::kCast || last.inputs[0] != result) return false;
    result = last.outputs[0];
  }
  return n == count && body.output_count() == 1 && body.output(0) == result;
}

}  // namespace

bool match_attention(const NodeView& q, FusedAttention* out) {
  if (q.op == Op::kComposite) return read_body(q, out);
  out->attributes = q.node.attrs;
  for (uint32_t i = 0; i < kAttentionInputs && i < q.input_count; ++i) {
    out->inputs[i].type = q.inputs[i].type;
    out->inputs[i].input = static_cast<int32_t>(i);
  }
  out->computed = q.inputs[kQ].type.dtype;
  return q.op == Op::kAttention;
}

}  // namespace vireo::composites

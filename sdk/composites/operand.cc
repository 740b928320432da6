#include "sdk/composites/operand.h"

#include "sdk/ops/shared/bound_infer.h"

namespace vireo::composites {

Operand operand_of(const NodeView& node, int32_t number) {
  Operand o;
  if (number < 0) return o;
  if (node.op != Op::kComposite) {  // its own inputs
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.node.inputs[i] != number) continue;
      return {static_cast<int32_t>(i), node.inputs[i].constant, node.inputs[i].type};
    }
    return o;
  }
  const GraphReader body = node.body();
  const vireo_graph_value value = body.value(number);
  o.input = body.input_of(number, node.input_count);
  o.constant = o.input >= 0 ? node.inputs[o.input].constant : value.constant;
  if (o.input >= 0 || o.constant != nullptr) o.type = type_of(value);
  return o;
}

bool is_cast(const GraphReader& body, const vireo_graph_node& inner, int32_t from, DType to) {
  return static_cast<Op>(inner.op) == Op::kCast && inner.input_count == 1 && inner.output_count == 1 &&
         inner.inputs[0] == from && type_at(body, inner.outputs[0]).dtype == to;
}

bool is_one_a_channel(const Shape& b, const Shape& y, int channel_axis) {
  const int axis = channel_axis < 0 ? channel_axis + y.rank : channel_axis;
  const int lead = y.rank - b.rank;
  if (lead < 0 || axis < lead) return false;
  for (int i = 0; i < b.rank; ++i) {
    if (b[i] != (i + lead == axis ? y[axis] : 1)) return false;
  }
  return true;
}

bool has_shape_of_output(const KernelContext& ctx, Op op, Span<const uint8_t> attrs, const TensorType* inputs,
                         uint32_t count) {
  const OpRow* row = find_op(op);
  TensorType y;
  BoundInfer<kMaxCoreInputs> infer(attrs);
  for (uint32_t i = 0; i < count; ++i) infer.add_input(&inputs[i], nullptr);
  infer.add_output(&y);
  return row != nullptr && ok(row->def->infer(infer)) && y.shape == ctx.out(0)->shape;
}

}  // namespace vireo::composites

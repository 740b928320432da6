#include "sdk/composites/codes/codes.h"

namespace vireo::composites {
namespace {

bool is_product(Op op) { return op == Op::kIntConv || op == Op::kIntGemm; }

// IntAdd of the product's codes and others of their shape.
bool read_sum(const NodeView& node, const vireo_graph_node& step, int32_t codes, const Shape& y, FusedCodes* out) {
  out->second = step.inputs[1] == codes;
  const int32_t number = step.inputs[out->second ? 0 : 1];
  if (number == codes || step.inputs[out->second ? 1 : 0] != codes) return false;
  const Operand other = operand_of(node, number);
  if (other.input < 0 || !(other.type.shape == y)) return false;
  out->operands[0] = other.input;
  return true;
}

// IntAffine of the product's codes, with factors that are one number or one a channel.
bool read_affine(const NodeView& node, const vireo_graph_node& step, const Shape& y, FusedCodes* out) {
  for (uint32_t i = 1; i < step.input_count && i < 4; ++i) {
    if (step.inputs[i] < 0) continue;
    const Operand factor = operand_of(node, step.inputs[i]);
    const Shape& s = factor.type.shape;
    out->per_column = product(s, 0, s.rank) != 1;
    if (factor.input < 0 || !factor.is_static(node)) return false;
    if (out->per_column && (factor.type.dtype != DType::kF32 || !is_one_a_channel(s, y, -1))) return false;
    out->operands[i - 1] = factor.input;
  }
  return true;
}

bool read_body(const NodeView& node, FusedCodes* out) {
  const GraphReader body = node.body();
  if (body.node_count() != 2 || body.output_count() != 1) return false;
  const vireo_graph_node core = body.node(0), step = body.node(1);
  if (!is_product(static_cast<Op>(core.op)) || core.input_count < 3 || core.input_count > 4) return false;
  if (core.output_count != 1 || step.output_count != 1) return false;
  for (uint32_t i = 0; i < 3; ++i) {
    if (operand_of(node, core.inputs[i]).input != static_cast<int32_t>(i)) return false;
  }
  out->core = static_cast<Op>(core.op);
  out->attrs = core.attrs;
  out->attrs_size = core.attrs_size;
  out->varies = !node.is_static();
  if (core.input_count > 3 && core.inputs[3] >= 0) {
    out->bias = operand_of(node, core.inputs[3]).input;
    if (out->bias < 0) return false;
  }
  const Shape y = type_at(body, core.outputs[0]).shape;
  out->step = static_cast<Op>(step.op);
  out->step_attrs = step.attrs;
  if (body.output(0) != step.outputs[0]) return false;
  if (out->step == Op::kIntAdd) return step.input_count == 2 && read_sum(node, step, core.outputs[0], y, out);
  return out->step == Op::kIntAffine && step.input_count >= 2 && step.inputs[0] == core.outputs[0] &&
         read_affine(node, step, y, out);
}

}  // namespace

bool match_codes(const NodeView& node, FusedCodes* out) {
  if (node.op == Op::kComposite) return read_body(node, out);
  out->core = node.op;
  out->attrs = node.node.attrs;
  out->attrs_size = node.node.attrs_size;
  if (node.input_count > 3 && node.inputs[3].type.dtype != DType::kNone) out->bias = 3;
  return is_product(node.op);
}

bool fits(const KernelContext& ctx, const FusedCodes& f) {
  if (f.step == Op::kIntAdd && !(ctx.required(static_cast<size_t>(f.operands[0])).shape == ctx.out(0)->shape))
    return false;
  if (!f.varies) return true;
  TensorType inputs[kMaxCoreInputs];
  for (size_t i = 0; i < 3; ++i) inputs[i] = ctx.required(i);
  if (f.bias >= 0) inputs[3] = ctx.required(static_cast<size_t>(f.bias));
  return has_shape_of_output(ctx, f.core, {f.attrs, f.attrs_size}, inputs, f.bias >= 0 ? 4 : 3);
}

}  // namespace vireo::composites

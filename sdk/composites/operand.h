// Operands of a composite: where the values of its body come from, and the small questions that several forms ask.
#ifndef VIREO_SDK_COMPOSITES_OPERAND_H_
#define VIREO_SDK_COMPOSITES_OPERAND_H_

#include <stdint.h>

#include "sdk/graph/node_view.h"
#include "sdk/ops/kernel.h"

namespace vireo::composites {

// Where an operand comes from: an input of the node, or a constant of the composite's body.
struct Operand {
  int32_t input = -1;
  const void* constant = nullptr;
  TensorType type;  // at the upper bounds; kNone: the value is absent

  bool given() const { return type.dtype != DType::kNone; }
  const void* data(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).as<const uint8_t>()
                      : static_cast<const uint8_t*>(constant);
  }
  const float* f32(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).as<const float>()
                      : static_cast<const float*>(constant);
  }
  // Its bytes where they are the same in every run, else null.
  const void* fixed(const NodeView& node) const { return input >= 0 ? node.inputs[input].constant : constant; }
  bool is_static(const NodeView& node) const { return input < 0 || node.inputs[input].is_static; }
  const Shape& shape(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).shape : type.shape;
  }
};

// The body of a composite, or the graph that a plain node stands in.
inline GraphReader body_of(const NodeView& node) {
  return node.op == Op::kComposite ? node.body() : GraphReader(*node.host, node.graph);
}

// Where value `number` of body_of(node) comes from; not given() where it is absent or made inside.
Operand operand_of(const NodeView& node, int32_t number);

// Whether `inner`, a node of the body, is a Cast of the value `from` to this type.
bool is_cast(const GraphReader& body, const vireo_graph_node& inner, int32_t from, DType to);

// One value a channel: every extent of `b`, aligned with `y` from the right, is 1 but that of the channel's axis.
// `channel_axis` is counted from the end where it is negative.
bool is_one_a_channel(const Shape& b, const Shape& y, int channel_axis);

// Whether an operator's own result, by its shape function, is of the output's shape; `count` <= kMaxCoreInputs.
constexpr uint32_t kMaxCoreInputs = 4;
bool has_shape_of_output(const KernelContext& ctx, Op op, Span<const uint8_t> attrs, const TensorType* inputs,
                         uint32_t count);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_OPERAND_H_

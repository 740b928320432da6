#include "delegates/xnnpack/shape_check.h"

#include "sdk/ops/shared/bound_infer.h"

namespace vireo::xnnpack {
namespace {

bool infer(const Node& node, TensorType (&outputs)[kMaxArgs]) {
  const OpRow* row = find_op(node.op);
  if (row == nullptr) return false;
  BoundInfer<kMaxArgs> ctx({node.attrs, node.attrs_size});
  for (uint32_t i = 0; i < node.input_count; ++i) {
    const Value* const v = node.inputs[i];
    ctx.add_input(v == nullptr ? nullptr : &v->type, v == nullptr ? nullptr : v->constant);
  }
  for (uint32_t o = 0; o < node.output_count; ++o) ctx.add_output(node.outputs[o] == nullptr ? nullptr : &outputs[o]);
  return ok(row->def->infer(ctx)) && !ctx.unsure();
}

}  // namespace

bool infer_shapes(Node* node) {
  TensorType outputs[kMaxArgs];
  if (!infer(*node, outputs)) return false;
  for (uint32_t o = 0; o < node->output_count; ++o) {
    if (node->outputs[o] != nullptr) node->outputs[o]->type = outputs[o];
  }
  return true;
}

bool shapes_agree(const Node& node) {
  TensorType outputs[kMaxArgs];
  if (!infer(node, outputs)) return false;
  for (uint32_t o = 0; o < node.output_count; ++o) {
    if (node.outputs[o] != nullptr && outputs[o] != node.outputs[o]->type) return false;
  }
  return true;
}

}  // namespace vireo::xnnpack

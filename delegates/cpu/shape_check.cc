#include "delegates/cpu/shape_check.h"

#include "sdk/ops/shared/bound_infer.h"

namespace vireo {
namespace {

ShapeCheck check_node(const NodeView& q) {
  const OpRow* row = find_op(q.op);
  if (row == nullptr) return ShapeCheck::kRefuse;
  TensorType outputs[kMaxNodeArgs];
  BoundInfer<kMaxNodeArgs> ctx({q.node.attrs, q.node.attrs_size});
  for (uint32_t i = 0; i < q.input_count; ++i) ctx.add_input(&q.inputs[i].type, q.inputs[i].constant);
  for (uint32_t o = 0; o < q.output_count; ++o)
    ctx.add_output(q.outputs[o].type.dtype == DType::kNone ? nullptr : &outputs[o]);
  const Status status = row->def->infer(ctx);
  if (ctx.unsure()) return ShapeCheck::kUnsure;
  if (!ok(status)) return ShapeCheck::kRefuse;
  for (uint32_t o = 0; o < q.output_count; ++o) {
    const TensorType& declared = q.outputs[o].type;
    if (declared.dtype == DType::kNone) continue;
    if (outputs[o].dtype != declared.dtype || outputs[o].shape.rank != declared.shape.rank) return ShapeCheck::kRefuse;
    for (int i = 0; i < declared.shape.rank; ++i) {
      const Dim d = outputs[o].shape[i];
      if (d < 0 || d > declared.shape[i] || (q.outputs[o].is_static && d != declared.shape[i]))
        return ShapeCheck::kRefuse;
    }
  }
  return ShapeCheck::kAgree;
}

}  // namespace

ShapeCheck check_shapes(const NodeView& q) {
  if (q.op != Op::kComposite) return check_node(q);
  const uint32_t count = q.body().node_count();
  for (uint32_t n = 0; n < count; ++n) {
    NodeView inner;
    if (!view_node(*q.host, q.node.body, n, &inner) || inner.op == Op::kComposite) return ShapeCheck::kRefuse;
    const ShapeCheck one = check_node(inner);
    if (one != ShapeCheck::kAgree) return one;
  }
  return count > 0 ? ShapeCheck::kAgree : ShapeCheck::kRefuse;
}

}  // namespace vireo

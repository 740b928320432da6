#include "delegates/cpu/shape_check.h"

#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

class BoundInfer final : public InferContext {
 public:
  BoundInfer(const CpuQuery& q, TensorType* outputs) : q_(q) {
    for (uint32_t i = 0; i < q.input_count; ++i) in_[i] = &q.inputs[i].type;
    for (uint32_t o = 0; o < q.output_count; ++o)
      out_[o] = q.outputs[o].type.dtype == DType::kNone ? nullptr : &outputs[o];
    inputs_ = in_;
    outputs_ = out_;
    input_count_ = static_cast<int>(q.input_count);
    output_count_ = static_cast<int>(q.output_count);
    attrs_ = Span<const uint8_t>(q.node.attrs, q.node.attrs_size);
    error_ = nullptr;
  }
  bool known(int i) override {
    if (!has(i)) return false;
    if (q_.inputs[i].constant != nullptr) return true;
    unsure_ = true;
    return false;
  }
  Dim value(int i, int64_t element) override {
    return inside(i, element) ? read_integer(type(i), q_.inputs[i].constant, element) : 0;
  }
  double real(int i, int64_t element) override {
    return inside(i, element) ? read_real(type(i), q_.inputs[i].constant, element) : 0;
  }
  Dim bounded(Dim upper) override { return upper; }
  Dim unknown() override {
    unsure_ = true;
    return 0;
  }
  bool unsure() const { return unsure_; }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }  // upper bounds are numbers
  DType type(int i) const { return q_.inputs[i].type.dtype; }
  bool inside(int i, int64_t element) const {
    return q_.inputs[i].constant != nullptr && element >= 0 && element < element_count(q_.inputs[i].type.shape);
  }

  const CpuQuery& q_;
  const TensorType* in_[kMaxCpuArgs] = {};
  TensorType* out_[kMaxCpuArgs] = {};
  bool unsure_ = false;
};

ShapeCheck check_node(const CpuQuery& q) {
  const OpRow* row = find_op(q.op);
  if (row == nullptr) return ShapeCheck::kRefuse;
  TensorType outputs[kMaxCpuArgs];
  BoundInfer ctx(q, outputs);
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

ShapeCheck check_shapes(const CpuQuery& q) {
  if (q.op != Op::kComposite) return check_node(q);
  for (uint32_t n = 0; n < q.host->node_count(q.node.body); ++n) {
    CpuQuery inner;
    if (!describe(*q.host, q.node.body, n, q.slots, &inner) || inner.op == Op::kComposite) return ShapeCheck::kRefuse;
    const ShapeCheck one = check_node(inner);
    if (one != ShapeCheck::kAgree) return one;
  }
  return q.host->node_count(q.node.body) > 0 ? ShapeCheck::kAgree : ShapeCheck::kRefuse;
}

}  // namespace vireo

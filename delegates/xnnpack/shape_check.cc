#include "delegates/xnnpack/shape_check.h"

#include "sdk/ops/value_reader.h"

namespace vireo::xnnpack {
namespace {

class ConstantInfer final : public InferContext {
 public:
  ConstantInfer(const Node& n, TensorType* outputs) : n_(n) {
    for (uint32_t i = 0; i < n.input_count; ++i) in_[i] = n.inputs[i] == nullptr ? &absent_ : &n.inputs[i]->type;
    for (uint32_t o = 0; o < n.output_count; ++o) out_[o] = n.outputs[o] == nullptr ? nullptr : &outputs[o];
    inputs_ = in_;
    outputs_ = out_;
    input_count_ = static_cast<int>(n.input_count);
    output_count_ = static_cast<int>(n.output_count);
    attrs_ = Span<const uint8_t>(n.attrs, n.attrs_size);
    error_ = nullptr;
  }
  bool known(int i) override {
    if (!has(i)) return false;
    if (constant(i) != nullptr) return true;
    unsure_ = true;
    return false;
  }
  Dim value(int i, int64_t element) override {
    return inside(i, element) ? read_integer(in_[i]->dtype, constant(i), element) : 0;
  }
  double real(int i, int64_t element) override {
    return inside(i, element) ? read_real(in_[i]->dtype, constant(i), element) : 0;
  }
  Dim bounded(Dim upper) override { return upper; }
  Dim unknown() override {
    unsure_ = true;
    return 0;
  }
  bool unsure() const { return unsure_; }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }  // all extents are numbers
  const void* constant(int i) const { return n_.inputs[i] == nullptr ? nullptr : n_.inputs[i]->constant; }
  bool inside(int i, int64_t element) const {
    return constant(i) != nullptr && element >= 0 && element < element_count(in_[i]->shape);
  }

  const Node& n_;
  const TensorType absent_;
  const TensorType* in_[kMaxArgs] = {};
  TensorType* out_[kMaxArgs] = {};
  bool unsure_ = false;
};

}  // namespace

namespace {

bool infer(const Node& node, TensorType (&outputs)[kMaxArgs]) {
  const OpRow* row = find_op(node.op);
  if (row == nullptr) return false;
  ConstantInfer ctx(node, outputs);
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

// A delegate's question to a shape function: types at the upper bounds, which are numbers, and what is constant. A file
// may declare shapes that its operators do not give; whoever works out sizes from them asks first.
#ifndef VIREO_SDK_OPS_SHARED_BOUND_INFER_H_
#define VIREO_SDK_OPS_SHARED_BOUND_INFER_H_

#include "sdk/ops/op.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {

template <int kMost>
class BoundInfer final : public InferContext {
 public:
  explicit BoundInfer(Span<const uint8_t> attrs) {
    inputs_ = in_;
    outputs_ = out_;
    attrs_ = attrs;
  }
  // In order, at most kMost of each. `type` null or kNone: absent. `constant` null: not known.
  void add_input(const TensorType* type, const void* constant) {
    constants_[input_count_] = constant;
    in_[input_count_++] = type;
  }
  void add_output(TensorType* type) { out_[output_count_++] = type; }  // null: not wanted

  // Whether a shape follows from contents that are not constant.
  bool unsure() const { return unsure_; }

  bool known(int i) override {
    if (!has(i)) return false;
    if (constants_[i] != nullptr) return true;
    unsure_ = true;
    return false;
  }
  Dim value(int i, int64_t element) override {
    return inside(i, element) ? read_integer(in_[i]->dtype, constants_[i], element) : 0;
  }
  double real(int i, int64_t element) override {
    return inside(i, element) ? read_real(in_[i]->dtype, constants_[i], element) : 0;
  }
  Dim bounded(Dim upper) override { return upper; }
  Dim unknown() override {
    unsure_ = true;
    return 0;
  }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }  // upper bounds are numbers
  bool inside(int i, int64_t element) const {
    return constants_[i] != nullptr && element >= 0 && element < element_count(in_[i]->shape);
  }

  const TensorType* in_[kMost] = {};
  const void* constants_[kMost] = {};
  TensorType* out_[kMost] = {};
  bool unsure_ = false;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_BOUND_INFER_H_

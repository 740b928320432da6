// Shape functions over tensors in memory.
#include "runtime/exec/session.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

class TensorInfer final : public InferContext {
 public:
  // `constant_inputs`: null when every input holds data; else which ones do.
  TensorInfer(const Step& step, TensorType* const* outputs, const bool* constant_inputs, Error* error)
      : args_(step.args), constant_(constant_inputs) {
    // A Tensor begins with its TensorType, so the args serve as they are.
    inputs_ = reinterpret_cast<const TensorType* const*>(step.args);
    outputs_ = outputs;
    input_count_ = step.input_count;
    output_count_ = step.output_count;
    attrs_ = Span<const uint8_t>(step.attrs, step.attrs_size);
    error_ = error;
  }
  bool known(int i) override {
    if (!has(i)) return false;
#if VIREO_JOINED
    if (constant_ == nullptr && args_[i]->data == nullptr && args_[i]->count() != 0) {  // its device keeps it
      missing_ = true;
      return false;
    }
#endif
    if (constant_ == nullptr || constant_[i]) return true;
    unsure_ = true;
    return false;
  }
  Dim value(int i, int64_t element) override {
    const Tensor& t = *args_[i];
    return element < 0 || element >= t.count() ? 0 : read_dim(t.dtype, t.data, element);
  }
  double real(int i, int64_t element) override {
    const Tensor& t = *args_[i];
    return element < 0 || element >= t.count() ? 0 : read_real(t.dtype, t.data, element);
  }
  Dim bounded(Dim upper) override { return upper; }
  Dim unknown() override {
    unsure_ = true;
    return 0;
  }
  bool unsure() const { return unsure_; }
  bool missing() const { return missing_; }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }  // dimensions are numbers here
  Tensor* const* args_;
  const bool* constant_;
  bool unsure_ = false;
  bool missing_ = false;
};

}  // namespace

Status infer_static(const Step& step, const bool* constant_inputs, TensorType* const* outputs, bool* unsure,
                    Error* error) {
  TensorInfer ctx(step, outputs, constant_inputs, error);
  const Status status = step.def->infer(ctx);
  *unsure = ctx.unsure();
  return status;
}

Status infer_step(vireo_session& s, Step& step) {
  if (step.kind == Step::kPart && step.bodies[0] != nullptr) {  // fused: the shapes are those of its body
    Frame& body = *step.bodies[0];
    for (uint32_t i = 0; i < body.step_count; ++i) VIREO_TRY(infer_step(s, body.steps[i]));
    return Status::kOk;
  }
  Tensor** const outputs = step.args + step.input_count;
  DType declared[8];
  const uint32_t checked = step.output_count < 8 ? step.output_count : 8;
  for (uint32_t o = 0; o < checked; ++o) declared[o] = outputs[o] == nullptr ? DType::kNone : outputs[o]->dtype;
  for (uint32_t o = 0; o < step.output_count; ++o) {
    if (outputs[o] != nullptr) outputs[o]->shape.rank = 0;  // shape functions start from nothing
  }
  TensorInfer ctx(step, reinterpret_cast<TensorType* const*>(outputs), nullptr, &s.error);
  VIREO_TRY(step.def->infer(ctx));
#if VIREO_JOINED
  if (ctx.missing()) return fail(&s.error, Status::kUnsupported, "its shape depends on data that another device keeps");
#endif
  for (uint32_t o = 0; o < step.output_count; ++o) {
    if (outputs[o] == nullptr) continue;
    const Tensor& y = *outputs[o];
    const int64_t bytes = tensor_bytes(y);
    if (bytes < 0) {
      return fail(&s.error, Status::kInvalidArgument, "output {} would have shape {}, which is larger than memory", o,
                  y.shape);
    }
    if (bytes > y.capacity) {
      return fail(
          &s.error, Status::kOutOfArena,
          "output {} takes shape {}, {} bytes, above the {} of its declared bound: give larger bounds to the session",
          o, y.shape, bytes, y.capacity);
    }
    if (o < checked && y.dtype != declared[o]) {
      return fail(&s.error, Status::kInvalidModel, "output {} has type {}, the file says {}", o, dtype_name(y.dtype),
                  dtype_name(declared[o]));
    }
  }
  return Status::kOk;
}

}  // namespace vireo

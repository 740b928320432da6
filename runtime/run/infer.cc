// Shape functions over tensors in memory.
#include "runtime/run/remote.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

class TensorInfer final : public InferContext {
 public:
  // `constant_inputs`: null when every input holds data; else which ones do. What lies in `file` never changes.
  TensorInfer(const Step& step, TensorType* const* outputs, const bool* constant_inputs, Span<const uint8_t> file,
              Error* error)
      : args_(step.args), constant_(constant_inputs), file_(file) {
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
    if (constant_ == nullptr && Remote::keeps(*args_[i])) {
      missing_ = true;
      return false;
    }
    if (constant_ == nullptr) {
      reads_ |= !lies_in(file_, args_[i]->data);
      return true;
    }
    if (constant_[i]) return true;
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
  bool reads() const { return reads_; }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }  // dimensions are numbers here
  Tensor* const* args_;
  const bool* constant_;
  Span<const uint8_t> file_;
  bool unsure_ = false;
  bool reads_ = false;
  bool missing_ = false;
};

}  // namespace

Status infer_static(const Step& step, const bool* constant_inputs, TensorType* const* outputs, bool* unsure,
                    Error* error) {
  TensorInfer ctx(step, outputs, constant_inputs, {}, error);
  const Status status = step.def->infer(ctx);
  *unsure = ctx.unsure();
  return status;
}

// The caller can give an extent that has a name a larger bound.
static Status fail_bounds(vireo_session& s, const char* name, const TensorType& most, const TensorType& is) {
  const Status status = is.dtype == most.dtype ? Status::kOutOfArena : Status::kInvalidModel;
  blame_tensor(&s.error, name);
  for (int d = 0; VIREO_DETAIL && is.shape.rank == most.shape.rank && d < most.shape.rank; ++d) {
    const Dim m = most.shape[d];
    const char* open = is_symbolic(m) ? text_of(s.model->program.model().exprs()->Get(handle_id(m))->name()) : "";
    if (open[0] == 0 || is.shape[d] <= s.shapes.intervals[handle_id(m)].hi) continue;
    return fail(&s.error, status, "\"{}\" is {} {}, above its bound: give \"{}\" at least {} in the session's bounds",
                name, dtype_name(is.dtype), is.shape, open, is.shape[d]);
  }
  return fail(&s.error, status,
              "\"{}\" is {} {}: not as the file declares it, or above its bound: give larger ones to the session", name,
              dtype_name(is.dtype), is.shape);
}

Status check_bounds(vireo_session& s, const Step& step) {
  if (Remote::is_joined(step)) return Status::kOk;
  const uint32_t inputs = step.input_count;
  for (uint32_t i = step.shapes.bounded ? 0 : inputs; i < inputs + step.output_count; ++i) {
    const int32_t at =
        i < inputs ? step.declared.node->inputs()->Get(i) : step.declared.node->outputs()->Get(i - inputs);
    const Tensor* t = step.args[i];
    if (t == nullptr) continue;
    const fb::Tensor& declared = *step.declared.graph->tensors()->Get(static_cast<uint32_t>(at));
    const TensorType most = type_of(declared);
    // What overflows is negative, and as a number without sign above all capacities.
    bool fits = t->dtype == most.dtype && t->shape.rank == most.shape.rank &&
                static_cast<uint64_t>(tensor_bytes(*t)) <= static_cast<uint64_t>(t->capacity);
    for (int d = 0; fits && d < most.shape.rank; ++d) {
      const Dim m = most.shape[d], n = t->shape[d];
      const Interval e = is_symbolic(m) ? s.shapes.intervals[handle_id(m)] : Interval{m, m};
      fits = e.lo == e.hi ? n == e.hi : n <= e.hi || !step.shapes.bounded;
    }
    if (!fits) return fail_bounds(s, text_of(declared.name()), most, *t);
  }
  return Status::kOk;
}

Status infer_step(vireo_session& s, Step& step) {
  if (step.kind == Step::kPart && step.bodies[0] != nullptr) {  // fused: the shapes are those of its body
    Frame& body = *step.bodies[0];
    for (uint32_t i = 0; i < body.step_count; ++i) {
      Step& one = body.steps[i];
      if (Remote::is_fixed_composite(one)) continue;
      VIREO_TRY(infer_step(s, one));
      step.shapes.reads |= body.steps[i].shapes.reads;
    }
    return check_bounds(s, step);
  }
  Tensor** const outputs = step.args + step.input_count;
  for (uint32_t o = 0; o < step.output_count; ++o) {
    if (outputs[o] != nullptr) outputs[o]->shape.rank = 0;  // shape functions start from nothing
  }
  TensorInfer ctx(step, reinterpret_cast<TensorType* const*>(outputs), nullptr, s.model->program.file(), &s.error);
  const Status status = step.def->infer(ctx);
  // The file was verified when it was loaded, so what does not fit now are the shapes and values that this run brought.
  if (status == Status::kInvalidModel) return s.error.status = Status::kInvalidArgument;
  VIREO_TRY(status);
  step.shapes.reads |= ctx.reads();
  if (ctx.missing()) return fail(&s.error, Status::kUnsupported, "its shape depends on data that another device keeps");
  return check_bounds(s, step);
}

}  // namespace vireo

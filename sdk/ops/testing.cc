#include "sdk/ops/testing.h"

#include <algorithm>
#include <new>

#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

constexpr uint8_t kPaint = 0xA5;
constexpr size_t kGuard = 64;

class TestInfer final : public InferContext {
 public:
  TestInfer(const std::vector<TestTensor>& inputs, std::vector<TensorType>* outputs, Span<const uint8_t> attrs,
            Error* error)
      : tensors_(inputs) {
    for (const TestTensor& t : inputs) in_.push_back(&t.type);
    for (TensorType& t : *outputs) out_.push_back(&t);
    inputs_ = in_.data();
    outputs_ = out_.data();
    input_count_ = static_cast<int>(in_.size());
    output_count_ = static_cast<int>(out_.size());
    attrs_ = attrs;
    error_ = error;
  }
  bool known(int i) override { return has(i); }
  Dim value(int i, int64_t element) override {
    const TestTensor& t = tensors_[static_cast<size_t>(i)];
    return read_dim(t.type.dtype, t.bytes.data(), element);
  }
  double real(int i, int64_t element) override {
    const TestTensor& t = tensors_[static_cast<size_t>(i)];
    return read_real(t.type.dtype, t.bytes.data(), element);
  }
  Dim bounded(Dim upper) override { return upper; }
  void bound_unknown(Dim most) { unknown_ = most; }
  Dim unknown() override { return unknown_; }

 private:
  Dim symbolic(Arith, Dim, Dim) override { return 0; }
  const std::vector<TestTensor>& tensors_;
  std::vector<const TensorType*> in_;
  std::vector<TensorType*> out_;
  Dim unknown_ = 0;
};

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Buffer = std::unique_ptr<uint8_t[], AlignedFree>;
Buffer make_buffer(size_t bytes) {
  Buffer b(static_cast<uint8_t*>(::operator new[](bytes + kGuard, std::align_val_t{64})));
  std::memset(b.get(), kPaint, bytes + kGuard);
  return b;
}

void run_serially(void* pool, int64_t count, int64_t grain, Parallel::Task task, void* arg) {
  const int64_t slots = *static_cast<int*>(pool);
  const int64_t chunk = std::max<int64_t>(grain, (count + slots - 1) / slots);
  int32_t slot = 0;
  for (int64_t begin = 0; begin < count; begin += chunk) task(arg, begin, std::min(count, begin + chunk), slot++);
}

}  // namespace

Shape make_shape(std::initializer_list<int64_t> dims) { return make_shape(std::vector<int64_t>(dims)); }

OpTest& OpTest::input(TestTensor t) {
  inputs_.push_back(std::move(t));
  return *this;
}
OpTest& OpTest::input_bool(const std::vector<int64_t>& dims, const std::vector<uint8_t>& values) {
  input<uint8_t>(dims, values);
  inputs_.back().type.dtype = DType::kBool;
  return *this;
}
OpTest& OpTest::input_strings(const std::vector<int64_t>& dims, const std::vector<std::string>& values) {
  TestTensor t;
  t.type = {DType::kString, make_shape(dims)};
  t.strings = values;
  return input(std::move(t));
}
OpTest& OpTest::absent() { return input(TestTensor{}); }
OpTest& OpTest::outputs(int n) {
  outputs_ = n;
  return *this;
}
OpTest& OpTest::in_place() {
  in_place_ = true;
  return *this;
}
OpTest& OpTest::unknown(Dim most) {
  unknown_ = most;
  return *this;
}
OpTest& OpTest::slots(int n) {
  slots_ = n;
  return *this;
}

Status OpTest::infer() {
  error_ = Error{};
  const OpRow* row = find_op(op_);
  if (row == nullptr) return fail(&error_, Status::kUnsupported, "operator is not in this build");
  if (!row->def->verify(Span<const uint8_t>(attrs_.data(), attrs_.size()))) {
    return fail(&error_, Status::kInvalidModel, "attributes do not verify");
  }
  const int n = static_cast<int>(inputs_.size());
  if (n < row->def->min_inputs || (row->def->max_inputs != 255 && n > row->def->max_inputs) ||
      outputs_ < row->def->min_outputs || (row->def->max_outputs != 255 && outputs_ > row->def->max_outputs)) {
    return fail(&error_, Status::kInvalidModel, "wrong number of inputs or outputs");
  }
  types_.assign(static_cast<size_t>(outputs_), TensorType{});
  TestInfer ctx(inputs_, &types_, Span<const uint8_t>(attrs_.data(), attrs_.size()), &error_);
  ctx.bound_unknown(unknown_);
  const Status s = row->def->infer(ctx);
  results_.assign(static_cast<size_t>(outputs_), TestTensor{});
  for (size_t i = 0; i < results_.size(); ++i) results_[i].type = types_[i];
  return s;
}

Status OpTest::run() {
  VIREO_TRY(infer());
  const RefKernel* kernel = find_ref(op_);
  if (kernel == nullptr) return fail(&error_, Status::kUnsupported, "no reference kernel");

  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors(inputs_.size() + types_.size());
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  std::vector<TensorType> in_types;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    TestTensor& t = inputs_[i];
    in_types.push_back(t.type);
    if (t.type.dtype == DType::kNone) {
      in.push_back(nullptr);
      continue;
    }
    const size_t bytes = static_cast<size_t>(tensor_bytes(t.type));
    buffers.push_back(make_buffer(bytes));
    if (t.type.dtype == DType::kString) {
      auto* refs = reinterpret_cast<StringRef*>(buffers.back().get());
      for (size_t k = 0; k < t.strings.size(); ++k) refs[k] = {t.strings[k].data(), t.strings[k].size()};
    } else if (bytes > 0) {
      std::memcpy(buffers.back().get(), t.bytes.data(), bytes);
    }
    tensors[i] = {t.type, buffers.back().get(), static_cast<int64_t>(bytes)};
    in.push_back(&tensors[i]);
  }
  for (size_t i = 0; i < types_.size(); ++i) {
    Tensor& t = tensors[inputs_.size() + i];
    const int64_t bytes = tensor_bytes(types_[i]);
    if (bytes < 0) return fail(&error_, Status::kInvalidModel, "output {} has no size", static_cast<int>(i));
    t = {types_[i], nullptr, bytes};
    if (i == 0 && in_place_) {
      if (tensors[0].capacity != bytes) return fail(&error_, Status::kInvalidArgument, "not of one size");
      t.data = tensors[0].data;
    } else {
      buffers.push_back(make_buffer(static_cast<size_t>(bytes)));
      t.data = buffers.back().get();
    }
    out.push_back(&t);
  }
  KernelContext ctx;
  ctx.inputs = Span<const Tensor* const>(in.data(), in.size());
  ctx.outputs = Span<Tensor* const>(out.data(), out.size());
  ctx.attr_bytes = Span<const uint8_t>(attrs_.data(), attrs_.size());
  ctx.parallel = {slots_ > 1 ? run_serially : nullptr, &slots_, slots_};
  uint64_t random = 42;
  ctx.random = &random;
  ctx.error = &error_;
  size_t scratch_bytes = 0, text_bytes = 0;
  const KernelQuery query{Span<const TensorType>(in_types.data(), in_types.size()),
                          Span<const TensorType>(types_.data(), types_.size()), ctx.attr_bytes, slots_};
  if (kernel->text_bytes != nullptr) {
    const int64_t bytes = kernel->text_bytes(query);
    if (bytes < 0) return fail(&error_, Status::kInvalidModel, "its text has no size");
    text_bytes = static_cast<size_t>(bytes);
  }
  Buffer text = make_buffer(text_bytes);
  ctx.text = Span<uint8_t>(text.get(), text_bytes);
  if (kernel->scratch_bytes != nullptr) {
    scratch_bytes = static_cast<size_t>(kernel->scratch_bytes(query));
  }
  Buffer scratch = make_buffer(scratch_bytes);
  ctx.scratch = Span<uint8_t>(scratch.get(), scratch_bytes);
  VIREO_TRY(kernel->run(ctx));
  for (size_t k = 0; k < kGuard; ++k) {
    if (scratch[scratch_bytes + k] != kPaint) return fail(&error_, Status::kInvalidArgument, "wrote past its scratch");
    if (text[text_bytes + k] != kPaint) return fail(&error_, Status::kInvalidArgument, "wrote past its text");
  }
  for (size_t i = 0; i < types_.size(); ++i) {
    const Tensor& t = *out[i];
    const auto* p = static_cast<const uint8_t*>(t.data);
    for (size_t k = 0; k < kGuard; ++k) {
      if (p[static_cast<size_t>(t.capacity) + k] != kPaint) {
        return fail(&error_, Status::kInvalidArgument, "wrote past output {}", static_cast<int>(i));
      }
    }
    results_[i].type = {t.dtype, t.shape};
    if (t.dtype == DType::kString) {
      for (int64_t k = 0; k < t.count(); ++k) {
        const StringRef& s = t.as<StringRef>()[k];
        results_[i].strings.emplace_back(s.data, s.size);
      }
    } else {
      results_[i].bytes.assign(p, p + tensor_bytes(results_[i].type));
    }
  }
  return Status::kOk;
}

}  // namespace vireo

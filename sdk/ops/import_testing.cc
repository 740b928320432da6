#include "sdk/ops/import_testing.h"

namespace vireo {

class EagerImport final : public ImportContext {
 public:
  explicit EagerImport(ImportTest* t) : t_(t) {}

  std::string_view op_type() const override { return t_->op_type_; }
  std::string_view domain() const override { return t_->domain_; }
  int opset() const override { return t_->opset_; }
  int input_count() const override { return t_->inputs_; }
  int output_count() const override { return t_->outputs_; }
  Value input(int i) const override {
    if (i >= t_->inputs_ || t_->values_[static_cast<size_t>(i)].tensor.type.dtype == DType::kNone) return {};
    return {static_cast<uint32_t>(i) + 1};
  }
  bool wants_output(int i) const override { return i < t_->outputs_; }
  TensorType type(Value v) const override { return v ? held(v).tensor.type : TensorType{}; }
  const ConstTensor* constant(Value v) const override { return v && held(v).constant ? &held(v).view : nullptr; }

  bool has_attr(std::string_view name) const override { return find(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t otherwise) const override {
    const auto* a = find(name);
    return a == nullptr ? otherwise : a->i;
  }
  float attr_float(std::string_view name, float otherwise) const override {
    const auto* a = find(name);
    return a == nullptr ? otherwise : a->f;
  }
  std::string attr_string(std::string_view name, std::string_view otherwise) const override {
    const auto* a = find(name);
    return a == nullptr ? std::string(otherwise) : a->s;
  }
  std::vector<int64_t> attr_ints(std::string_view name) const override {
    const auto* a = find(name);
    return a == nullptr ? std::vector<int64_t>() : a->ints;
  }
  std::vector<float> attr_floats(std::string_view name) const override {
    const auto* a = find(name);
    return a == nullptr ? std::vector<float>() : a->floats;
  }
  std::vector<std::string> attr_strings(std::string_view name) const override {
    const auto* a = find(name);
    return a == nullptr ? std::vector<std::string>() : a->strings;
  }
  const ConstTensor* attr_tensor(std::string_view name) const override {
    const auto* a = find(name);
    return a == nullptr ? nullptr : &a->tensor;
  }

  std::vector<Value> emit(Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs, int outputs) override {
    t_->emitted_.push_back(op);
    OpTest run(op, std::move(attrs));
    for (Value v : inputs) {
      if (v) {
        run.input(held(v).tensor);
      } else {
        run.absent();
      }
    }
    run.outputs(outputs);
    const Status s = run.run();
    if (!ok(s)) {
      status_ = s;
      t_->message_ = std::string(op_name(op)) + ": " + run.message();
      return std::vector<Value>(static_cast<size_t>(outputs));
    }
    std::vector<Value> out;
    for (int i = 0; i < outputs; ++i) out.push_back(add(run.y(i), false));
    return out;
  }
  Value add_constant(const TensorType& type, std::vector<uint8_t> bytes) override {
    TestTensor t;
    t.type = type;
    t.bytes = std::move(bytes);
    return add(std::move(t), true);
  }
  Value add_string_constant(const Shape& shape, std::vector<std::string> strings) override {
    TestTensor t;
    t.type = {DType::kString, shape};
    t.strings = std::move(strings);
    return add(std::move(t), true);
  }
  void set_output(int i, Value v) override {
    if (v && i < t_->outputs_) t_->results_[static_cast<size_t>(i)] = held(v).tensor;
  }
  void assume(const std::string&, const std::string&) override {}
  void assume_extents(const std::vector<Dim>&, bool, const std::string&, const std::string&) override {}
  void beyond_standard(const std::string&) override {}
  Status fail(Status status, const std::string& what, const std::string& help) override {
    t_->message_ = help.empty() ? what : what + "; " + help;
    return status_ = status;
  }

  Status status() const { return status_; }

 private:
  Value add(TestTensor t, bool constant) {
    t_->values_.push_back({std::move(t), constant, {}});
    ImportTest::Held& h = t_->values_.back();
    h.view = {h.tensor.type, Span<const uint8_t>(h.tensor.bytes.data(), h.tensor.bytes.size()), h.tensor.strings};
    return {static_cast<uint32_t>(t_->values_.size())};
  }
  ImportTest::Held& held(Value v) const { return t_->values_[v.id - 1]; }
  const ImportTest::Attr* find(std::string_view name) const {
    const auto it = t_->attrs_.find(std::string(name));
    return it == t_->attrs_.end() ? nullptr : &it->second;
  }

  ImportTest* t_;
  Status status_ = Status::kOk;
};

ImportTest& ImportTest::attr(const std::string& name, int64_t v) {
  attrs_[name].i = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, float v) {
  attrs_[name].f = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, const std::string& v) {
  attrs_[name].s = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, const std::vector<int64_t>& v) {
  attrs_[name].ints = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, const std::vector<float>& v) {
  attrs_[name].floats = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, const std::vector<std::string>& v) {
  attrs_[name].strings = v;
  return *this;
}
ImportTest& ImportTest::attr(const std::string& name, const TestTensor& v) {
  Attr& a = attrs_[name];
  a.bytes = v.bytes;
  a.tensor = {v.type, Span<const uint8_t>(a.bytes.data(), a.bytes.size()), v.strings};
  return *this;
}

ImportTest& ImportTest::input(TestTensor t) {
  values_.push_back({std::move(t), false, {}});
  ++inputs_;
  return *this;
}
ImportTest& ImportTest::constant(TestTensor t) {
  input(std::move(t));
  Held& h = values_.back();
  h.constant = true;
  h.view = {h.tensor.type, Span<const uint8_t>(h.tensor.bytes.data(), h.tensor.bytes.size()), h.tensor.strings};
  return *this;
}
ImportTest& ImportTest::outputs(int n) {
  outputs_ = n;
  return *this;
}

Status ImportTest::run() {
  emitted_.clear();
  results_.assign(static_cast<size_t>(outputs_), TestTensor{});
  for (const OnnxImport* row : onnx_imports()) {
    if (op_type_ != row->op_type || domain_ != row->domain) continue;
    EagerImport ctx(this);
    const Status s = row->import(ctx);
    if (!ok(s) || !ok(ctx.status())) return ok(ctx.status()) ? s : ctx.status();
    for (const TestTensor& y : results_) {
      if (y.type.dtype == DType::kNone) {
        message_ = "an output was given no value";
        return Status::kInvalidModel;
      }
    }
    return Status::kOk;
  }
  message_ = "no importer for " + domain_ + "::" + op_type_;
  return Status::kUnsupported;
}

}  // namespace vireo

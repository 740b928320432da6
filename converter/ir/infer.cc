#include "converter/ir/infer.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "converter/ir/steps.h"
#include "sdk/base/checked.h"
#include "sdk/base/string.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::ir {
namespace {

bool is_countable(DType t) { return dtype_bits(t) >= 8 && (dtype_is_integer(t) || t == DType::kBool); }

class NodeInfer final : public InferContext {
 public:
  // `dims` null: concrete evaluation, where nothing may be symbolic.
  NodeInfer(DimTable* dims, const Node& node, const std::vector<const TensorType*>& inputs,
            std::vector<TensorType*> outputs, Error* error)
      : dims_(dims), node_(node), input_types_(inputs), output_types_(std::move(outputs)) {
    inputs_ = input_types_.data();
    input_count_ = static_cast<int>(input_types_.size());
    outputs_ = output_types_.data();
    output_count_ = static_cast<int>(output_types_.size());
    attrs_ = {node.attrs.data(), node.attrs.size()};
    error_ = error;
  }
  void know(int i, ConstantPtr c) { constants_[i] = std::move(c); }
  void know(int i, const std::vector<Dim>* contents) { contents_[i] = contents; }
  // The extent that follows from contents of which the shape function sees nothing.
  void know_extent(Dim d) { extent_ = d; }

  bool known(int i) override { return constants_.count(i) != 0 || contents_.count(i) != 0; }
  Dim value(int i, int64_t element) override {
    const auto c = contents_.find(i);
    if (c != contents_.end()) {
      return element >= 0 && static_cast<size_t>(element) < c->second->size()
                 ? (*c->second)[static_cast<size_t>(element)]
                 : 0;
    }
    const Constant* k = constant_at(i, element);
    if (k == nullptr) return 0;
    // Numbers in the range of handles (INT64_MIN as an open end of Slice) become the lowest that is none: as far below
    // every extent.
    const int64_t v = read_integer(k->tensor.type.dtype, k->tensor.bytes.data(), element);
    return is_symbolic(v) ? kLastHandle + 1 : v;
  }
  double real(int i, int64_t element) override {
    const Constant* k = constant_at(i, element);
    return k == nullptr ? 0 : read_real(k->tensor.type.dtype, k->tensor.bytes.data(), element);
  }
  Dim bounded(Dim upper) override { return dims_ == nullptr ? upper : dims_->fresh_bounded(stem(), upper); }
  Dim unknown() override {
    if (dims_ == nullptr) return -1;
    return extent_ ? *extent_ : dims_->fresh(stem());
  }

 protected:
  Dim symbolic(Arith op, Dim a, Dim b) override {
    if (dims_ == nullptr) return -1;
    switch (op) {
      case Arith::kAdd:
        return dims_->add(a, b);
      case Arith::kSub:
        return dims_->sub(a, b);
      case Arith::kMul:
        return dims_->mul(a, b);
      case Arith::kFloorDiv:
        return dims_->floor_div(a, b);
      case Arith::kMin:
        return dims_->min(a, b);
      case Arith::kMax:
        return dims_->max(a, b);
    }
    return 0;
  }

 private:
  const Constant* constant_at(int i, int64_t element) const {
    const auto it = constants_.find(i);
    if (it == constants_.end() || element < 0 || element >= it->second->tensor.count()) return nullptr;
    return it->second.get();
  }
  std::string stem() const {
    const std::string base = node_.name.empty() ? std::string(op_name(node_.op)) : node_.name;
    return base + ".size";
  }

  DimTable* dims_;
  const Node& node_;
  std::vector<const TensorType*> input_types_;
  std::vector<TensorType*> output_types_;
  std::map<int, ConstantPtr> constants_;
  std::map<int, const std::vector<Dim>*> contents_;
  std::optional<Dim> extent_;
};

const TensorType kAbsent{};

// Dimension handles in the device half's messages become expressions.
std::string with_names(const DimTable& dims, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 4, "-922") != 0) {
      out += text[i++];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const Dim d = end - i == 20 ? static_cast<Dim>(std::strtoll(text.substr(i, end - i).c_str(), nullptr, 10)) : 0;
    out += is_symbolic(d) ? dims.text(d) : text.substr(i, end - i);
    i = end;
  }
  return out;
}

}  // namespace

bool is_readable_real(DType t) { return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16; }

bool known_elements(const Value* v, ConstantFinder* finder, std::vector<Dim>* out) {
  if (v == nullptr) return false;
  if (v->contents) {
    *out = *v->contents;
    return true;
  }
  const ConstantPtr c = v->constant != nullptr ? v->constant : finder != nullptr ? finder->find(v) : nullptr;
  if (c == nullptr || !is_countable(c->tensor.type.dtype) || c->tensor.count() > kMaxContents) return false;
  out->resize(static_cast<size_t>(c->tensor.count()));
  for (size_t i = 0; i < out->size(); ++i) {
    (*out)[i] = read_integer(c->tensor.type.dtype, c->tensor.bytes.data(), static_cast<int64_t>(i));
    if (c->tensor.type.dtype == DType::kU64 && (*out)[i] < 0) return false;  // 2^63 and more: no extent
    if (is_symbolic((*out)[i])) (*out)[i] = kLastHandle + 1;                 // as NodeInfer::value
  }
  return true;
}

bool check_type(const DimTable& dims, const TensorType& t, std::string* message) {
  int64_t n = 1;
  for (int i = 0; i < t.shape.rank; ++i) {
    const Dim d = t.shape[i];
    if (is_symbolic(d)) {
      if (dims.interval(d).hi < 0) {
        *message =
            "dimension " + std::to_string(i) + " of the output would be " + dims.text(d) + ", which is always negative";
        return false;
      }
      continue;
    }
    if (d < 0) {
      *message = "dimension " + std::to_string(i) + " of the output would be " + std::to_string(d);
      return false;
    }
    if (d == DimTable::kTooLarge) {
      const std::string limit = dims.limit_met();
      *message =
          "dimension " + std::to_string(i) + " of the output " +
          (limit.empty() ? "is larger than can be counted"
                         : "has an expression above the limit of " + limit + ": give its inputs' extents as numbers");
      return false;
    }
    if (d != 0 && !checked_mul(n, d, &n)) {
      *message = "the output's shape " + dims.text(t.shape) + " has more elements than can be counted";
      return false;
    }
  }
  if (t.shape.is_static() && tensor_bytes(t) < 0) {
    *message = "the output's shape " + dims.text(t.shape) + " has more bytes than can be counted";
    return false;
  }
  return true;
}

// `most` 255: any number.
bool check_count(size_t count, size_t least, size_t most, const char* what, std::string* message) {
  if (count >= least && (most == 255 || count <= most)) return true;
  *message = "has " + std::to_string(count) + " " + what + (count == 1 ? "" : "s") + ", wanted " +
             std::to_string(least) +
             (most == least ? ""
              : most == 255 ? " or more"
                            : " to " + std::to_string(most));
  return false;
}

Status infer_node(Graph& graph, Node* node, ConstantFinder* finder, std::string* message) {
  const OpDef& def = node->def();
  size_t given = node->inputs.size();
  while (given > 0 && node->inputs[given - 1] == nullptr) --given;
  if (!check_count(given, def.min_inputs, def.max_inputs, "input", message) ||
      !check_count(node->outputs.size(), def.min_outputs, def.max_outputs, "output", message))
    return Status::kInvalidModel;
  if (!def.verify({node->attrs.data(), node->attrs.size()})) {
    *message = "its attributes cannot be expressed";
    return Status::kInvalidModel;
  }
  std::vector<const TensorType*> inputs;
  for (size_t i = 0; i < given; ++i) {
    const Value* v = node->inputs[i];
    if (v == nullptr && i < def.min_inputs && (def.flags & OpDef::kControlFlow) == 0) {
      *message = "input " + std::to_string(i) + " is missing";
      return Status::kInvalidModel;
    }
    inputs.push_back(v == nullptr ? &kAbsent : &v->type);
  }
  std::vector<TensorType> types(node->outputs.size());
  std::vector<TensorType*> outputs;
  for (TensorType& t : types) outputs.push_back(&t);
  Error error;
  NodeInfer ctx(&graph.dims(), *node, inputs, outputs, &error);
  for (size_t i = 0; i < given; ++i) {
    const Value* v = node->inputs[i];
    if (v == nullptr) continue;
    if (v->contents && !is_readable_real(v->type.dtype)) {
      ctx.know(static_cast<int>(i), &*v->contents);
      continue;
    }
    if (!is_countable(v->type.dtype) && !is_readable_real(v->type.dtype)) continue;
    const ConstantPtr c = v->constant != nullptr ? v->constant : finder != nullptr ? finder->find(v) : nullptr;
    if (c != nullptr) ctx.know(static_cast<int>(i), c);
  }
  Dim count = 0;
  if (range_count(graph.dims(), *node, finder, &count)) ctx.know_extent(count);
  const Status status = def.infer(ctx);
  if (!ok(status)) {
    *message = with_names(graph.dims(), error.message[0] != 0 ? error.message : "its shape function refuses it");
    return status;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype == DType::kNone) {
      *message = "output " + std::to_string(i) + " has no type";
      return Status::kInvalidModel;
    }
    if (!check_type(graph.dims(), types[i], message)) return Status::kInvalidModel;
    if (node->outputs[i] != nullptr) node->outputs[i]->type = types[i];
  }
  infer_contents(graph.dims(), node, finder);
  return Status::kOk;
}

bool evaluate_node(const Node& node, const std::vector<ConstantPtr>& inputs, int64_t limit_bytes,
                   std::vector<ConstantPtr>* outputs, std::string* message, Budget* budget) {
  const OpDef& def = node.def();
  const RefKernel* kernel = find_ref(node.op);
  if (kernel == nullptr || (def.flags & (OpDef::kRandom | OpDef::kControlFlow)) != 0) {
    *message = "no reference kernel";
    return false;
  }
  std::vector<const TensorType*> in_types;
  for (const ConstantPtr& c : inputs) in_types.push_back(c == nullptr ? &kAbsent : &c->tensor.type);
  while (!in_types.empty() && in_types.back() == &kAbsent) in_types.pop_back();
  std::vector<TensorType> types(node.outputs.size());
  std::vector<TensorType*> out_types;
  for (TensorType& t : types) out_types.push_back(&t);
  Error error;
  NodeInfer ctx(nullptr, node, in_types, out_types, &error);
  for (size_t i = 0; i < in_types.size(); ++i) {
    if (inputs[i] != nullptr && inputs[i]->tensor.type.dtype != DType::kString)
      ctx.know(static_cast<int>(i), inputs[i]);
  }
  if (!ok(def.infer(ctx))) {
    *message = error.message;
    return false;
  }

  // Strings travel as references into the constants' own text.
  std::vector<std::vector<StringRef>> refs(inputs.size());
  std::vector<Tensor> in(in_types.size()), out(types.size());
  std::vector<const Tensor*> in_ptr;
  std::vector<Tensor*> out_ptr;
  for (size_t i = 0; i < in_types.size(); ++i) {
    if (inputs[i] == nullptr) {
      in_ptr.push_back(nullptr);
      continue;
    }
    const ConstTensor& t = inputs[i]->tensor;
    in[i].dtype = t.type.dtype;
    in[i].shape = t.type.shape;
    if (t.type.dtype == DType::kString) {
      for (const std::string& s : t.strings) refs[i].push_back({s.data(), s.size()});
      in[i].data = refs[i].data();
      in[i].capacity = static_cast<int64_t>(refs[i].size() * sizeof(StringRef));
    } else {
      in[i].data = const_cast<uint8_t*>(t.bytes.data());
      in[i].capacity = static_cast<int64_t>(t.bytes.size());
    }
    in_ptr.push_back(&in[i]);
  }
  int64_t made = 0;
  for (const TensorType& t : types) {
    const int64_t bytes = tensor_bytes(t);
    if (bytes < 0 || bytes > limit_bytes) {
      *message = bytes < 0 ? "its size is not known" : std::to_string(bytes) + " bytes, above the limit";
      return false;
    }
    made += bytes;
  }
  if (budget != nullptr) {
    const int64_t steps = steps_of(node, in_types, {out_types.begin(), out_types.end()});
    for (const auto& [kind, amount] : {std::pair{Budget::kFoldedSteps, steps}, {Budget::kFoldedBytes, made}}) {
      if (budget->spend(kind, amount)) continue;
      *message = "the conversion's limit of " + budget->limit(kind);
      return false;
    }
  }
  std::vector<std::vector<uint64_t>> memory(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const int64_t bytes = tensor_bytes(types[i]);
    memory[i].resize(static_cast<size_t>(bytes) / 8 + 9);
    out[i].dtype = types[i].dtype;
    out[i].shape = types[i].shape;
    out[i].data = reinterpret_cast<void*>(align_up(reinterpret_cast<uintptr_t>(memory[i].data()), 64));
    out[i].capacity = bytes;
    out_ptr.push_back(node.outputs[i] == nullptr && i >= def.min_outputs ? nullptr : &out[i]);
  }
  std::vector<TensorType> query_in(in_types.size());
  for (size_t i = 0; i < in_types.size(); ++i) query_in[i] = *in_types[i];
  std::vector<uint64_t> scratch;
  int64_t scratch_bytes = 0;
  KernelQuery query;
  query.inputs = {query_in.data(), query_in.size()};
  query.outputs = {types.data(), types.size()};
  query.attr_bytes = {node.attrs.data(), node.attrs.size()};
  std::vector<uint8_t> text;
  if (kernel->text_bytes != nullptr) {
    const int64_t text_bytes = kernel->text_bytes(query);
    if (text_bytes < 0 || text_bytes > limit_bytes) {
      *message = std::to_string(text_bytes) + " bytes of text, above the limit";
      return false;
    }
    text.resize(static_cast<size_t>(text_bytes));
  }
  if (kernel->scratch_bytes != nullptr) {
    scratch_bytes = kernel->scratch_bytes(query);
    if (scratch_bytes < 0 || scratch_bytes > (int64_t{1} << 30)) return false;
    if (budget != nullptr && !budget->spend(Budget::kFoldedSteps, scratch_bytes / 8)) {
      *message = "the conversion's limit of " + budget->limit(Budget::kFoldedSteps);
      return false;
    }
    scratch.resize(static_cast<size_t>(scratch_bytes) / 8 + 9);
  }
  KernelContext run;
  run.inputs = {in_ptr.data(), in_ptr.size()};
  run.outputs = {out_ptr.data(), out_ptr.size()};
  run.attr_bytes = {node.attrs.data(), node.attrs.size()};
  run.scratch = {reinterpret_cast<uint8_t*>(align_up(reinterpret_cast<uintptr_t>(scratch.data()), 64)),
                 static_cast<size_t>(scratch_bytes)};
  run.text = {text.data(), text.size()};
  run.error = &error;
  if (!ok(kernel->run(run))) {
    *message = error.message;
    return false;
  }
  outputs->assign(types.size(), nullptr);
  for (size_t i = 0; i < types.size(); ++i) {
    if (out_ptr[i] == nullptr) continue;
    const TensorType type{out[i].dtype, out[i].shape};
    if (type.dtype == DType::kString) {
      std::vector<std::string> strings;
      for (int64_t k = 0; k < element_count(type.shape); ++k) {
        const StringRef& s = out[i].as<StringRef>()[k];
        strings.emplace_back(s.data, s.size);
      }
      (*outputs)[i] = make_strings(type.shape, std::move(strings));
      continue;
    }
    const auto* data = static_cast<const uint8_t*>(out[i].data);
    (*outputs)[i] = make_constant(type, std::vector<uint8_t>(data, data + tensor_bytes(type)));
  }
  return true;
}

ConstantPtr ConstantFinder::find(const Value* v) { return find(v, 0); }

// Contents that are numbers to the last element, as a constant; null for symbols. Little-endian: the low bytes of an
// int64_t are the narrower integer.
static ConstantPtr from_contents(const Value& v) {
  const DType t = v.type.dtype;
  const size_t size = static_cast<size_t>(dtype_bits(t)) / 8;
  if (!v.contents || (!dtype_is_integer(t) && t != DType::kBool) || size == 0 || size > sizeof(int64_t) ||
      element_count(v.type.shape) != static_cast<int64_t>(v.contents->size())) {
    return nullptr;
  }
  std::vector<uint8_t> bytes(v.contents->size() * size);
  for (size_t i = 0; i < v.contents->size(); ++i) {
    const Dim d = (*v.contents)[i];
    if (d <= kLastHandle + 1) return nullptr;  // one above them is also what stands for a number among them
    std::memcpy(bytes.data() + i * size, &d, size);
  }
  return make_constant(v.type, std::move(bytes));
}

ConstantPtr ConstantFinder::find(const Value* v, int depth) {
  if (v->constant != nullptr) return v->constant;
  if (v->contents) {
    // The extents of a value whose own elements are not known are constant all the same.
    const auto known = found_.find(v);
    if (known != found_.end() && known->second != nullptr) return known->second;
    const ConstantPtr c = from_contents(*v);
    if (c != nullptr) return found_[v] = c;
  }
  if (v->producer == nullptr || !v->producer->bodies.empty()) return nullptr;
  const auto it = found_.find(v);
  if (it != found_.end()) return it->second;
  if (depth > kMaxDepth) return nullptr;
  found_[v] = nullptr;
  const Node& node = *v->producer;
  std::vector<ConstantPtr> inputs;
  for (const Value* in : node.inputs) {
    inputs.push_back(in == nullptr ? nullptr : find(in, depth + 1));
    if (in != nullptr && (inputs.back() == nullptr || inputs.back()->size_bytes() > 16 * kMostBytes)) return nullptr;
  }
  std::vector<ConstantPtr> outputs;
  std::string message;
  if (!evaluate_node(node, inputs, kMostBytes, &outputs, &message, budget_)) return nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] != nullptr) found_[node.outputs[i]] = outputs[i];
  }
  return found_[v];
}

}  // namespace vireo::ir

#include "sdk/ops/view_export.h"

#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/to_integer.h"
#include "sdk/ops/shared/window.h"

namespace vireo {

OnnxNode::OnnxNode() = default;
OnnxNode::OnnxNode(const char* node_type, std::vector<std::string> node_inputs)
    : type(node_type), inputs(std::move(node_inputs)) {}
OnnxNode::OnnxNode(const OnnxNode&) = default;
OnnxNode::OnnxNode(OnnxNode&&) noexcept = default;
OnnxNode& OnnxNode::operator=(const OnnxNode&) = default;
OnnxNode& OnnxNode::operator=(OnnxNode&&) noexcept = default;
OnnxNode::~OnnxNode() = default;

namespace {

OnnxNode& with(OnnxNode* node, const char* name, OnnxNode::Attribute value) {
  node->attributes.emplace_back(name, std::move(value));
  return *node;
}

template <class To, class From>
OnnxNode& with_list(OnnxNode* node, const char* name, const From* v) {
  if (v == nullptr || v->size() == 0) return *node;
  return with(node, name, std::vector<To>(v->begin(), v->end()));
}

}  // namespace

OnnxNode& OnnxNode::set(const char* name, std::vector<int64_t> value) { return with(this, name, std::move(value)); }
OnnxNode& OnnxNode::set(const char* name, std::vector<float> value) { return with(this, name, std::move(value)); }
OnnxNode& OnnxNode::set(const char* name, std::vector<std::string> value) { return with(this, name, std::move(value)); }
OnnxNode& OnnxNode::set(const char* name, OnnxTensor value) { return with(this, name, std::move(value)); }
OnnxNode& OnnxNode::number(const char* name, int64_t v) { return with(this, name, v); }
OnnxNode& OnnxNode::real(const char* name, float v) { return with(this, name, v); }
OnnxNode& OnnxNode::text(const char* name, std::string v) { return with(this, name, std::move(v)); }

OnnxNode& OnnxNode::numbers(const char* name, const ::flatbuffers::Vector<uint8_t>* v) {
  return with_list<int64_t>(this, name, v);
}
OnnxNode& OnnxNode::numbers(const char* name, const ::flatbuffers::Vector<int32_t>* v) {
  return with_list<int64_t>(this, name, v);
}
OnnxNode& OnnxNode::numbers(const char* name, const ::flatbuffers::Vector<uint32_t>* v) {
  return with_list<int64_t>(this, name, v);
}
OnnxNode& OnnxNode::numbers(const char* name, const ::flatbuffers::Vector<int64_t>* v) {
  return with_list<int64_t>(this, name, v);
}
OnnxNode& OnnxNode::reals(const char* name, const ::flatbuffers::Vector<float>* v) {
  return with_list<float>(this, name, v);
}
OnnxNode& OnnxNode::texts(const char* name,
                          const ::flatbuffers::Vector<::flatbuffers::Offset<::flatbuffers::String>>* v) {
  if (v == nullptr || v->size() == 0) return *this;
  std::vector<std::string> list;
  for (const auto* s : *v) list.push_back(s->str());
  return set(name, std::move(list));
}

Status ExportContext::done(OnnxNode node) {
  add(std::move(node));
  return Status::kOk;
}

OnnxNode ExportContext::node(const char* type, std::vector<std::string> inputs) { return {type, std::move(inputs)}; }

std::string ExportContext::step(const char* type, std::vector<std::string> inputs) {
  return step(OnnxNode(type, std::move(inputs)));
}

Status ExportContext::finish(const char* type, std::vector<std::string> inputs) {
  return finish(OnnxNode(type, std::move(inputs)));
}

OnnxNode ExportContext::same(std::string type) {
  OnnxNode n;
  n.type = type.empty() ? op_name(op()) : std::move(type);
  for (int i = 0; i < input_count(); ++i) n.inputs.push_back(input(i));
  for (int i = 0; i < output_count(); ++i) n.outputs.push_back(output(i));
  while (!n.inputs.empty() && n.inputs.back().empty()) n.inputs.pop_back();
  while (n.outputs.size() > 1 && n.outputs.back().empty()) n.outputs.pop_back();
  return n;
}

std::string ExportContext::step(OnnxNode node) {
  std::string name = fresh(node.type);
  node.outputs = {name};
  add(std::move(node));
  return name;
}

Status ExportContext::finish(OnnxNode node) {
  node.outputs = {output(0)};
  return done(std::move(node));
}

OnnxNode ExportContext::cast_node(const std::string& x, DType to) {
  OnnxNode n = node("Cast", {x});
  n.number("to", static_cast<int64_t>(to));
  return n;
}

std::string ExportContext::cast(const std::string& x, DType to) { return step(cast_node(x, to)); }

std::string ExportContext::add_i64(const std::vector<int64_t>& values) {
  const auto* p = reinterpret_cast<const uint8_t*>(values.data());
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int64_t>(values.size());
  return add_constant({{DType::kI64, shape}, {p, p + values.size() * sizeof(int64_t)}, {}});
}

std::string ExportContext::add_scalar(DType type, double value) {
  std::vector<uint8_t> bytes;
  const auto store = [&](auto v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    bytes.assign(p, p + sizeof(v));
    return Status::kOk;
  };
  const Status s = dtype_is_float(type)
                       ? dispatch_float(type,
                                        [&](auto tag) {
                                          using T = decltype(tag);
                                          return store(static_cast<T>(static_cast<compute_t<T>>(value)));
                                        })
                       : dispatch_integer(type == DType::kBool ? DType::kU8 : type, [&](auto tag) {
                           return store(static_cast<decltype(tag)>(to_integer<int64_t>(value)));
                         });
  if (!ok(s)) (void)fail(Status::kUnsupported, std::string("a constant of type ") + dtype_name(type));
  return add_constant({{type, {}}, std::move(bytes), {}});
}

Status ExportContext::done_in_layout(OnnxNode node, uint8_t layout) {
  if (layout == static_cast<uint8_t>(Layout::kNchw)) return done(std::move(node));
  const int rank = input_type(0).shape.rank;
  std::vector<int64_t> first{0, rank - 1}, last{0};
  for (int i = 1; i + 1 < rank; ++i) first.push_back(i);
  for (int i = 2; i < rank; ++i) last.push_back(i);
  last.push_back(1);
  // Pools of bfloat16 between Casts: operator sets before 22 do not have them, and few runtimes do.
  const bool wide = input_type(0).dtype == DType::kBF16 && node.inputs.size() == 1;
  OnnxNode in = ExportContext::node("Transpose", {wide ? cast(node.inputs[0], DType::kF32) : node.inputs[0]});
  node.inputs[0] = step(std::move(in.set("perm", first)));
  const std::string inner = fresh(node.type), result = node.outputs[0];
  OnnxNode out = ExportContext::node("Transpose", {inner});
  out.set("perm", last).outputs = {wide ? fresh(node.type) : result};
  node.outputs[0] = inner;
  const std::string turned = out.outputs[0];
  add(std::move(node));
  if (!wide) return done(std::move(out));
  add(std::move(out));
  OnnxNode narrow = cast_node(turned, DType::kBF16);
  narrow.outputs = {result};
  return done(std::move(narrow));
}

}  // namespace vireo

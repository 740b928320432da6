#include "converter/export/writer.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "converter/export/newer_types.h"
#include "converter/onnx/six_bits.h"
#include "sdk/ops/traits.h"

namespace vireo::exporter {
namespace {

// A constant of up to this many bytes stands in a function; a larger one is handed in, so that calls can share it.
constexpr int64_t kSmall = 64;

// ONNX's table of releases: the IR version that an opset came with.
int ir_version(int opset) {
  constexpr int kVersions[] = {10, 10, 11, 12, 13, 13, 13, 14};  // opsets 21 to 28
  const int i = std::min<int>(std::max(opset, kExportOpset) - kExportOpset, std::size(kVersions) - 1);
  return kVersions[i];
}

void set_attribute(const std::string& name, const OnnxNode::Attribute& value, ::onnx::AttributeProto* a) {
  using ::onnx::AttributeProto;
  a->set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    a->set_type(AttributeProto::INT);
    a->set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    a->set_type(AttributeProto::FLOAT);
    a->set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    a->set_type(AttributeProto::STRING);
    a->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    a->set_type(AttributeProto::INTS);
    for (const int64_t v : *ints) a->add_ints(v);
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    a->set_type(AttributeProto::FLOATS);
    for (const float v : *floats) a->add_floats(v);
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    a->set_type(AttributeProto::STRINGS);
    for (const std::string& v : *strings) a->add_strings(v);
  } else {
    a->set_type(AttributeProto::TENSOR);
    fill(std::get<OnnxTensor>(value), a->mutable_t());
  }
}

}  // namespace

std::string Names::take(const std::string& wanted, Set* set) {
  std::string name = wanted;
  for (size_t& n = set->next[wanted]; name.empty() || !set->taken.insert(name).second;)
    name = wanted + "." + std::to_string(++n);
  return name;
}

ConstantKey::ConstantKey(const ir::Constant& c)
    : bytes(c.tensor.bytes.empty() ? static_cast<const void*>(&c) : c.tensor.bytes.data()), type(c.tensor.type) {}

bool ConstantKey::operator<(const ConstantKey& other) const {
  if (bytes != other.bytes) return std::less<>()(bytes, other.bytes);
  if (type.dtype != other.type.dtype) return type.dtype < other.type.dtype;
  const Shape &a = type.shape, &b = other.type.shape;
  return std::lexicographical_compare(a.dims, a.dims + a.rank, b.dims, b.dims + b.rank);
}

void describe(const TensorType& type, ::onnx::TensorProto* t) {
  t->set_data_type(static_cast<int>(type.dtype));
  for (int i = 0; i < type.shape.rank; ++i) t->add_dims(type.shape[i]);
}

void fill(const OnnxTensor& value, ::onnx::TensorProto* t) {
  describe(value.type, t);
  if (value.type.dtype == DType::kString) {
    for (const std::string& s : value.strings) t->add_string_data(s);
  } else {
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(value.type.dtype, {value.bytes.data(), value.bytes.size()}, &packed);
    t->set_raw_data(raw.data(), raw.size());
  }
}

// ---- the writer ----

void Writer::refuse(const ir::Node& node, const std::string& what, const std::string& help) {
  Diagnostic d;
  d.code = Code::kCannotExport;
  d.op = op_name(node.op);
  d.node = node.name;
  d.what = "cannot be written as ONNX: " + what;
  d.help = help;
  diagnostics_->add(std::move(d));
}

void Writer::need(const std::string& domain, int opset) {
  int& now = opsets_[domain];
  now = std::max(now, opset);
}

// Newer types need newer versions of the operators that take them.
void Writer::need_type(DType t) {
  if (t == DType::kF4E2M1) need("", 23);
  if (t == DType::kF8E8M0) need("", 24);
  if (t == DType::kU2 || t == DType::kI2) need("", 25);
  if (t == DType::kF6E2M3 || t == DType::kF6E3M2) need("", 28);
}

std::string Writer::constant(Scope& scope, const ir::ConstantPtr& c, const std::string& wanted) {
  need_type(c->tensor.type.dtype);
  std::string& found = (scope.function ? scope.constants : initializers_)[ConstantKey(*c)];
  if (!found.empty()) return found;
  if (!scope.function) {
    found = names_.take(wanted.empty() ? "constant" : wanted);
    auto* t = model_.mutable_graph()->add_initializer();
    t->set_name(found);
    describe(c->tensor.type, t);
    constants_.push_back(c);
    return found;
  }
  found = scope.names->take("c");  // the same in all functions of one form
  if (c->size_bytes() > kSmall || c->tensor.type.dtype == DType::kString) {
    scope.handed_in.push_back(c);
    scope.parameters.push_back(found);
    return found;
  }
  OnnxNode n;
  n.type = "Constant";
  n.outputs = {found};
  n.set("value", OnnxTensor{c->tensor.type, {c->tensor.bytes.begin(), c->tensor.bytes.end()}, {}});
  add(scope, "", n);
  return found;
}

std::string Writer::name(Scope& scope, const ir::Value* v) {
  if (v == nullptr) return "";
  const auto known = scope.values.find(v);
  if (known != scope.values.end()) return known->second;
  return scope.values[v] = constant(scope, v->constant, v->name);
}

std::string Writer::result(Scope& scope, const ir::Node& node, size_t i) {
  const ir::Value* v = node.out(i);
  if (v == nullptr || (v->unused() && i > 0)) return "";
  const auto known = scope.values.find(v);
  if (known != scope.values.end()) return known->second;
  need_type(v->type.dtype);
  std::string wanted = !v->name.empty() ? v->name : !node.name.empty() ? node.name : op_name(node.op);
  return scope.values[v] = scope.names->take(wanted);
}

std::vector<std::string> Writer::all_results(Scope& scope, const ir::Node& node) {
  std::vector<std::string> out;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string known = result(scope, node, i);
    out.push_back(known.empty() ? scope.names->take("unused") : known);
  }
  return out;
}

void Writer::add(Scope& scope, const std::string& node_name, const OnnxNode& node) {
  if (node.domain.empty()) {
    need("", std::max(node.since, kExportOpset));
  } else if (node.domain == "ai.onnx.ml") {
    need(node.domain, std::max(node.since, kExportMlOpset));
  } else {
    need(node.domain, std::max(node.since, 1));
  }
  ::onnx::NodeProto* n = scope.nodes->Add();
  n->set_op_type(node.type);
  n->set_domain(node.domain);
  n->set_name(scope.names->take_node(node_name.empty() ? node.type : node_name));
  for (const std::string& s : node.inputs) n->add_input(s);
  for (const std::string& s : node.outputs) n->add_output(s);
  for (const auto& [attribute, value] : node.attributes) set_attribute(attribute, value, n->add_attribute());
}

bool Writer::write_formula(Scope& scope, const ir::Node& node) {
  const OnnxExport write = find_onnx_export(node.op);
  if (write == nullptr) {
    refuse(node, "there is no spelling of this operator", "");
    return false;
  }
  NodeExport context(*this, scope, node);
  if (!ok(write(context)) || context.failed()) return false;
  context.finish_carried();
  return true;
}

bool Writer::write_node(Scope& scope, const ir::Node& node) {
  switch (node.op) {
    case Op::kIf:
      return write_if(scope, node);
    case Op::kLoop:
      return write_loop(scope, node);
    case Op::kScan:
      return write_scan(scope, node);
    case Op::kComposite:
      return write_composite(scope, node);
    default:
      return is_own(node.op) ? write_own(scope, node) : write_formula(scope, node);
  }
}

// Goes on behind a node that cannot be written, to tell of all of them.
bool Writer::write_nodes(Scope& scope, const ir::Graph& graph) {
  bool good = true;
  for (const ir::Node& n : graph.nodes()) good = write_node(scope, n) && good;
  return good;
}

void Writer::declare(const ir::Graph& graph, const ir::Value& v, const std::string& name,
                     ::onnx::ValueInfoProto* info) {
  need_type(v.type.dtype);
  info->set_name(name);
  auto* t = info->mutable_type()->mutable_tensor_type();
  t->set_elem_type(static_cast<int>(v.type.dtype));
  t->mutable_shape();
  for (int i = 0; i < v.type.shape.rank; ++i) {
    auto* d = t->mutable_shape()->add_dim();
    if (is_symbolic(v.type.shape[i])) {
      d->set_dim_param(graph.dims().text(v.type.shape[i]));
    } else {
      d->set_dim_value(v.type.shape[i]);
    }
  }
}

std::vector<std::string> Writer::write_outputs(Scope& scope, const ir::Graph& graph,
                                               const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ir::Value* v = graph.outputs()[i];
    const std::string from = name(scope, v);
    const bool fits = v->producer != nullptr && (wanted[i].empty() ? seen.insert(from).second : from == wanted[i]);
    if (fits) {
      out.push_back(from);
      continue;
    }
    OnnxNode copy;
    copy.type = "Identity";
    copy.inputs = {from};
    copy.outputs = {wanted[i].empty() ? scope.names->take(from) : wanted[i]};
    add(scope, "", copy);
    out.push_back(copy.outputs[0]);
  }
  return out;
}

bool Writer::run(const ir::Graph& graph) {
  model_.set_producer_name("vireo");
  ::onnx::GraphProto* proto = model_.mutable_graph();
  proto->set_name(graph.name.empty() ? "graph" : graph.name);
  Scope scope;
  scope.names = &names_;
  scope.nodes = proto->mutable_node();
  need("", kExportOpset);
  for (const ir::Value* v : graph.inputs()) {
    scope.values[v] = names_.take(v->name);
    declare(graph, *v, scope.values[v], proto->add_input());
  }
  std::vector<std::string> wanted;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ir::Value* v = graph.outputs()[i];
    wanted.push_back(names_.take(graph.output_names()[i]));
    if (v->producer != nullptr) scope.values.emplace(v, wanted[i]);  // its first name; others are copies
    declare(graph, *v, wanted[i], proto->add_output());
  }
  if (!write_nodes(scope, graph)) return false;
  write_outputs(scope, graph, wanted);
  for (const auto& [domain, opset] : opsets_) {
    auto* import = model_.add_opset_import();
    import->set_domain(domain);
    import->set_version(opset);
    for (auto& f : *model_.mutable_functions()) *f.add_opset_import() = *import;
  }
  model_.set_ir_version(ir_version(opsets_[""]));
  return true;
}

bool build_model(const ir::Graph& graph, ::onnx::ModelProto* model, std::vector<ir::ConstantPtr>* constants,
                 Diagnostics* diagnostics) {
  return Writer(model, constants, diagnostics).run(graph);
}

// ---- one node ----

namespace {

constexpr Op kMovers[] = {Op::kConcat,          Op::kSplit,           Op::kSlice,       Op::kGather,
                          Op::kGatherElements,  Op::kGatherND,        Op::kExpand,      Op::kTile,
                          Op::kCompress,        Op::kScatterElements, Op::kScatterND,   Op::kWhere,
                          Op::kReverseSequence, Op::kDepthToSpace,    Op::kSpaceToDepth};

}  // namespace

NodeExport::NodeExport(Writer& writer, Scope& scope, const ir::Node& node)
    : writer_(writer),
      scope_(scope),
      node_(node),
      moves_(std::find(std::begin(kMovers), std::end(kMovers), node.op) != std::end(kMovers)) {}

// Codes go as bytes and small floats as float16, which has all their values; float32 has those of float8e8m0.
DType NodeExport::carrier(DType t) const {
  if (!moves_ || t == DType::kBool || t == DType::kString || (dtype_is_integer(t) && dtype_bits(t) >= 8)) return t;
  if (dtype_is_integer(t)) return dtype_is_signed(t) ? DType::kI8 : DType::kU8;
  if (t == DType::kF8E8M0) return DType::kF32;
  return dtype_is_float(t) && dtype_bits(t) <= 8 ? DType::kF16 : t;
}

std::string NodeExport::input(int i) const {
  const ir::Value* v = node_.in(static_cast<size_t>(i));
  std::string name = writer_.name(scope_, v);
  if (v == nullptr || carrier(v->type.dtype) == v->type.dtype) return name;
  std::string& inside = carried_in_[i];
  if (inside.empty()) inside = add_cast(name, carrier(v->type.dtype), "");
  return inside;
}

std::string NodeExport::output(int i) const {
  const ir::Value* v = node_.out(static_cast<size_t>(i));
  std::string name = writer_.result(scope_, node_, static_cast<size_t>(i));
  if (name.empty() || carrier(v->type.dtype) == v->type.dtype) return name;
  std::string& inside = carried_out_[i];
  if (inside.empty()) inside = scope_.names->take(name);
  return inside;
}

std::string NodeExport::add_cast(const std::string& from, DType to, const std::string& wanted) const {
  OnnxNode cast("Cast", {from});
  cast.number("to", static_cast<int64_t>(to)).outputs = {wanted.empty() ? scope_.names->take(from) : wanted};
  writer_.add(scope_, scope_.function ? "" : node_.name, cast);
  return cast.outputs[0];
}

void NodeExport::finish_carried() {
  for (const auto& [i, inside] : carried_out_) {
    const size_t at = static_cast<size_t>(i);
    (void)add_cast(inside, node_.out(at)->type.dtype, writer_.result(scope_, node_, at));
  }
}

TensorType NodeExport::input_type(int i) const {
  const ir::Value* v = node_.in(static_cast<size_t>(i));
  return v == nullptr ? TensorType{} : v->type;
}

TensorType NodeExport::output_type(int i) const {
  const ir::Value* v = node_.out(static_cast<size_t>(i));
  return v == nullptr ? TensorType{} : v->type;
}

const ConstTensor* NodeExport::constant(int i) const {
  const ir::Value* v = node_.in(static_cast<size_t>(i));
  return v == nullptr || v->constant == nullptr ? nullptr : &v->constant->tensor;
}

std::string NodeExport::fresh(const std::string& stem) {
  return scope_.names->take((scope_.function || node_.name.empty() ? "" : node_.name + "/") + stem);
}

std::string NodeExport::add_constant(OnnxTensor value) {
  OnnxNode n = node("Constant", {});
  return step(std::move(n.set("value", std::move(value))));
}

void NodeExport::add(OnnxNode node) {
  // Steps of a formula are taken to be of the types that the node has.
  const auto take = [&](const std::vector<ir::Value*>& values) {
    for (const ir::Value* v : values) {
      if (v != nullptr) node.since = std::max(node.since, opset_with_type(node.type, v->type.dtype));
    }
  };
  if (node.domain.empty()) {
    take(node_.inputs);
    take(node_.outputs);
  }
  writer_.add(scope_, scope_.function ? "" : node_.name, node);
}

Status NodeExport::fail(Status status, const std::string& what, const std::string& help) {
  failed_ = true;
  writer_.refuse(node_, what, help);
  return status;
}

}  // namespace vireo::exporter

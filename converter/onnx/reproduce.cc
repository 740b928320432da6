// What the node reads are the model's inputs, with the types and shapes they have here, and initialisers where they are
// known: small ones as they are, large ones zero, because what a node is refused for is seldom in its weights, and a
// file that is sent to somebody should not hold them.
#include "converter/onnx/reproduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/protos.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/six_bits.h"
#include "converter/onnx/state.h"
#include "converter/onnx/wide.h"

namespace vireo::importer {
namespace {

constexpr size_t kMost = 64;              // models for one import: a thousand nodes fail for a few reasons
constexpr int64_t kKeptBytes = 4096;      // constants up to here stay what they are
constexpr int64_t kDenseBytes = 1 << 16;  // zeros up to here are written out, larger ones are a sparse tensor
constexpr int kMaxDepth = 32;

void set_dims(const Shape& shape, google::protobuf::RepeatedField<int64_t>* out) {
  for (int i = 0; i < shape.rank; ++i) out->Add(shape[i]);
}

void fill(const ir::Constant& c, bool keep, ::onnx::TensorProto* out) {
  const TensorType& type = c.tensor.type;
  out->set_data_type(static_cast<int>(type.dtype));
  set_dims(type.shape, out->mutable_dims());
  if (type.dtype == DType::kString) {
    for (const std::string& s : c.tensor.strings) out->add_string_data(keep ? s : "");
  } else {
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(type.dtype, c.tensor.bytes, &packed);
    if (keep) {
      out->set_raw_data(raw.data(), raw.size());
      return;
    }
    out->set_raw_data(std::string(raw.size(), '\0'));
    out->set_doc_string("zeros in place of what it held");
  }
}

// Under `name` among the graph's initialisers.
void add_initializer(const ir::Constant& c, const std::string& name, ::onnx::GraphProto* graph) {
  const int64_t bytes = c.size_bytes();
  const TensorType& type = c.tensor.type;
  if (bytes <= kDenseBytes || type.dtype == DType::kString || dtype_bits(type.dtype) < 8) {
    auto* t = graph->add_initializer();
    t->set_name(name);
    fill(c, bytes <= kKeptBytes || type.dtype == DType::kString, t);
    return;
  }
  auto* sparse = graph->add_sparse_initializer();
  set_dims(type.shape, sparse->mutable_dims());
  sparse->mutable_values()->set_name(name);
  sparse->mutable_values()->set_doc_string("zeros in place of what it held");
  sparse->mutable_values()->set_data_type(static_cast<int>(type.dtype));
  sparse->mutable_values()->add_dims(0);
  sparse->mutable_indices()->set_name(name + "_indices");
  sparse->mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(0);
}

// A model of one node.
class OneNode {
 public:
  OneNode(ImportState& state, const Bundles& bundles, const WideTensors& wides)
      : state_(state), bundles_(bundles), wides_(wides) {}

  // `options`: what the command line must say of its inputs.
  std::string model(const ::onnx::NodeProto& node, const Scope& scope, std::vector<std::string>* options) {
    ::onnx::ModelProto out;
    out.set_ir_version(std::min<int64_t>(std::max<int64_t>(state_.model.ir_version(), 3), kNewestIr));
    out.set_producer_name("vireo");
    out.set_doc_string("One node of a larger model, to show why it is refused. Constants above " +
                       std::to_string(kKeptBytes) + " bytes are zeros.");
    for (const auto& [domain, version] : scope.opsets) {
      auto* row = out.add_opset_import();
      row->set_domain(domain);
      row->set_version(version);
    }
    ::onnx::GraphProto* graph = out.mutable_graph();
    graph->set_name("alone");
    *graph->add_node() = node;
    fill_attributes(node, scope, 0, graph->mutable_node(0));
    graph->mutable_node(0)->set_name(node_name(node, &scope));
    for (const std::string& name : read_names(node)) {
      if (name.empty()) continue;
      const ir::Value* v = state_.meaning(scope, name);
      const bool nothing = v == nullptr && scope.names.count(name) == 0 && scope.outer == nullptr;
      if (nothing) continue;  // nothing makes it: that is what is wrong
      const ir::ConstantPtr c = v == nullptr || bundles_.find(v) != nullptr ? nullptr : state_.finder.find(v);
      if (c != nullptr) {
        add_initializer(*c, name, graph);
      } else {
        auto* info = graph->add_input();
        info->set_name(name);
        declare_type(v, name, info->mutable_type(), options);
      }
    }
    for (const std::string& name : node.output()) {
      if (name.empty()) continue;
      auto* info = graph->add_output();
      info->set_name(name);
      // What the file says; else only that it is a tensor like the first input.
      for (const auto* infos : {&state_.model.graph().value_info(), &state_.model.graph().output()}) {
        for (const auto& declared : *infos) {
          if (declared.name() == name && scope.prefix.empty()) *info->mutable_type() = declared.type();
        }
      }
      if (info->type().has_tensor_type()) info->mutable_type()->mutable_tensor_type()->mutable_shape();
      if (info->has_type()) continue;
      const ir::Value* first = node.input_size() == 0 ? nullptr : state_.meaning(scope, node.input(0));
      declare_type(bundles_.find(first) == nullptr ? first : nullptr, name, info->mutable_type(), nullptr);
      for (auto& dim : *info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) dim.clear_value();
    }
    if (state_.function(plain_domain(node.domain()), node.op_type(), node.overload()) != nullptr) {
      for (const auto& f : state_.model.functions()) {
        ::onnx::FunctionProto* copy = out.add_functions();
        *copy = f;
        for (int i = 0; i < f.node_size(); ++i) {
          for (int k = 0; k < f.node(i).attribute_size(); ++k) {
            const auto& a = f.node(i).attribute(k);
            if (a.has_t()) *copy->mutable_node(i)->mutable_attribute(k)->mutable_t() = filled(a.t());
          }
        }
      }
    }
    return out.SerializeAsString();
  }

 private:
  // A tensor of the file, with the data that reading took out of it, and with no other file to look into.
  ::onnx::TensorProto filled(const ::onnx::TensorProto& tensor) const {
    const ir::ConstantPtr known = state_.tensors.known(&tensor);
    if (known == nullptr) return tensor;
    ::onnx::TensorProto out;
    out.set_name(tensor.name());
    fill(*known, known->size_bytes() <= kKeptBytes, &out);
    return out;
  }

  void fill_attributes(const ::onnx::NodeProto& from, const Scope& scope, int depth, ::onnx::NodeProto* to) const {
    to->clear_attribute();
    for (const auto& a : from.attribute()) {
      const ::onnx::AttributeProto* meant = find_attribute(from, scope, a.name());
      if (meant == nullptr || depth > kMaxDepth) continue;
      ::onnx::AttributeProto* copy = to->add_attribute();
      *copy = *meant;
      copy->set_name(a.name());
      if (meant->has_t()) *copy->mutable_t() = filled(meant->t());
      if (meant->has_g()) fill_graph(meant->g(), scope, depth + 1, copy->mutable_g());
    }
  }

  void fill_graph(const ::onnx::GraphProto& from, const Scope& scope, int depth, ::onnx::GraphProto* to) const {
    for (int i = 0; i < from.initializer_size(); ++i) *to->mutable_initializer(i) = filled(from.initializer(i));
    for (int i = 0; i < from.node_size(); ++i) fill_attributes(from.node(i), scope, depth, to->mutable_node(i));
  }

  void declare_type(const ir::Value* v, const std::string& name, ::onnx::TypeProto* out,
                    std::vector<std::string>* options) {
    const Bundle* map = bundles_.find(v);
    if (map != nullptr && map->map) {
      const Interval size = state_.dims->interval(map->elements[0]->type.shape[0]);
      const bool one = map->elements[1]->type.shape.rank == 1;
      auto* type =
          one ? out->mutable_map_type() : out->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
      type->set_key_type(static_cast<int>(map->elements[0]->type.dtype));
      type->mutable_value_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(map->elements[1]->type.dtype));
      if (one && !size.open() && options != nullptr)
        options->push_back("--elements " + name + "=" + std::to_string(size.hi));
      return;
    }
    if (const Bundle* b = bundles_.find(v)) {
      if (options != nullptr)
        options->push_back("--elements " + name + "=" +
                           (b->elements.empty() && b->optional ? "none" : std::to_string(b->elements.size())));
      ::onnx::TypeProto* element = b->optional ? out->mutable_optional_type()->mutable_elem_type()
                                               : out->mutable_sequence_type()->mutable_elem_type();
      if (b->elements.empty()) {
        element->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
      } else {
        declare_type(b->elements[0], name, element, nullptr);
      }
      return;
    }
    if (const WideTensor* w = wides_.find(v)) {
      auto* wide = out->mutable_tensor_type();
      wide->set_elem_type(static_cast<int>(w->flat->type.dtype));
      for (const Dim d : w->dims) {
        auto* dim = wide->mutable_shape()->add_dim();
        is_symbolic(d) ? dim->set_dim_param(state_.dims->text(d)) : dim->set_dim_value(d);
      }
      return;
    }
    auto* tensor = out->mutable_tensor_type();
    tensor->set_elem_type(v == nullptr ? static_cast<int>(::onnx::TensorProto::FLOAT)
                                       : static_cast<int>(v->type.dtype));
    tensor->mutable_shape();
    if (v == nullptr) return;
    std::string ranges;
    bool bounded = false, open = false;
    for (int i = 0; i < v->type.shape.rank; ++i) {
      const Dim d = v->type.shape[i];
      auto* dim = tensor->mutable_shape()->add_dim();
      ranges += i == 0 ? "" : ",";
      if (!is_symbolic(d)) {
        dim->set_dim_value(d);
        ranges += std::to_string(d);
        bounded = bounded || d == 0;  // an extent of 0 in a file means an unknown one
        continue;
      }
      dim->set_dim_param(state_.dims->text(d));
      const Interval range = state_.dims->interval(d);
      bounded = bounded || !range.open();
      open = open || range.open();
      ranges += std::to_string(range.lo) + ".." + std::to_string(range.hi);
    }
    if (bounded && !open && options != nullptr) options->push_back("--shape " + name + "=" + ranges);
  }

  ImportState& state_;
  const Bundles& bundles_;
  const WideTensors& wides_;
};

}  // namespace

std::string Reproducer::type_text(const ir::Value* v) const {
  if (v == nullptr) return " (not known)";
  if (const WideTensor* w = wides_.find(v)) return " " + wides_.text(*w);
  if (const Bundle* b = bundles_.find(v)) {
    if (b->map)
      return std::string(" ") + kind(*b) + " of " + dtype_name(b->elements[0]->type.dtype) + " to " +
             dtype_name(b->elements[1]->type.dtype);
    const std::string held = b->elements.empty() ? "" : " of" + type_text(b->elements[0]);
    return (b->optional ? " an optional" : " a sequence") + held;
  }
  return std::string(" ") + (state_.finder.find(v) != nullptr ? "constant " : "") + dtype_name(v->type.dtype) +
         state_.dims->text(v->type.shape);
}

void Reproducer::describe(const ::onnx::NodeProto& node, const Scope& scope, Diagnostic* d) {
  const auto opset = scope.opsets.find(plain_domain(node.domain()));
  d->domain = node.domain().empty() ? "ai.onnx" : node.domain();
  d->opset = opset == scope.opsets.end() ? 0 : opset->second;
  std::string note =
      "opset " + (d->opset == 0 ? std::string("not imported") : std::to_string(d->opset)) + " of " + d->domain;
  const char* separator = "; it reads ";
  for (int i = 0; i < node.input_size() && i < 12; ++i) {
    note += separator;
    separator = ", ";
    note += node.input(i).empty() ? std::string("nothing")
                                  : "\"" + node.input(i) + "\"" + type_text(state_.meaning(scope, node.input(i)));
  }
  if (node.input_size() > 12) note += " and " + std::to_string(node.input_size() - 12) + " more";
  d->notes.push_back(std::move(note));
  if (++described_ <= kMost)
    d->reproducer = OneNode(state_, bundles_, wides_).model(node, scope, &d->reproducer_options);
}

}  // namespace vireo::importer

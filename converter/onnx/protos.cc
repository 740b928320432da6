#include "converter/onnx/protos.h"

namespace vireo::importer {

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string names_text(const std::vector<std::string>& names, size_t most) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

bool is_constant(const ::onnx::NodeProto& node) {
  return node.op_type() == "Constant" && plain_domain(node.domain()).empty();
}

std::set<std::string> result_names(const ::onnx::GraphProto& g) {
  std::set<std::string> out;
  for (const auto& info : g.output()) out.insert(info.name());
  return out;
}

void free_names(const ::onnx::GraphProto& g, int depth, std::set<std::string>* out) {
  if (depth > kMostNested) return;
  std::set<std::string> used, made;
  for (const auto& i : g.input()) made.insert(i.name());
  for (const auto& t : g.initializer()) made.insert(t.name());
  for (const auto& t : g.sparse_initializer()) made.insert(t.values().name());
  for (const auto& n : g.node()) {
    used.insert(n.input().begin(), n.input().end());
    made.insert(n.output().begin(), n.output().end());
    for (const auto& a : n.attribute()) {
      if (a.has_g()) free_names(a.g(), depth + 1, &used);
    }
  }
  for (const auto& o : g.output()) used.insert(o.name());
  for (const std::string& name : used) {
    if (!name.empty() && made.count(name) == 0) out->insert(name);
  }
}

std::set<std::string> read_names(const ::onnx::NodeProto& node) {
  std::set<std::string> out(node.input().begin(), node.input().end());
  for (const auto& a : node.attribute()) {
    if (a.has_g()) free_names(a.g(), 0, &out);
  }
  return out;
}

::onnx::GraphProto* graph_attribute(::onnx::NodeProto& node, const char* name) {
  for (auto& a : *node.mutable_attribute()) {
    if (a.name() == name && a.has_g()) return a.mutable_g();
  }
  return nullptr;
}

::onnx::AttributeProto* set_attribute(::onnx::NodeProto* node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type) {
  for (int i = node->attribute_size(); i-- > 0;) {
    if (node->attribute(i).name() == name) node->mutable_attribute()->DeleteSubrange(i, 1);
  }
  ::onnx::AttributeProto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(type);
  return a;
}

}  // namespace vireo::importer

// ONNX models made in a few lines, for tests.
#ifndef VIREO_CONVERTER_TESTING_MODEL_BUILDER_H_
#define VIREO_CONVERTER_TESTING_MODEL_BUILDER_H_

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "onnx/onnx-ml.pb.h"

namespace vireo::testing {

using Dims = std::vector<std::string>;  // "3" is an extent, "N" a name, "" leaves it open

inline void set_type(::onnx::ValueInfoProto* info, const std::string& name, const Dims& dims, int dtype) {
  info->set_name(name);
  auto* t = info->mutable_type()->mutable_tensor_type();
  t->set_elem_type(dtype);
  t->mutable_shape();
  for (const std::string& d : dims) {
    auto* dim = t->mutable_shape()->add_dim();
    const bool number = !d.empty() && (d[0] == '-' || (d[0] >= '0' && d[0] <= '9'));
    if (number) dim->set_dim_value(std::stoll(d));
    if (!number && !d.empty()) dim->set_dim_param(d);
  }
}

// A graph: the model's, or a body.
class GraphBuilder {
 public:
  explicit GraphBuilder(::onnx::GraphProto* graph) : graph_(graph) {}

  GraphBuilder& input(const std::string& name, const Dims& dims, int dtype = 1) {
    set_type(graph_->add_input(), name, dims, dtype);
    return *this;
  }
  GraphBuilder& output(const std::string& name) {
    set_type(graph_->add_output(), name, {}, 1);
    return *this;
  }
  GraphBuilder& floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    auto* t = graph_->add_initializer();
    t->set_name(name);
    t->set_data_type(1);
    for (const int64_t d : dims) t->add_dims(d);
    for (const float v : values) t->add_float_data(v);
    return *this;
  }
  GraphBuilder& ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
    auto* t = graph_->add_initializer();
    t->set_name(name);
    t->set_data_type(7);
    for (const int64_t d : dims) t->add_dims(d);
    for (const int64_t v : values) t->add_int64_data(v);
    return *this;
  }
  ::onnx::NodeProto* node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& domain = "") {
    auto* n = graph_->add_node();
    n->set_op_type(op);
    n->set_domain(domain);
    for (const std::string& i : inputs) n->add_input(i);
    for (const std::string& o : outputs) n->add_output(o);
    return n;
  }
  ::onnx::GraphProto* proto() { return graph_; }

 private:
  ::onnx::GraphProto* graph_;
};

inline GraphBuilder add_body(::onnx::NodeProto* node, const std::string& attribute) {
  auto* a = node->add_attribute();
  a->set_name(attribute);
  a->set_type(::onnx::AttributeProto::GRAPH);
  return GraphBuilder(a->mutable_g());
}
inline void add_int(::onnx::NodeProto* node, const std::string& name, int64_t v) {
  auto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(::onnx::AttributeProto::INT);
  a->set_i(v);
}
inline void add_ints(::onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  auto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(::onnx::AttributeProto::INTS);
  for (const int64_t v : values) a->add_ints(v);
}

class ModelBuilder : public GraphBuilder {
 public:
  explicit ModelBuilder(int opset = 17) : GraphBuilder(nullptr) {
    model.set_ir_version(8);
    auto* import = model.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    static_cast<GraphBuilder&>(*this) = GraphBuilder(model.mutable_graph());
  }
  ModelBuilder(const ModelBuilder&) = delete;

  std::string bytes() const { return model.SerializeAsString(); }

  ::onnx::ModelProto model;
};

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    char name[] = "converter_test_XXXXXX";
    path_ = std::filesystem::absolute(mkdtemp(name)).string();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return at(name);
  }
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }

 private:
  std::string path_;
};

}  // namespace vireo::testing

#endif  // VIREO_CONVERTER_TESTING_MODEL_BUILDER_H_

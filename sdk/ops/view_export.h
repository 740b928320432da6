// How an operator's folder writes one of its nodes as ONNX: the way back of view.h. Host only; knows neither protobuf
// nor the graph IR, both of which stand behind the abstract class.
//
// Every folder that has operators gives one function, `Status export_<folder>(ExportContext&)`, in its
// <folder>_onnx.cc, beside the importers, and CMake makes the table. The other design, one table over all operators
// that walks the schemas' fields by reflection, is shorter where a field is an attribute of the same name and type. A
// third of the operators are not that: names of enumerations, lists that mean something when absent, several ONNX
// operators for one of ours (And and BitwiseAnd), one of ours for which ONNX has a formula. They would be a second list
// of operators far from their meaning, and adding an operator would touch it.
//
// What is written is valid in opset 21 (ai.onnx.ml 3), or names the opset that it needs.
#ifndef VIREO_SDK_OPS_VIEW_EXPORT_H_
#define VIREO_SDK_OPS_VIEW_EXPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sdk/ops/view.h"

namespace vireo {

constexpr int kExportOpset = 21;   // the oldest that is written: all forms below are valid from here on
constexpr int kExportMlOpset = 3;  // the newest that still has TreeEnsembleClassifier

struct OnnxTensor {
  TensorType type;
  std::vector<uint8_t> bytes;  // as ConstTensor
  std::vector<std::string> strings;
};

// A node under construction. Names of values: "" is absent.
struct OnnxNode {
  using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                 std::vector<std::string>, OnnxTensor>;

  std::string type;
  std::vector<std::string> inputs, outputs;
  std::string domain;  // "" for ai.onnx
  int since = 0;       // the opset of the domain that has this form; 0: the oldest that is written
  std::vector<std::pair<std::string, Attribute>> attributes;

  OnnxNode& set(const char* name, Attribute value) {
    attributes.emplace_back(name, std::move(value));
    return *this;
  }
  OnnxNode& flag(const char* name, bool v) { return set(name, int64_t{v}); }
  OnnxNode& number(const char* name, int64_t v) { return set(name, v); }
  OnnxNode& real(const char* name, float v) { return set(name, v); }
  OnnxNode& text(const char* name, std::string v) { return set(name, std::move(v)); }
  // Lists that are absent or empty are left out: that is what they mean.
  template <class T>
  OnnxNode& numbers(const char* name, const ::flatbuffers::Vector<T>* v) {
    return v == nullptr || v->size() == 0 ? *this : set(name, std::vector<int64_t>(v->begin(), v->end()));
  }
  OnnxNode& reals(const char* name, const ::flatbuffers::Vector<float>* v) {
    return v == nullptr || v->size() == 0 ? *this : set(name, std::vector<float>(v->begin(), v->end()));
  }
  OnnxNode& texts(const char* name, const ::flatbuffers::Vector<::flatbuffers::Offset<::flatbuffers::String>>* v);
  OnnxNode& needs(int opset) {
    since = opset;
    return *this;
  }
};

class ExportContext {
 public:
  virtual ~ExportContext() = default;

  virtual Op op() const = 0;
  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attr_bytes().data());
  }
  virtual Span<const uint8_t> attr_bytes() const = 0;
  virtual int input_count() const = 0;
  virtual int output_count() const = 0;
  virtual std::string input(int i) const = 0;              // "" where absent, also past the end
  virtual std::string output(int i) const = 0;             // "" where not wanted
  virtual TensorType input_type(int i) const = 0;          // dimensions may be handles; kNone: absent
  virtual TensorType output_type(int i) const = 0;         // kNone: not wanted
  virtual const ConstTensor* constant(int i) const = 0;    // an input's contents; null: not constant
  virtual std::string fresh(const std::string& stem) = 0;  // a name that nothing has
  virtual std::string add_constant(OnnxTensor value) = 0;
  virtual void add(OnnxNode node) = 0;
  // Records a diagnostic for this node and returns `status`. `help`: what the user can do.
  virtual Status fail(Status status, const std::string& what, const std::string& help = "") = 0;

  // A node with all inputs and outputs of ours (absent ones at the end left out), to be given attributes and added.
  OnnxNode same(std::string type = "");
  Status done(OnnxNode node) {
    add(std::move(node));
    return Status::kOk;
  }
  // A step of a formula: a node with one output, under a new name.
  std::string step(const char* type, std::vector<std::string> inputs) { return step(node(type, std::move(inputs))); }
  std::string step(OnnxNode node);
  static OnnxNode node(const char* type, std::vector<std::string> inputs) {
    OnnxNode n;
    n.type = type;
    n.inputs = std::move(inputs);
    return n;
  }
  // The last step: its output is ours.
  Status finish(const char* type, std::vector<std::string> inputs) { return finish(node(type, std::move(inputs))); }
  Status finish(OnnxNode node);
  std::string cast(const std::string& x, DType to);
  OnnxNode cast_node(const std::string& x, DType to);
  std::string add_i64(const std::vector<int64_t>& values);  // 1-D
  // One number of `type` (float16 to float64, bool, integers of 8 to 64 bits), of rank 0.
  std::string add_scalar(DType type, double value);
  // `node`, whose input 0 and output 0 have their channels behind the other dimensions when `layout` is kNhwc
  // (window.h): between Transposes, because ONNX knows channels in dimension 1 alone.
  Status done_in_layout(OnnxNode node, uint8_t layout);
};

// Null: an operator that has no such function (If, Loop, Scan and Composite are the exporter's own).
using OnnxExport = Status (*)(ExportContext&);
OnnxExport find_onnx_export(Op op);  // generated from ops.def

}  // namespace vireo

#include "sdk/ops/onnx_exports_generated.h"  // the functions' declarations

#endif  // VIREO_SDK_OPS_VIEW_EXPORT_H_

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

// A node under construction. Names of values: "" is absent. Everything is defined in view_export.cc: inline, the
// variant and the lists were half of the compile time of every file that writes a node.
struct OnnxNode {
  using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                 std::vector<std::string>, OnnxTensor>;

  OnnxNode();
  OnnxNode(const char* node_type, std::vector<std::string> node_inputs);
  OnnxNode(const OnnxNode&);
  OnnxNode(OnnxNode&&) noexcept;
  OnnxNode& operator=(const OnnxNode&);
  OnnxNode& operator=(OnnxNode&&) noexcept;
  ~OnnxNode();

  std::string type;
  std::vector<std::string> inputs, outputs;
  std::string domain;  // "" for ai.onnx
  int since = 0;       // the opset of the domain that has this form; 0: the oldest that is written
  std::vector<std::pair<std::string, Attribute>> attributes;

  OnnxNode& set(const char* name, std::vector<int64_t> value);
  OnnxNode& set(const char* name, std::vector<float> value);
  OnnxNode& set(const char* name, std::vector<std::string> value);
  OnnxNode& set(const char* name, OnnxTensor value);
  OnnxNode& flag(const char* name, bool v) { return number(name, v ? 1 : 0); }
  OnnxNode& number(const char* name, int64_t v);
  OnnxNode& real(const char* name, float v);
  OnnxNode& text(const char* name, std::string v);
  // Lists that are absent or empty are left out: that is what they mean.
  OnnxNode& numbers(const char* name, const ::flatbuffers::Vector<uint8_t>* v);
  OnnxNode& numbers(const char* name, const ::flatbuffers::Vector<int32_t>* v);
  OnnxNode& numbers(const char* name, const ::flatbuffers::Vector<uint32_t>* v);
  OnnxNode& numbers(const char* name, const ::flatbuffers::Vector<int64_t>* v);
  OnnxNode& reals(const char* name, const ::flatbuffers::Vector<float>* v);
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
  Status done(OnnxNode node);
  // A step of a formula: a node with one output, under a new name.
  std::string step(const char* type, std::vector<std::string> inputs);
  std::string step(OnnxNode node);
  static OnnxNode node(const char* type, std::vector<std::string> inputs);
  // The last step: its output is ours.
  Status finish(const char* type, std::vector<std::string> inputs);
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

// The export under way. Private to this folder.
#ifndef VIREO_CONVERTER_EXPORT_WRITER_H_
#define VIREO_CONVERTER_EXPORT_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converter/export/export.h"
#include "sdk/ops/view_export.h"

namespace vireo::exporter {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Names that are taken: those of a model's values, in all its subgraphs, or of one function's. Nodes have their own.
class Names {
 public:
  std::string take(const std::string& wanted) { return take(wanted, &values_); }
  std::string take_node(const std::string& wanted) { return take(wanted, &nodes_); }

 private:
  struct Set {
    std::set<std::string> taken;
    std::map<std::string, size_t> next;  // the number to try for a stem
  };
  static std::string take(const std::string& wanted, Set* set);
  Set values_, nodes_;
};

// A constant, by where its bytes lie: equal bytes under two shapes are two.
struct ConstantKey {
  explicit ConstantKey(const ir::Constant& c);
  bool operator<(const ConstantKey& other) const;
  const void* bytes;
  TensorType type;
};

// Where nodes are written: the model's graph, the body of a control-flow node, or a function's.
struct Scope {
  Names* names = nullptr;
  Nodes* nodes = nullptr;
  std::map<const ir::Value*, std::string> values;
  // Of a function: it has no initializers, so a constant above kSmall bytes is a further input, which the caller gives.
  bool function = false;
  std::map<ConstantKey, std::string> constants;
  std::vector<ir::ConstantPtr> handed_in;  // in the order of the function's further inputs
  std::vector<std::string> parameters;     // their names
};

class Writer {
 public:
  Writer(::onnx::ModelProto* model, std::vector<ir::ConstantPtr>* constants, Diagnostics* diagnostics)
      : model_(*model), constants_(*constants), diagnostics_(diagnostics) {}

  bool run(const ir::Graph& graph);

  // What `v` is called in `scope`; a constant is brought there. null: "".
  std::string name(Scope& scope, const ir::Value* v);
  std::string constant(Scope& scope, const ir::ConstantPtr& c, const std::string& wanted);
  // A name for an output; "" for one that is not there, or that nobody uses unless it is the first.
  std::string result(Scope& scope, const ir::Node& node, size_t i);
  std::vector<std::string> all_results(Scope& scope, const ir::Node& node);  // a name for each of them
  void add(Scope& scope, const std::string& node_name, const OnnxNode& node);
  void refuse(const ir::Node& node, const std::string& what, const std::string& help);

 private:
  void need(const std::string& domain, int opset);
  void need_type(DType t);
  bool write_nodes(Scope& scope, const ir::Graph& graph);
  bool write_node(Scope& scope, const ir::Node& node);
  bool write_formula(Scope& scope, const ir::Node& node);
  // control.cc
  std::string number(Scope& scope, const ir::Node& node, size_t i);  // input `i` as a tensor of rank 0
  bool write_if(Scope& scope, const ir::Node& node);
  bool write_loop(Scope& scope, const ir::Node& node);
  bool write_scan(Scope& scope, const ir::Node& node);
  // `own`: inputs of the body that are its own; those behind them are the owner's inputs from `captured` on.
  bool write_body(Scope& scope, const ir::Node& node, const ir::Graph& body, size_t own, size_t captured,
                  ::onnx::GraphProto* proto);
  // Gives `graph`'s outputs the names in `wanted` by Identity nodes where they have others. "": any name.
  std::vector<std::string> write_outputs(Scope& scope, const ir::Graph& graph, const std::vector<std::string>& wanted);
  void declare(const ir::Graph& graph, const ir::Value& v, const std::string& name, ::onnx::ValueInfoProto* info);
  // functions.cc
  bool write_composite(Scope& scope, const ir::Node& node);
  bool write_own(Scope& scope, const ir::Node& node);
  // Adds `function`, whose name is missing, unless there is an equal one, and the call.
  void call(Scope& scope, const ir::Node& node, const std::string& stem, ::onnx::FunctionProto function,
            std::vector<std::string> inputs, const Scope& inner);

  ::onnx::ModelProto& model_;
  std::vector<ir::ConstantPtr>& constants_;
  Diagnostics* diagnostics_;
  Names names_;
  std::map<ConstantKey, std::string> initializers_;
  std::map<std::string, int> opsets_;
  std::map<std::string, std::string> functions_;  // serialized without its name -> name
  std::map<std::string, int> function_count_;
};

// One node of ours, as its folder sees it.
class NodeExport final : public ExportContext {
 public:
  NodeExport(Writer& writer, Scope& scope, const ir::Node& node);

  Op op() const override { return node_.op; }
  Span<const uint8_t> attr_bytes() const override { return {node_.attrs.data(), node_.attrs.size()}; }
  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  int output_count() const override { return static_cast<int>(node_.outputs.size()); }
  std::string input(int i) const override;
  std::string output(int i) const override;
  TensorType input_type(int i) const override;
  TensorType output_type(int i) const override;
  const ConstTensor* constant(int i) const override;
  std::string fresh(const std::string& stem) override;
  std::string add_constant(OnnxTensor value) override;
  void add(OnnxNode node) override;
  Status fail(Status status, const std::string& what, const std::string& help) override;

  bool failed() const { return failed_; }
  // Behind the folder's own nodes: Casts back to the types of the results.
  void finish_carried();

 private:
  // The type that values of `t` go through this node in; `t` itself where ONNX's operator takes it.
  DType carrier(DType t) const;
  // A Cast of `from`; `wanted`: what its result is called, "" for any name.
  std::string add_cast(const std::string& from, DType to, const std::string& wanted) const;

  Writer& writer_;
  Scope& scope_;
  const ir::Node& node_;
  const bool moves_;  // an operator that only moves elements: ONNX's takes none of fewer than 8 bits, nor float8
  mutable std::map<int, std::string> carried_in_, carried_out_;  // names inside, by operand and by result
  bool failed_ = false;
};

// Type and dimensions of `t`, without contents.
void describe(const TensorType& type, ::onnx::TensorProto* t);
void fill(const OnnxTensor& value, ::onnx::TensorProto* t);

}  // namespace vireo::exporter

#endif  // VIREO_CONVERTER_EXPORT_WRITER_H_

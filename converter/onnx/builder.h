// The nodes that several importers make in place of one node of the file. Private to this folder.
//
// A NodeBuilder is made for one node and owns nothing. Importers of a kind of nodes are derived from it.
#ifndef VIREO_CONVERTER_ONNX_BUILDER_H_
#define VIREO_CONVERTER_ONNX_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/diag/diagnostics.h"
#include "converter/ir/infer.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

struct Bundle;

ir::Value* constant_i64(ir::Graph& graph, const std::vector<int64_t>& values);  // 1-D
ir::Value* constant_i64(ir::Graph& graph, int64_t value);                       // a scalar
ir::Value* constant_bool(ir::Graph& graph, bool value);
// True, false or not known here (-1).
int known_bool(ir::ConstantFinder& finder, const ir::Value* v);

// Methods that make a value answer null where it cannot be made, which is recorded, and where an operand is null.
class NodeBuilder {
 public:
  NodeBuilder(const Tools& tools, Scope& scope, ::onnx::NodeProto& node) : tools_(tools), scope_(scope), node_(node) {}

  // An error about the node.
  void record(Code code, std::string what, std::string help = "");
  // What a name means where the node stands (Names).
  ir::Value* lookup(const std::string& name);
  Bundle* bundle(const ir::Value* v) const;  // null: a tensor
  // Output `i` of the node; one that has no name is left alone.
  void bind(int i, ir::Value* v);
  // All of them: nothing makes them.
  void bind_failed();
  // An error about the node, and nothing makes its outputs.
  void refuse(Code code, std::string what, std::string help = "");

  // One node of one output; its operands must be tensors.
  ir::Value* emit(Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> inputs);
  ir::Value* constant_i64(const std::vector<int64_t>& values) { return importer::constant_i64(*scope_.graph, values); }
  ir::Value* constant_i64(int64_t value) { return importer::constant_i64(*scope_.graph, value); }
  ir::Value* constant_bool(bool value) { return importer::constant_bool(*scope_.graph, value); }
  ir::Value* both(ir::Value* a, ir::Value* b);  // a and b; null: true
  ir::Value* compare(Op op, int64_t a, ir::Value* b);
  // `v`, of one element, without dimensions and of type `dtype`.
  ir::Value* as_scalar(ir::Value* v, DType dtype);
  // `index`, in a run that fails unless `condition` holds.
  ir::Value* checked(ir::Value* index, ir::Value* condition);
  // x[start : end] along `axis`; `keep`: with the axis, which otherwise has one element and goes.
  ir::Value* slice(ir::Value* x, int axis, ir::Value* start, ir::Value* end, bool keep);
  // `v` with its axis `from` at `to`. Never null: where it cannot be, that is recorded.
  ir::Value* move_axis(ir::Value* v, int from, int to);

 protected:
  const Tools& tools_;
  Scope& scope_;
  ::onnx::NodeProto& node_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUILDER_H_

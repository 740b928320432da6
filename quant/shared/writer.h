// Writes nodes into a graph in front of another one.
#ifndef VIREO_QUANT_SHARED_WRITER_H_
#define VIREO_QUANT_SHARED_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// Nodes get the types of their results from their shape functions. Once one is refused, all that follow are null.
class Writer {
 public:
  // `title`: the name of each node; "": its first result's.
  Writer(ir::Graph& graph, ir::Node* before, std::string title = "")
      : graph_(graph), before_(before), title_(std::move(title)) {}

  bool good() const { return good_; }

  // A node of several results, the first of which is `name`, the others `name` with `suffixes`.
  ir::Node* node(Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, const std::string& name,
                 const std::vector<std::string>& suffixes = {});
  // The result of a node that has one.
  ir::Value* add(Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, const std::string& name) {
    ir::Node* const n = node(op, std::move(attributes), std::move(inputs), name);
    return n != nullptr ? n->out() : nullptr;
  }
  ir::Value* binary(Op op, ir::Value* a, ir::Value* b, const std::string& name);
  ir::Value* to_float(ir::Value* x, const std::string& name);
  ir::Value* transpose(ir::Value* x, const std::vector<int32_t>& perm, const std::string& name);
  // An extent of 0 is that of `x`.
  ir::Value* reshape(ir::Value* x, const std::vector<int64_t>& extents, const std::string& name);
  ir::Value* number(float x, const std::string& name);

  // Takes all nodes out again.
  void undo();

 private:
  ir::Graph& graph_;
  ir::Node* const before_;
  const std::string title_;
  std::vector<ir::Node*> made_;
  bool good_ = true;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SHARED_WRITER_H_

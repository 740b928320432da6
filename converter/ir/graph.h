// The graph that passes work on.
//
// A graph is self-contained: the body of an If, Loop, Scan or composite node is a graph of its own that sees nothing
// outside; what it uses from outside is handed in as further inputs of the owning node (lambda-lifted). The other
// design, bodies that refer to outer values by name as ONNX has them, saves the extra inputs but makes every pass, the
// planner and every delegate ask "is this value mine?", and an outer value with a use that no list of uses shows is an
// error waiting to happen.
//
// Nodes and values have stable addresses; a graph owns both. Nodes stand in an order in which they can run, and every
// change keeps that.
#ifndef VIREO_CONVERTER_IR_GRAPH_H_
#define VIREO_CONVERTER_IR_GRAPH_H_

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/ir/constant.h"
#include "converter/ir/dim_table.h"
#include "sdk/ops/op.h"

namespace vireo::ir {

class Graph;
struct Node;

struct Use {
  Node* node = nullptr;
  uint32_t input = 0;
};

struct Value {
  uint32_t id = 0;  // unique in its graph, from 1
  std::string name;
  TensorType type;
  ConstantPtr constant;  // set: the value is a constant, without producer
  // Known elements of a small tensor: numbers or handles. Of a real type only whole numbers that are made of extents.
  // Constants are known by themselves.
  std::optional<std::vector<Dim>> contents;
  Node* producer = nullptr;  // null: a graph input or a constant
  uint32_t producer_output = 0;
  bool is_input = false;
  uint32_t output_uses = 0;  // how often the graph's outputs name it
  std::vector<Use> uses;     // by nodes of this graph

  bool unused() const { return uses.empty() && output_uses == 0; }
  bool one_use() const { return uses.size() + output_uses == 1; }
};

struct Node {
  Op op = Op::kNone;
  uint16_t version = 1;
  std::string name;  // of the ONNX node it came from
  std::vector<uint8_t> attrs;
  std::vector<Value*> inputs;   // null: absent
  std::vector<Value*> outputs;  // null: not wanted
  std::vector<std::unique_ptr<Graph>> bodies;
  std::list<Node>::iterator self;

  const OpDef& def() const;
  Value* in(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  Value* out(size_t i = 0) const { return i < outputs.size() ? outputs[i] : nullptr; }
  template <class T>
  const T& attributes() const {
    return *::flatbuffers::GetRoot<T>(attrs.data());
  }
};

class Graph {
 public:
  explicit Graph(std::shared_ptr<DimTable> dims) : dims_(std::move(dims)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;

  DimTable& dims() const { return *dims_; }
  const std::shared_ptr<DimTable>& shared_dims() const { return dims_; }

  Value* add_input(const std::string& value_name, const TensorType& type);
  Value* add_constant(const std::string& value_name, ConstantPtr constant);
  // A node behind all others, or before `before`, with new values for its outputs; infer_node (infer.h) gives them
  // types.
  Node* add_node(Op op, std::vector<uint8_t> attrs, std::vector<Value*> inputs, size_t outputs, Node* before = nullptr);
  void drop_output(Node* node, size_t i);  // an output that nobody wants

  void set_input(Node* node, size_t i, Value* v);
  void add_operand(Node* node, Value* v);  // a further input behind the others
  void add_output(Value* v, std::string output_name);
  void set_output(size_t i, Value* v);
  // All uses of `from`, outputs of the graph included, become uses of `to`.
  void replace_uses(Value* from, Value* to);
  void remove_input(size_t i);                    // of the graph; the value has no uses
  void order_inputs(std::vector<Value*> inputs);  // a permutation of inputs()
  void remove_output(size_t i);                   // of the graph
  // Removes a node whose outputs have no uses.
  void remove(Node* node);
  // Moves `node` in front of `before`.
  void move_before(Node* node, Node* before);
  // Forgets constants and unproduced values without uses.
  void drop_unused_values();

  std::list<Node>& nodes() { return nodes_; }
  const std::list<Node>& nodes() const { return nodes_; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // What the model calls its outputs: one value may be several of them, or an input as well.
  const std::vector<std::string>& output_names() const { return output_names_; }
  const std::deque<Value>& values() const { return values_; }
  Value* value(uint32_t id) { return id == 0 || id > values_.size() ? nullptr : &values_[id - 1]; }

  std::unique_ptr<Graph> clone() const;  // constants are shared
  // Every broken promise of this header in one sentence; "" when all hold. For tests and the pass manager.
  std::string validate() const;

 private:
  Value* new_value();
  void add_use(Node* node, uint32_t i);
  void drop_use(Node* node, uint32_t i);

  std::shared_ptr<DimTable> dims_;
  std::deque<Value> values_;
  std::list<Node> nodes_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<std::string> output_names_;
};

// Nodes of the graph and all bodies; a composite counts as one.
size_t count_nodes(const Graph& g);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_GRAPH_H_

// Types and known contents of a node's outputs, by the operator's own shape function over symbolic dimensions.
#ifndef VIREO_CONVERTER_IR_INFER_H_
#define VIREO_CONVERTER_IR_INFER_H_

#include <map>
#include <string>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::ir {

// Finds values that are constants in all but form: made by a chain of deterministic nodes from constants and from
// extents that are numbers. Evaluates them with the reference kernels when asked, once.
class ConstantFinder {
 public:
  // `budget`: what evaluating takes from; null: not counted.
  explicit ConstantFinder(Budget* budget = nullptr) : budget_(budget) {}
  ConstantPtr find(const Value* v);  // null: not constant, or too large
  void forget() { found_.clear(); }  // after values went away

 private:
  static constexpr int kMaxDepth = 1000;  // of a chain of nodes: the search is recursive
  ConstantPtr find(const Value* v, int depth);

  static constexpr int64_t kMostBytes = 64 << 10;  // of a result: what steers shapes is small

  Budget* budget_;
  std::map<const Value*, ConstantPtr> found_;
};

// Whether a node may give a tensor of type `t`: a dimension is anything symbolic that can be 0 or more, or a number
// that is not negative; elements and bytes can be counted. On failure `message` tells why.
bool check_type(const DimTable& dims, const TensorType& t, std::string* message);

// Infers the types and contents of `node`'s outputs from its inputs'. On failure `message` tells why. Not for nodes
// that own bodies: their outputs' types follow from the bodies and are set by who makes the node. `finder` may be null.
Status infer_node(Graph& graph, Node* node, ConstantFinder* finder, std::string* message);

// Runs one node on constants with its reference kernel. False if it has no kernel, draws random numbers or fails, if a
// result has more than `limit_bytes`, or if `budget` has too little left (null: nothing is counted).
bool evaluate_node(const Node& node, const std::vector<ConstantPtr>& inputs, int64_t limit_bytes,
                   std::vector<ConstantPtr>* outputs, std::string* message, Budget* budget = nullptr);

// A type that read_real() reads.
bool is_readable_real(DType t);

// Elements of `v` when known (a constant of an integer type, or tracked contents); false otherwise, or above
// kMaxContents.
constexpr int64_t kMaxContents = 1024;
bool known_elements(const Value* v, ConstantFinder* finder, std::vector<Dim>* out);

// Symbolic contents of the outputs of shape arithmetic: one function an operator (contents.cc).
void infer_contents(DimTable& dims, Node* node, ConstantFinder* finder);

// How many elements a Range of real numbers has, whose start and limit are made of extents; false for any other node.
// The shape function knows this of integers: it sees real numbers only where they are numbers.
bool range_count(DimTable& dims, const Node& node, ConstantFinder* finder, Dim* count);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_INFER_H_

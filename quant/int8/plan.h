// Which values of a graph get codes: what the operators' rules allow (sdk/ops/quant_rule.h), put together. Products
// take codes wherever their operand comes from; what stands between products stays with them while all of it has an
// integer meaning; joins and unbounded functions behind the last product stay in float, so that outputs of mixed
// meaning are taken apart.
#ifndef VIREO_QUANT_INT8_PLAN_H_
#define VIREO_QUANT_INT8_PLAN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"
#include "sdk/ops/quant_rule.h"

namespace vireo::quant {

// A value that a pair of QuantizeLinear and DequantizeLinear stands behind.
struct CodedValue {
  ir::Value* value = nullptr;
  std::vector<ir::Use> readers;  // that take codes, of a value that is made in float; empty: all of them do
  bool made_in_float = false;
  int channels = -1;  // as in QuantRule
  bool bounded = false;
  double low = 0, high = 0;       // where bounded
  bool scores = false;            // a Softmax reads it
  std::vector<ir::Node*> behind;  // a chain of functions of this value, where nothing else reads it
  std::vector<size_t> parts;      // of a Concat's result: the coded values that are joined
};

// A product with constant weights.
struct Layer {
  ir::Node* node = nullptr;
  ir::Node* sum = nullptr;       // the Add of its bias behind a MatMul; null: none
  std::vector<ir::Node*> chain;  // from the product to what makes `result`
  size_t input = 0, result = 0;  // in Plan::values
  int weights = 1, weight_axis = 0;
  int bias = -1;  // input of `node`, -1 without one
  int channels = -1;
};

// A product of two values.
struct Pair {
  ir::Node* node = nullptr;
  ir::Node* end = nullptr;          // what makes its result: a factor or a Relu may be part of it
  size_t a = 0, b = 0, result = 0;  // in Plan::values
};

// An LSTM or GRU with constant weights.
struct Cell {
  static constexpr size_t kNoValue = static_cast<size_t>(-1);
  ir::Node* node = nullptr;
  size_t input = 0;          // in Plan::values
  size_t result = kNoValue;  // the sequence, in Plan::values; kNoValue where nobody reads it
};

// A constant tensor that is joined with a value.
struct CodedConstant {
  ir::Node* node = nullptr;
  size_t input = 0;
};

struct Plan {
  std::vector<CodedValue> values;
  std::vector<Layer> layers;  // in the order of the graph
  std::vector<Pair> pairs;    // likewise
  std::vector<Cell> cells;    // likewise
  std::vector<CodedConstant> constants;
  std::vector<std::pair<const ir::Node*, std::string>> left;  // products and joins that stay in float, and why
};

// What reports and recipes call a node: its name, or that of its result where it has none.
std::string layer_name(const ir::Node& node);

// `keep`: whether a recipe wants the node in float. Changes nothing in `graph`.
Plan make_plan(ir::Graph& graph, const std::function<bool(const ir::Node&)>& keep);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_PLAN_H_

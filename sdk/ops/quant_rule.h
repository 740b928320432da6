// How an operator takes part in static quantization: one function for each folder, in <folder>_quant.cc. A folder
// without one stays in float. Host only; the quantizer (quant/int8) asks, and the passes that fold quantized regions
// (converter/passes/quantized) have the integer meaning of what is said here.
#ifndef VIREO_SDK_OPS_QUANT_RULE_H_
#define VIREO_SDK_OPS_QUANT_RULE_H_

#include <cstdint>
#include <vector>

#include "sdk/base/shape.h"
#include "sdk/ops/op.h"

namespace vireo {

enum class QuantKind : uint8_t {
  kStays,     // computes in float
  kProduct,   // of a value in codes and constant weights; integer sums
  kPair,      // of two values in codes; integer sums
  kCell,      // LSTM, GRU: two such products for each step, of a value and of a state in codes; the state in output 0
  kMoves,     // elements of one input (`codes`), or their maximum: codes stay the codes that they are
  kJoin,      // of several values, each in codes of its own scale
  kFunction,  // of one element: a table of codes
  kOwn,       // of one value, with integer arithmetic and a scale of its own (averages, Softmax, Resize)
};

struct QuantRule {
  QuantKind kind = QuantKind::kStays;
  const char* why = "";  // kStays: the reason, as a report gives it
  uint32_t codes = 1;    // bit i: input i comes in codes
  int weights = -1;      // kProduct: the input...
  int weight_axis = 0;   // ... and its axis of output channels
  int bias = -1;         // kProduct: the input, absent or one constant for each output channel
  int channels = -1;     // axis of channels of input 0 and of the result, from the end where negative; 0: none
  bool clamps = false;   // kFunction: Relu, Clip, which the bounds of the codes before it may do
  bool bounded = false;  // the result (kCell: the state) lies in `low` to `high`, whatever the data
  double low = 0, high = 0;
};

// A node, as rules see it.
struct QuantInput {
  TensorType type;  // dtype kNone: absent
  bool constant = false;
  bool shares = false;          // made by a Softmax of its last axis: they sum to 1
  std::vector<double> numbers;  // of a constant of at most kMostQuantNumbers elements
  bool scalar() const { return constant && numbers.size() == 1; }
};
constexpr int64_t kMostQuantNumbers = 16;
// 2^31 / 255^2: a sum of more products of codes may leave int32.
constexpr Dim kMostQuantProducts = 33025;
// A score of a key that is not attended: its exponential is 0 beside that of any code.
constexpr double kLowScore = -1e30;

struct QuantView {
  Op op = Op::kNone;
  const uint8_t* attributes = nullptr;
  std::vector<QuantInput> inputs;
  size_t outputs = 1;

  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attributes);
  }
  bool has(size_t i) const { return i < inputs.size() && inputs[i].type.dtype != DType::kNone; }
};

inline QuantRule quant_stays(const char* why) {
  QuantRule r;
  r.why = why;
  return r;
}
inline QuantRule quant_kind(QuantKind kind) {
  QuantRule r;
  r.kind = kind;
  return r;
}

using QuantRules = QuantRule (*)(const QuantView& node);
QuantRules find_quant_rules(Op op);  // null: the operator stays in float

}  // namespace vireo

#endif  // VIREO_SDK_OPS_QUANT_RULE_H_

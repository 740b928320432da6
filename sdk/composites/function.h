// Scalar functions that a device applies to what it just computed, and that are operators by themselves.
#ifndef VIREO_SDK_COMPOSITES_FUNCTION_H_
#define VIREO_SDK_COMPOSITES_FUNCTION_H_

#include <stdint.h>

#include "sdk/graph/node_view.h"

namespace vireo::composites {

// An operator of one tensor with its numbers; kNone: the value as it is.
struct Function {
  Op op = Op::kNone;
  // Clip: the bounds. LeakyRelu, Swish: alpha. HardSigmoid: alpha, beta. Elu: alpha, gamma, divisor. Others: none.
  float a = 0, b = 0, c = 0;
  bool tanh_form = false;  // Gelu's

  bool given() const { return op != Op::kNone; }
};

// Reads input `input` of a node as one number: a float32 or float16 constant of one element, or `otherwise` where the
// input is absent. False for all else.
bool read_number(const GraphReader& graph, const vireo_graph_node& node, uint32_t input, float otherwise, float* out);

// False where the node is no such function, or has bounds that are not constant. `graph` is the node's.
bool read_function(const GraphReader& graph, const vireo_graph_node& node, Function* out);

// Where the converter puts a function of one tensor into a composite. Clip and PRelu are asked about by their operands
// beside it.
enum FunctionUse : uint8_t {
  kEndsProduct = 1,  // behind a product (epilogue)
  kChainStep = 2,    // in a chain
  kEndsDynamic = 4,  // behind the scales of a quantized convolution (dynamic)
};
constexpr uint8_t function_uses(Op op) {
  switch (op) {
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kSigmoid:
    case Op::kHardSigmoid:
    case Op::kHardSwish:
    case Op::kSwish:
    case Op::kGelu:
    case Op::kTanh:
      return kEndsProduct | kChainStep | kEndsDynamic;
    case Op::kElu:
    case Op::kSoftplus:
    case Op::kMish:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kExp:
    case Op::kSqrt:
      return kEndsProduct | kChainStep;
    case Op::kLog:
    case Op::kErf:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
      return kChainStep;
    default:
      return 0;
  }
}

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_FUNCTION_H_

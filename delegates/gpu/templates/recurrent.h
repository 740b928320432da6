// recurrent: LSTM, GRU and RNN behind the product of their inputs. A workgroup has one sequence of one direction and
// walks through its steps. State and gates are in its shared memory, so a whole sequence is one launch.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_RECURRENT_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_RECURRENT_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

enum class Cell : uint8_t { kLstm, kGru, kRnn };

// As sdk/ops/recurrent has them, by the same numbers.
enum class Activation : uint8_t {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

// Operands and results with their places, bound in this order: sums, r, what is present of b, lengths, h, c and p, then
// those of y, y_h and y_c that are wanted. Gates stand in ONNX's order.
struct RecurrentProblem {
  Cell cell = Cell::kLstm;
  int64_t steps = 1, batch = 1, directions = 1, hidden = 1;
  bool reverse = false;  // the first direction runs from the last step to the first; a second one does so anyway
  bool input_forget = false, linear_before_reset = false;
  struct Applied {
    Activation kind = Activation::kSigmoid;
    float alpha = 0, beta = 0;
  };
  Applied functions[3];   // f, g, h
  float clip = 0;         // 0: none
  float state_scale = 0;  // 0: none
  int32_t state_zero = 0;
  DType dtype = DType::kF32;    // of all but sums, r and lengths
  DType r_dtype = DType::kF32;  // as stored
  View sums;                    // [steps, batch, directions, gates * hidden] float32: W x and its bias
  View r;                       // [directions, gates * hidden, hidden]
  View b;                       // [directions, gates * hidden], the recurrence's part. No strides: absent, also below
  View lengths;                 // [batch] int32, 0 to steps
  View h, c;                    // [directions, batch, hidden]
  View p;                       // [directions, 3 * hidden]
  View y;                       // [steps, directions, batch, hidden]
  View y_h, y_c;                // [directions, batch, hidden]
};

struct RecurrentTiling {
  uint32_t rows = 64;  // lanes that have rows of r next to each other
  uint32_t parts = 1;  // lanes that share a row's length
  bool kept = false;   // a lane keeps its part of its row in registers: it has one row of each product
};

RecurrentTiling choose_recurrent(const RecurrentProblem& problem, const Target& target);
Dispatch make_recurrent(const RecurrentProblem& problem, const RecurrentTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_RECURRENT_H_

// One step of LSTM and GRU, float32: the recurrence's product, the gates' functions and the new state in one pass over
// the weights, which LSTM may have in bfloat16. What the input adds comes as sums of a product that was made for many
// steps at once.
//
// Layout 6 of packed weights: R [gates H, H] as panels of 16 hidden units, the last one padded with zeros. A panel is
// [H, gates, 16]: for each k the weights of one unit's gates stand side by side, so that a core with 16 lanes has all
// sums of 16 units in registers when k is through, and narrower ones read parts of these 16.
//
// Layout 9: the same of bfloat16, k by pairs: [H / 2, gates, 16, 2] with H filled up by zeros to an even one. A word of
// 32 bits is one unit's weights for two k, each of them a float32 after one step. Products and sums stay float32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_RECURRENT_RECURRENT_H_
#define VIREO_DELEGATES_CPU_KERNELS_RECURRENT_RECURRENT_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

constexpr int64_t kGateUnits = 16;  // of a panel

// Of one direction; of a panel.
inline int64_t gate_panel_floats(int64_t gates, int64_t hidden) { return kGateUnits * gates * hidden; }
inline int64_t gate_panel_bf16(int64_t gates, int64_t hidden) { return kGateUnits * gates * (hidden + hidden % 2); }
inline int64_t gate_panels(int64_t hidden) { return (hidden + kGateUnits - 1) / kGateUnits; }
inline int64_t packed_gates_floats(int64_t gates, int64_t hidden) {
  return gate_panels(hidden) * gate_panel_floats(gates, hidden);
}
inline int64_t packed_gates_bf16(int64_t gates, int64_t hidden) {
  return gate_panels(hidden) * gate_panel_bf16(gates, hidden);
}
void pack_gates_f32(int64_t gates, int64_t hidden, const float* r, const Parallel& parallel, float* packed);
void pack_gates_bf16(int64_t gates, int64_t hidden, const uint16_t* r, const Parallel& parallel, uint16_t* packed);

struct RecurrentStepF32 {
  int64_t batch = 1, hidden = 0;
  const float* packed = nullptr;          // R
  const uint16_t* packed_bf16 = nullptr;  // LSTM: not null: R in its place
  const float* sums = nullptr;            // [batch, gates H]: x W^T and biases
  const float* h = nullptr;               // [batch, H], of the step before
  float* y = nullptr;                     // [batch, H], of this one; overlaps no input
  float* c = nullptr;                     // LSTM: [batch, H], of the step before, then of this one
  // GRU: of the recurrence, [3 H], or null.
  const float* bias = nullptr;
  // GRU: whether the reset gate is applied to the candidate's sum, or (as ONNX has it by default) to h before it.
  bool linear_before_reset = false;
  float* room = nullptr;  // GRU, not linear_before_reset: 2 batch H floats
};
// Gates i o f c:  c = f c + i c',  y = o tanh c.
void lstm_step_f32(const RecurrentStepF32& step, const Parallel& parallel);
// Gates z r h:  y = (1 - z) h' + z h.
void gru_step_f32(const RecurrentStepF32& step, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_RECURRENT_RECURRENT_H_

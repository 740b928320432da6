// LSTM, GRU and RNN over a sequence. T time steps, B batches, D directions (1 or 2), I inputs, H hidden units.
//   0 x          [T, B, I]
//   1 w          [D, gates H, I]   rows in ONNX's order: i o f c (LSTM), z r h (GRU), i (RNN)
//   2 r          [D, gates H, H]
//   3 b          [D, 2 gates H]    optional: first the input's biases, then the recurrence's
//   4 lens       [B] int32         optional: steps of each batch, 0 to T. Behind its end y is 0
//   5 initial_h  [D, B, H]         optional, else 0
//   6 initial_c  [D, B, H]         optional, LSTM only
//   7 p          [D, 3 H]          optional, LSTM only: peepholes i o f
//   outputs: y [T, D, B, H]; y_h [D, B, H]; y_c [D, B, H] (LSTM only): the state after the last step that was made
//   batch_first: x [B, T, I], states [B, D, H], y [B, T, D, H]
//   state_scale > 0 (LSTM, GRU): R multiplies s (clamp(rne(v / s) + z, 0, 255) - z) in place of v, which is h, or r h
//   where the reset gate comes first. States and results keep v. v / s is v times 1 / s, both rounded to f32
//   dtype    f32, f64, f16, bf16; states are kept in f32 (f64) between steps, sums run in that type
//   scratch  state and gates of one step;  alias none;  error kInvalidArgument when a length is outside [0, T]
// Source: ONNX opset 22 "LSTM", "GRU", "RNN", without state_scale, which a quantizer adds (quant/DESIGN.md). A reverse
// direction runs over the first lens[b] steps, last to first.
#ifndef VIREO_SDK_OPS_RECURRENT_RECURRENT_H_
#define VIREO_SDK_OPS_RECURRENT_RECURRENT_H_

#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo {

inline int recurrent_directions(const attrs::Recurrent& a) {
  return a.direction() == attrs::RecurrentDirection::Bidirectional ? 2 : 1;
}

// LSTM, GRU: sigmoid for gates, tanh for the rest.
inline bool has_usual_functions(bool lstm, const attrs::Recurrent& a) {
  using Kind = attrs::RecurrentActivation;
  if (a.activations() == nullptr) return true;
  const unsigned period = lstm ? 3 : 2;
  for (unsigned i = 0; i < a.activations()->size(); ++i) {
    if (static_cast<Kind>(a.activations()->Get(i)) != (i % period == 0 ? Kind::Sigmoid : Kind::Tanh)) return false;
  }
  return true;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_RECURRENT_RECURRENT_H_

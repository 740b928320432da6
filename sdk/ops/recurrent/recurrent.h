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
//   dtype    f32, f64, f16, bf16; states are kept in f32 (f64) between steps, sums run in that type
//   scratch  state and gates of one step;  alias none;  error kInvalidArgument when an element of lens is outside [0,
//   T]
// Source: ONNX opset 22 "LSTM", "GRU", "RNN". A reverse direction runs over the first lens[b] steps, last to first.
#ifndef VIREO_SDK_OPS_RECURRENT_RECURRENT_H_
#define VIREO_SDK_OPS_RECURRENT_RECURRENT_H_

#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo {

inline int recurrent_directions(const attrs::Recurrent& a) {
  return a.direction() == attrs::RecurrentDirection::Bidirectional ? 2 : 1;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_RECURRENT_RECURRENT_H_

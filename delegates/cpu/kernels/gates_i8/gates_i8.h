// What stands behind the integer products of LSTM and GRU: scales, biases, the gates' functions, the new state and its
// codes. Every step is an addition, product or quotient of float32 that is rounded once, in the order below, so all
// instruction sets give the same bits (but for results below 2^-126, which 32-bit Arm takes for 0).
//
//   a[g] = float(x_sums) (x_scale x_scales) + x_bias      q[g] = float(h_sums) (h_scale h_scales) + h_bias
//   tanh v = t (((p3 t^2 + p2) t^2 + p1) t^2 + p0) / (((q3 t^2 + q2) t^2 + q1) t^2 + 1), t = v within +-7
//   sigmoid v = 1/2 tanh(v / 2) + 1/2                     tanh within 1.2e-6, sigmoid within 0.6e-6
//   LSTM     i, o, f = sigmoid(a + q), g = tanh(a + q);   c = f c + i g;   y = o tanh c
//   GRU      z, r = sigmoid(a + q);   g = tanh(a + r q), or tanh(a + q) with codes of r h in q;   y = (1 - z) g + z h
//   codes    round_and_clamp(y (1 / h_scale), zero, 0, 255)
#ifndef VIREO_DELEGATES_CPU_KERNELS_GATES_I8_GATES_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_GATES_I8_GATES_I8_H_

#include <stdint.h>

namespace vireo::cpu {

struct GatesI8 {
  int64_t batch = 1, hidden = 0;
  const int32_t* x_sums = nullptr;  // [batch, gates H]
  // [batch, gates H]. GRU whose reset gate comes first: of z and r [batch, 2 H], then of the candidate [batch, H].
  const int32_t* h_sums = nullptr;
  const float *x_scales = nullptr, *h_scales = nullptr;  // [gates H]
  float x_scale = 1, h_scale = 1;
  const float *x_bias = nullptr, *h_bias = nullptr;  // [gates H], or null
  const float* h = nullptr;                          // GRU: [batch, H], of the step before
  float* c = nullptr;                                // LSTM: [batch, H], of the step before, then of this one
  float* z = nullptr;                                // GRU whose reset gate comes first: [batch, H]
  float* y = nullptr;                                // [batch, H]; overlaps no input
  uint8_t* codes = nullptr;                          // [batch, H], of y, or of r h
  int32_t zero = 0;
};

void lstm_gates_i8(const GatesI8& g);     // i o f c
void gru_gates_i8(const GatesI8& g);      // z r h, the reset gate behind the candidate's product
void gru_reset_i8(const GatesI8& g);      // the reset gate first: z, and codes of r h...
void gru_candidate_i8(const GatesI8& g);  // ... and what follows their product

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GATES_I8_GATES_I8_H_

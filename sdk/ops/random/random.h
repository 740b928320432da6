// Random tensors, and the generator behind them.
//   RandomUniform      -> y [shape]            low + (high - low) u
//   RandomNormal       -> y [shape]            mean + scale n
//   Random*Like        x -> y, shape of x
//   Bernoulli          p -> y, shape of p      u < p ? 1 : 0
//   Multinomial        x [B, classes] -> y [B, sample_size]   i32, i64: class k with probability exp(x_k) / sum exp(x)
//   dtype   f32, f64, f16, bf16 (uniform, normal); every whole-byte number and bool (Bernoulli)
//   scratch none;  error kInvalidArgument when a row of Multinomial has no class of positive probability
// Source: ONNX opset 22 of each. ONNX leaves the generator and what a seed means open.
//
// The generator is counter-based: draw k of stream s is mix(s + (k + 1) g), SplitMix64 of Steele, Lea, Flood 2014,
// "Fast splittable pseudorandom number generators". So a draw needs no earlier one, and the session's state is one
// number that a kernel advances by g for each draw it made. With a seed attribute the stream starts from it in every
// run.
#ifndef VIREO_SDK_OPS_RANDOM_RANDOM_H_
#define VIREO_SDK_OPS_RANDOM_RANDOM_H_

#include <math.h>
#include <stdint.h>

#include "sdk/base/half.h"

namespace vireo {

class RandomStream {
 public:
  explicit RandomStream(uint64_t state) : state_(state) {}

  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio, odd
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1), on a grid of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // Standard normal by Box and Muller 1958: two draws for a value, so that value k is at draws 2k and 2k + 1.
  double normal() {
    const double u = 1 - uniform();  // (0, 1]: the logarithm is finite
    const double angle = 6.283185307179586 * uniform();
    return sqrt(-2 * log(u)) * cos(angle);
  }
  uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

// Where the stream of a seed attribute starts: neighbouring seeds must not overlap, so the bits are mixed once.
inline uint64_t random_start(float seed) { return RandomStream(float_bits(seed)).bits(); }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_RANDOM_RANDOM_H_

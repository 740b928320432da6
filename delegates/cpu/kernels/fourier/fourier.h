// Discrete Fourier transforms of many lines, float32: sums by Cooley and Tukey over fours and prime factors, as many
// lines at a time as a vector has lanes.
#ifndef VIREO_DELEGATES_CPU_KERNELS_FOURIER_FOURIER_H_
#define VIREO_DELEGATES_CPU_KERNELS_FOURIER_FOURIER_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// Lines [outer, inner]. Steps are in floats: of x all together below 2^31.
struct FourierF32 {
  int64_t outer = 0, inner = 0;
  int64_t x_outer = 0, x_inner = 0, x_step = 1;  // from one to the next; x_step: between samples of a line
  int64_t y_outer = 0, y_inner = 0, y_step = 1;
  int64_t n = 1;                  // points
  int64_t given = 1;              // samples of a line, the others are 0; at most n
  int64_t made = 1;               // written, at most n
  int x_parts = 1, y_parts = 2;   // 1: real
  bool inverse = false;           // over n
  bool mirrored = false;          // samples up to n / 2 are a real signal's spectrum
  const float* window = nullptr;  // [n]: factors of the samples
};

// Of n, which is at least 1, and all that are less.
size_t fourier_scratch_bytes(int64_t n, int32_t slots);
void fourier_f32(const FourierF32& shape, const float* x, float* y, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_FOURIER_FOURIER_H_

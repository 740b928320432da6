// Linear and cubic resampling of 8-bit codes along any axes: IntResize of sdk/ops/INTEGER.md to the bit.
//
// acc = sum over the taps of all axes of (x - x_zero) times the product of their weights, modulo 2^32, so that the
// order of the sum is free: the lines of x that a line of y reads are put together first, along the line, then its own
// taps.
#ifndef VIREO_DELEGATES_CPU_KERNELS_RESIZE_I8_RESIZE_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_RESIZE_I8_RESIZE_I8_H_

#include <stddef.h>

#include "delegates/cpu/kernels/requantize/requantize.h"

namespace vireo::cpu {

constexpr int kMostResizeAxes = 8;
constexpr int64_t kMostResizeLines = 128;  // products of the taps of all axes but the last

// Output position i of the axis takes places[i, j] with weights[i, j]; no taps: it stays as it is.
struct ResizeAxis {
  int64_t in = 1, out = 1, taps = 0;
  const int32_t* places = nullptr;  // [out, taps], all of them inside of the axis
  const int32_t* weights = nullptr;
};

struct ResizeI8 {
  int rank = 1;
  ResizeAxis axes[kMostResizeAxes];
  bool x_signed = false;
  int32_t x_zero = 0;
  float multiplier = 1;
  Requantize finish;  // zero point, type and bounds alone are read
};

// `in`, `out`, `taps` of the last axis: upper bounds.
size_t resize_i8_scratch_bytes(int64_t in, int64_t out, int64_t taps, int32_t slots);
void resize_i8(const ResizeI8& shape, const uint8_t* x, uint8_t* y, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_RESIZE_I8_RESIZE_I8_H_

// Resampling of planes [H, W], or of pixels [H, W, depth], along H and W, with the same bits as sdk/ops/resize: sums in
// double, in its order; those of bytes are rounded to the nearest code, ties to even, and clamped. Vectors run along
// the pixels' elements where there are some, else along a row's sums.
#ifndef VIREO_DELEGATES_CPU_KERNELS_RESAMPLE_RESAMPLE_H_
#define VIREO_DELEGATES_CPU_KERNELS_RESAMPLE_RESAMPLE_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

constexpr int64_t kMostTaps = 4;

// Where each output position of an axis looks: 1, 2 or 4 neighbours from first[i] on (clamped to the axis), weighted.
struct Axis {
  int64_t in = 1, out = 1;
  int64_t taps = 1;
  const int64_t* first = nullptr;   // [out]
  const double* weights = nullptr;  // [out, taps]; null: one tap of weight 1
};

struct Planes {
  int64_t count = 1;
  Axis y, x;
  int64_t depth = 1;  // elements of a pixel, its channels where they are last
};

enum class Elements : uint8_t { kF32, kU8, kI8 };

// Rows of sums for each slot, of planes whole ones, and of planes where each sum's addends are. Upper bounds.
size_t resample_scratch_bytes(int64_t taps_y, int64_t in_w, int64_t out_w, int64_t depth, int32_t slots);
// x [count, in_h, in_w, depth], y [count, out_h, out_w, depth].
void resample(const Planes& shape, Elements elements, const void* x, void* y, const Parallel& parallel, void* scratch);

// One tap along both axes, elements of 1, 2, 4 or 8 bytes.
void pick_elements(const Planes& shape, const void* x, void* y, int64_t element_bytes, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_RESAMPLE_RESAMPLE_H_

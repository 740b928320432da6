// Convolution of 3 x 3 windows by Winograd's minimal filtering, float32, channels last: tiles of 4 x 4 (or 2 x 2)
// outputs of one channel pair take 36 (16) multiplications in place of 144 (36).
//   y = A' [ sum_c (G g_c G') o (B' d_c B) ] A    d: the (t + 2)^2 pixels under a tile of t x t outputs, g: a filter
// The sum over channels is a matrix product for each of the (t + 2)^2 places: tiles by channels times channels by
// filters. Filters are transformed when they are packed.
//
// Source: Lavin & Gray 2015, arXiv:1509.09308; Toom's points for 4 x 4 are 0, +-3/4, +-3/2 and infinity (DESIGN.md of
// the kernels: the errors of others).
#ifndef VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_WINOGRAD_H_
#define VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_WINOGRAD_H_

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {

// The outputs along an edge of the tile that takes least time, by rates that were measured: 4 or 2; 0 where the direct
// kernel does. Decided by sizes; right for any.
int32_t winograd_f32_best(const ConvF32& shape);

// Layout 4 of packed weights: for each 32 output channels, the last ones padded with zeros, (t + 2)^2 matrices [C, 32],
// t = 4 or 2, of G g G' computed in double and rounded once. 0 where this is not the window of `winograd_f32`: 3 x 3,
// stride and dilation 1, one group.
int64_t winograd_f32_packed_floats(const ConvF32& shape, int32_t tile);
void pack_winograd_f32(const ConvF32& shape, int32_t tile, const float* weights, const Parallel& parallel,
                       float* packed);

// Scratch depends on sizes and slots alone.
size_t winograd_f32_scratch_bytes(const ConvF32& shape, int32_t tile, int32_t slots, Sizes sizes = Sizes::kUpperBounds);

// x [N, H, W, C], y and residual [N, OH, OW, O]; y overlaps nothing. shape.packed: as pack_winograd_f32 wrote them.
void winograd_f32(const ConvF32& shape, int32_t tile, const float* x, float* y, const Parallel& parallel,
                  void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_WINOGRAD_H_

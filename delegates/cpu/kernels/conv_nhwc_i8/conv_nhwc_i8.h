// Convolution of 8-bit codes, channels last: x [N, D, H, W, C], y [N, OD, OH, OW, O], weights [O, C / groups, kd, kh,
// kw] as channels first. Exact as intgemm's; ends in codes. Pixels are the rows of a product with the filters as
// columns: 1 x 1 at stride 1 reads x as it lies, all else patches that are copied in runs of channels, a block of
// pixels at a time. With matrix tiles, windows at stride 1 over whole 64s of channels need no patches: lines are copied
// once with their border, and a tile's 16 rows are neighbouring places. Depthwise goes to depthwise_nhwc_i8.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_I8_CONV_NHWC_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_I8_CONV_NHWC_I8_H_

#include "delegates/cpu/kernels/intgemm/intgemm.h"

namespace vireo::cpu {

// One group, or depthwise over two axes with one output a channel. What else there is needs the other layout.
bool conv_nhwc_i8_serves(const ConvF32& shape);

// Filters as columns in layout 3, rows [kernel..., C]; 0 bytes where they are read as they lie.
size_t conv_nhwc_i8_packed_bytes(const ConvF32& shape);
void pack_conv_nhwc_i8(const ConvI8& conv, const void* weights, const Parallel& parallel, void* to);

// Of `shape` only the sizes are read; `packed`: whether filters will be. Upper bounds are of images; filters are of one
// shape.
size_t conv_nhwc_i8_scratch_bytes(const ConvI8& conv, int32_t slots, bool packed, Sizes sizes = Sizes::kUpperBounds);
// `packed`: the filters in place of `weights`, or null. conv.finish is not null; its rows are output channels.
void conv_nhwc_i8(const ConvI8& conv, const void* x, const void* weights, const void* packed, void* y,
                  const Parallel& parallel, void* scratch);

struct TileEngine;
// The same on these tiles (null: none) in place of the machine's own.
void conv_nhwc_i8_on(const TileEngine* tiles, const ConvI8& conv, const void* x, const void* weights,
                     const void* packed, void* y, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_I8_CONV_NHWC_I8_H_

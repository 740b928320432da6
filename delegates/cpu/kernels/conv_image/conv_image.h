// Convolution of images, float32, channels last: one or three channels in, as networks begin. The product over windows
// that neighbours share reads them where they lie, without patches.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_CONV_IMAGE_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_CONV_IMAGE_H_

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {

// One group, 1 or 3 channels, strides along a line of 1 or 2, no dilation, 14 outputs in a line or 56 in an image; at
// most 512 filters of 256 taps.
bool conv_image_f32_serves(const ConvF32& shape);

// Floats that each slot needs for windows with a border.
int64_t conv_image_f32_slot_floats(const ConvF32& shape, Sizes sizes);

// x [N, H, W, C], y [N, OH, OW, O], overlapping nothing. `panels`: the filters as pack_conv_nhwc_f32 writes them.
// Scratch: slot_floats for each slot.
void conv_image_f32(const ConvF32& shape, const float* x, const float* panels, float* y, const Parallel& parallel,
                    float* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_CONV_IMAGE_H_

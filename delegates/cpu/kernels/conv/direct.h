// Convolution of few filters, float32, channels first: windows are read where they lie in a copy of a few lines with
// their border, without patches.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_H_

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {

// Whether it does and is likely faster than the product over patches: up to 128 filters a group, lines
// that fill their vectors well enough, strides up to 4 along a line; any groups, dilations and pads.
bool conv_direct_f32_serves(const ConvF32& shape);

// Floats of scratch for each slot. Upper bounds cover all convolutions up to these sizes, served or not.
int64_t conv_direct_f32_slot_floats(const ConvF32& shape, Sizes sizes);

// Operands as conv_f32 takes them; scratch: slot_floats for each slot, 64-byte aligned.
void conv_direct_f32(const ConvF32& shape, const float* x, const float* weights, float* y, const Parallel& parallel,
                     float* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_H_

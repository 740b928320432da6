// A convolution whose groups have one input channel each, as the depthwise kernels of either layout take it.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_DEPTHWISE_OF_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_DEPTHWISE_OF_H_

#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/kernels/depthwise/depthwise.h"

namespace vireo::cpu {

inline DepthwiseF32 depthwise_of(const ConvF32& s) {
  DepthwiseF32 d;
  d.n = s.n;
  d.channels = s.in_channels;
  d.multiplier = s.out_channels / s.groups;
  d.window = {s.in[1],     s.in[2],     s.out[1],      s.out[2],      s.kernel[1], s.kernel[2],
              s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1],    s.pad[2]};
  d.bias = s.bias;
  d.residual = s.residual;
  d.residual_last = s.residual_last;
  d.residual_times = s.residual_times;
  d.act = s.act;
  d.slope = s.slope;
  return d;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_DEPTHWISE_OF_H_

// What convolutions and their transposes share: sizes, and columns taken as lines.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_LINES_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_LINES_H_

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {

inline int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

inline bool empty(const ConvF32& s) { return s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0; }

// Lines of one element are a column, and a column is a line as well: vectors run along the last axis that has a length.
inline bool is_column(const ConvF32& s) {
  return s.in[2] == 1 && s.out[2] == 1 && s.kernel[2] == 1 && s.pad[2] == 0 && s.in[1] > 1;
}
inline ConvF32 as_line(const ConvF32& s) {
  ConvF32 t = s;
  for (int i = 0; i < 3; ++i) {
    t.in[i] = i > 0 ? s.in[i - 1] : 1;
    t.out[i] = i > 0 ? s.out[i - 1] : 1;
    t.kernel[i] = i > 0 ? s.kernel[i - 1] : 1;
    t.stride[i] = i > 0 ? s.stride[i - 1] : 1;
    t.dilation[i] = i > 0 ? s.dilation[i - 1] : 1;
    t.pad[i] = i > 0 ? s.pad[i - 1] : 0;
  }
  return t;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_LINES_H_

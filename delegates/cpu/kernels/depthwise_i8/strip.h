// What the two ways of computing a depthwise plane share.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_STRIP_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_STRIP_H_

#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"

namespace vireo::cpu {
constexpr int64_t kSlack = 64;  // elements that the last vector of a row may reach beyond it

// Input rows copied with their padding, so that the arithmetic needs no bounds. With `phases` > 1 the columns of a row
// are sorted by their remainder modulo the stride, and neighbouring outputs read neighbouring elements.
struct Strip {
  int64_t phases, phase;  // phase: elements from one remainder to the next
  int64_t pitch;          // elements from one row to the next
  int64_t rows;           // output rows of a full strip
  int64_t in_rows;        // input rows that they see
  int64_t elements;
  int64_t most;  // an upper bound of it for all images up to this one's size

  static constexpr int64_t kElements = 16 * 1024;  // 16 or 32 KiB: within a first-level cache

  Strip(const Window& w, bool sorted) {
    const int64_t width = (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1;
    phases = sorted ? w.stride_w : 1;
    phase = phases == 1 ? width : (width + phases - 1) / phases;
    pitch = phase * phases;
    const int64_t reach = (w.kernel_h - 1) * w.dilation_h + 1;
    rows = kElements / pitch < reach ? 1 : (kElements / pitch - reach) / w.stride_h + 1;
    if (rows > w.out_h) rows = w.out_h;
    in_rows = (rows - 1) * w.stride_h + reach;
    elements = in_rows * pitch + kSlack;
    most = (kElements > reach * pitch ? kElements : reach * pitch) + kSlack;
  }
  // Where tap (i, j) of output (0, 0) lies.
  int64_t tap(const Window& w, int64_t i, int64_t j) const {
    const int64_t column = j * w.dilation_w;
    return i * w.dilation_h * pitch + column % phases * phase + column / phases;
  }
};

struct DepthwiseRange {
  const DepthwiseI8* shape;
  const void *x, *weights;
  void* y;
  int64_t begin, end;  // input planes
};
inline int32_t code_at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}
inline int32_t weight_zero(const DepthwiseI8& s, int64_t o) {
  return s.w_zero == nullptr ? 0 : code_at(s.w_zero, s.w_signed, s.w_zero_per_channel ? o : 0);
}
}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_STRIP_H_

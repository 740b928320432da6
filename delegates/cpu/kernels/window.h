// Sliding windows over one plane [H, W], shared by depthwise convolution and pooling.
#ifndef VIREO_DELEGATES_CPU_KERNELS_WINDOW_H_
#define VIREO_DELEGATES_CPU_KERNELS_WINDOW_H_

#include <stdint.h>

namespace vireo::cpu {

// Output (y, x) sees input (y * stride_h - pad_top + i * dilation_h, x * stride_w - pad_left + j * dilation_w).
struct Window {
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // at the far ends: what the output size leaves
};

// A band of input rows copied with its padding, so that the arithmetic needs no bounds. The columns of a row are sorted
// by their remainder modulo stride_w: then neighbouring outputs read neighbouring floats at every stride and dilation.
struct Band {
  int64_t phases;   // stride_w
  int64_t phase;    // floats from one remainder to the next
  int64_t pitch;    // floats from one row to the next
  int64_t rows;     // output rows of a full band
  int64_t in_rows;  // input rows that they see
  int64_t floats;   // size of the copy
  int64_t most;     // an upper bound of it for all images up to this one's size

  static constexpr int64_t kFloats = 6 * 1024;  // 24 KiB: half of a first-level cache
  static constexpr int64_t kLeastRows = 4;      // wide images: rows are computed four at a time

  explicit Band(const Window& w) {
    phases = w.stride_w;
    // Outputs are computed 16 at a time, the last ones beyond the row's end: 16 floats more than the taps reach.
    phase = (w.out_w + (w.kernel_w - 1) * w.dilation_w / w.stride_w + 1 + 15) / 16 * 16 + 16;
    pitch = phase * phases;
    const int64_t reach = (w.kernel_h - 1) * w.dilation_h + 1;
    rows = (kFloats / pitch - reach) / w.stride_h + 1;
    if (rows < kLeastRows) rows = kLeastRows;
    if (rows > w.out_h) rows = w.out_h;
    in_rows = (rows - 1) * w.stride_h + reach;
    floats = in_rows * pitch;
    const int64_t least = ((kLeastRows - 1) * w.stride_h + reach) * pitch;
    most = kFloats > least ? kFloats : least;
  }
  // Where tap (i, j) of output (0, 0) lies in the copy.
  int64_t tap(const Window& w, int64_t i, int64_t j) const {
    const int64_t column = j * w.dilation_w;
    return i * w.dilation_h * pitch + column % phases * phase + column / phases;
  }
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_WINDOW_H_

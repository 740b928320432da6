// The places of an input that a window sees: convolutions and pools, of one to three spatial axes, in any layout.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_H_

#include <stdint.h>

#include <array>

namespace vireo::gpu {

// Spatial axes that are not there have 1 everywhere, stride and pad included (pad 0). Output place o and tap t read
// input place o * stride + t * dilation - pad, which may lie outside. Transposed: (o + pad - t * dilation) / stride,
// where that is a whole number.
struct Window {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  bool transposed = false;
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t places() const { return out[0] * out[1] * out[2]; }
};

// Where element (image, channel, spatial place) lies.
struct ImageView {
  int64_t offset = 0, image = 0, channel = 0;
  std::array<int64_t, 3> spatial{0, 0, 0};
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_H_

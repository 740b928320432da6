// Limits of IntResize, for its kernels and for the converter.
#ifndef VIREO_SDK_OPS_INT_RESIZE_INT_RESIZE_H_
#define VIREO_SDK_OPS_INT_RESIZE_INT_RESIZE_H_

#include <stdint.h>

#include "sdk/ops/int_resize/int_resize_generated.h"

namespace vireo {

constexpr int kMaxIntResizeAxes = 3;
// Combinations of taps of the axes before the last: a kernel keeps them on its stack.
constexpr int64_t kMaxIntResizeOuter = 128;

}  // namespace vireo

#endif  // VIREO_SDK_OPS_INT_RESIZE_INT_RESIZE_H_

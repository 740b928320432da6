// How conv_image cuts its outputs: the same on every instruction set, so that scratch sizes are.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_LINES_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_LINES_H_

#include <stdint.h>

namespace vireo::cpu {

constexpr int64_t kLongLine = 14;     // outputs of a line that are a tile, on any instruction set
constexpr int64_t kManyOutputs = 56;  // of short lines at once

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_IMAGE_LINES_H_

// Elementwise work that follows other work becomes a part of it: a kernel less, and a value that never reaches memory.
#ifndef VIREO_DELEGATES_GPU_LOWER_FUSE_H_
#define VIREO_DELEGATES_GPU_LOWER_FUSE_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// A chain joins the work that made one of its inputs where it reads each of the elements as they were made, and all
// else that it reads is there before. What others read of the value is still written.
void fuse(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_FUSE_H_

// Copies that need not be made: who makes the elements writes them where the copy would.
#ifndef VIREO_DELEGATES_GPU_LOWER_REDIRECT_H_
#define VIREO_DELEGATES_GPU_LOWER_REDIRECT_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// Removes works that only copy a memory that nobody else reads. fuse() joins a copy to the one work that makes its
// elements in one output; here there may be several works and outputs, as the halves of a rotated key that goes to the
// end of a cache have them.
void redirect(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_REDIRECT_H_

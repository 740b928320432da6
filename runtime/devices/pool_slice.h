// A session that takes fewer threads than the pool has: kernels may count on slots below the session's own number.
#ifndef VIREO_RUNTIME_DEVICES_POOL_SLICE_H_
#define VIREO_RUNTIME_DEVICES_POOL_SLICE_H_

#include <stdint.h>

#include "vireo/vireo.h"

namespace vireo {

struct PoolSlice {
  vireo_thread_pool inner = {};
  int32_t count = 1;  // below inner.slots
};

// vireo_thread_pool's function; `slice` is a PoolSlice. The pool is given `count` pieces of work, each of which takes
// tiles from one counter until none is left, whatever slot the pool runs it in.
void run_slice(void* slice, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_POOL_SLICE_H_

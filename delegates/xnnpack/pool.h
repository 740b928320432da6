// XNNPACK runs its loops through the functions of pthreadpool.h. Here they run on the session's threads: no thread of
// another library is started, and pthreadpool's own library is not linked.
#ifndef VIREO_DELEGATES_XNNPACK_POOL_H_
#define VIREO_DELEGATES_XNNPACK_POOL_H_

#include <stddef.h>

#include "vireo/vireo.h"

// What a pthreadpool_t points to.
struct pthreadpool {
  pthreadpool();  // in pool.cc: a linker that reads libraries once takes the functions along with whoever makes one

  size_t slots = 1;                            // that XNNPACK counts on when it divides its work
  const vireo_thread_pool* threads = nullptr;  // of the submit under way; null: the calling thread alone
};

#endif  // VIREO_DELEGATES_XNNPACK_POOL_H_

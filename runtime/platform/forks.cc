#include "runtime/platform/forks.h"

#include <pthread.h>

namespace vireo::platform {

std::atomic<uint32_t> g_forks{0};

void count_forks() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(
      &once, [] { (void)pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); }); });
}

}  // namespace vireo::platform

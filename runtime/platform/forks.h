// Threads are those of the process that started them: a child by fork() has the memory that they worked in, and none of
// them. What has threads keeps the count of forks from when it started them, and knows by it that it is in a child.
#ifndef VIREO_RUNTIME_PLATFORM_FORKS_H_
#define VIREO_RUNTIME_PLATFORM_FORKS_H_

#include <stdint.h>

#include <atomic>

namespace vireo::platform {

// Private to forks(): counted in each child.
extern std::atomic<uint32_t> g_forks;

// From the first call on, forks of this process's line are counted. Before threads are started.
void count_forks();
inline uint32_t forks() { return g_forks.load(std::memory_order_relaxed); }

}  // namespace vireo::platform

#endif  // VIREO_RUNTIME_PLATFORM_FORKS_H_

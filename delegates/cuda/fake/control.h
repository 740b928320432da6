// A CUDA driver that fails on demand: what no driver does when a test asks for it.
//
// It is a driver and its cards in one shared library, made of the host's memory. Its cards know one kernel: every
// launch does what delegates/gpu/device/testing.h's add_kernel() says, whatever code its module was made of.
#ifndef VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_
#define VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_

#include <atomic>
#include <cstdint>

#include "delegates/cuda/functions.h"
#include "vireo/vireo.h"

namespace vireo::cuda::fake {

// What a test sets, and what it reads.
struct Control {
  int version = 13000;
  int cards = 1;
  int major = 9, minor = 0;
  bool prohibited = false;
  uint64_t memory_bytes = 64u << 20;

  // Calls that may fail are counted; call number `fail_at` gives `result`, and all later ones where `for_ever`.
  std::atomic<int64_t> calls{0}, fail_at{-1};
  std::atomic<Result> result{kOutOfMemory};
  std::atomic<bool> for_ever{false};
  // Work that is given to a stream waits until this is false again.
  std::atomic<bool> hangs{false};

  std::atomic<int64_t> alive{0};          // objects that were made and not destroyed
  std::atomic<int64_t> taken{0};          // bytes of memory that were allocated and not freed
  std::atomic<int64_t> modules{0};        // made since the beginning
  std::atomic<int64_t> contexts_left{0};  // calls without a context
  std::atomic<int64_t> launches[3] = {};  // of graphs, by vireo_priority
};

using ControlFunction = Control* (*)();
#define VIREO_FAKE_CUDA_CONTROL "vireo_fake_cuda_control"

}  // namespace vireo::cuda::fake

#endif  // VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_

// A CUDA driver that fails on demand: what no driver does when a test asks for it. It is a driver and its cards in one
// shared library, made of the host's memory (delegates/gpu/stream/fake.h).
#ifndef VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_
#define VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_

#include "delegates/gpu/stream/fake.h"

namespace vireo::cuda::fake {

// What a test sets, and what it reads.
struct Control : gpu::fake::Control {
  int version = 13000;
  int major = 9, minor = 0;
  bool prohibited = false;
  int link_result = 0;

  std::atomic<int64_t> linked{0};  // texts that were compiled by linking
};

using ControlFunction = Control* (*)();
#define VIREO_FAKE_CUDA_CONTROL "vireo_fake_cuda_control"

}  // namespace vireo::cuda::fake

#endif  // VIREO_DELEGATES_CUDA_FAKE_CONTROL_H_

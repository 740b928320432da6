// Kernels as a driver compiled them: made in parallel, kept once for all parts that have the same kernel.
#ifndef VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_
#define VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "delegates/gpu/schedule/schedule.h"

namespace vireo::gpu {

// A driver's object; its destructor gives it back.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
};

class KernelCache {
 public:
  // Called from several threads. The API's result: 0 where it went well.
  using Compile = std::function<int(const Kernel& kernel, std::shared_ptr<CompiledKernel>* out)>;

  // One for each kernel, in their order; those that no living part has are compiled on several threads. On an error
  // *failed is the kernel that the driver refused, and its result is returned.
  int make(const std::vector<Kernel>& kernels, const Compile& compile,
           std::vector<std::shared_ptr<CompiledKernel>>* out, uint32_t* failed);

 private:
  std::mutex mutex_;
  std::map<std::vector<uint32_t>, std::weak_ptr<CompiledKernel>> made_;  // by code and arguments
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_

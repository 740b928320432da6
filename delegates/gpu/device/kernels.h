// Kernels as a driver compiled them: made in parallel, kept once for all parts that have the same kernel.
#ifndef VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_
#define VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/schedule/schedule.h"

namespace vireo::gpu {

// Machine code of a schedule's kernels, in their order: what another process made, and what is made for others.
struct KernelCode {
  std::vector<std::vector<uint8_t>> of;  // a kernel without any has an empty one
  bool made = false;                     // some of it was not there before

  // As a cache keeps it. Empty where a kernel has none: it would be made again and again.
  std::vector<uint8_t> bytes() const;
  // Reads what bytes() of another process gave. Data of another number of kernels, or of another size than they say,
  // are not used.
  void take(const void* bytes, size_t size, size_t kernels);
};

// Under what a cache keeps the machine code of these kernels: a hash of their texts.
std::string code_key(const std::vector<Kernel>& kernels);

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
  std::map<std::vector<uint32_t>, std::weak_ptr<CompiledKernel>, ByWords> made_;  // by code and arguments
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_KERNELS_H_

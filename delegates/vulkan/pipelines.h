// Kernels as the driver compiled them: made in parallel, kept once for all parts that have the same kernel.
#ifndef VIREO_DELEGATES_VULKAN_PIPELINES_H_
#define VIREO_DELEGATES_VULKAN_PIPELINES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "delegates/gpu/device/kernels.h"
#include "delegates/vulkan/functions.h"

namespace vireo::vulkan {

// How a kernel's bindings and words are handed over.
struct Layout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

class Pipelines {
 public:
  struct Pipeline final : gpu::CompiledKernel {
    VkPipeline handle = VK_NULL_HANDLE;
    Layout layout;
    Pipelines* owner = nullptr;  // NULL: nothing is to be destroyed

    Pipeline() = default;
    ~Pipeline() override;
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
  };

  Pipelines(const DeviceFunctions& call, VkDevice device);
  ~Pipelines();  // after the last pipeline
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // One for each kernel, in their order; those that no living part has are compiled on several threads. in_parts:
  // launches may begin at any workgroup. On an error *failed is the kernel that the driver refused.
  VkResult make(const std::vector<gpu::Kernel>& kernels, bool in_parts, std::vector<std::shared_ptr<Pipeline>>* out,
                uint32_t* failed);
  // What data() of an earlier process gave, of this very driver: kernels in it need not be compiled. False: the driver
  // does not take it.
  bool take(const void* data, size_t bytes);
  // What the driver keeps of all kernels that were compiled or taken; empty where it keeps nothing.
  std::vector<uint8_t> data();
  // How many kernels were compiled, or found in what was taken.
  uint64_t compiled() const { return compiled_.load(); }
  // From now on nothing is destroyed: the device must not be called any more.
  void leave() { left_ = true; }

 private:
  VkResult layout(uint32_t bindings, uint32_t push_words, Layout* out);
  VkResult compile(const gpu::Kernel& kernel, bool in_parts, Pipeline* out);

  const DeviceFunctions& call_;
  const VkDevice device_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;  // NULL where the driver gave none: slower, and right
  bool left_ = false;
  std::atomic<uint64_t> compiled_{0};
  std::shared_mutex cache_mutex_;                            // alone: who merges into cache_
  std::mutex mutex_;                                         // of the layouts
  std::map<uint32_t, VkDescriptorSetLayout> sets_;           // by bindings
  std::map<std::pair<uint32_t, uint32_t>, Layout> layouts_;  // by bindings and words
  gpu::KernelCache made_, made_in_parts_;
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_PIPELINES_H_

// Vulkan's functions as pointers: the loader is opened at run time, so that nothing links against it, and a process
// without it goes on without GPUs. Only the header is needed to build.
#ifndef VIREO_DELEGATES_VULKAN_FUNCTIONS_H_
#define VIREO_DELEGATES_VULKAN_FUNCTIONS_H_

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace vireo::vulkan {

// Functions that need an instance.
#define VIREO_VULKAN_INSTANCE(row)                                                                             \
  row(DestroyInstance) row(EnumeratePhysicalDevices) row(EnumerateDeviceExtensionProperties)                   \
      row(GetPhysicalDeviceProperties) row(GetPhysicalDeviceProperties2) row(GetPhysicalDeviceFeatures2)       \
          row(GetPhysicalDeviceMemoryProperties) row(GetPhysicalDeviceQueueFamilyProperties) row(CreateDevice) \
              row(GetDeviceProcAddr)

// Functions of a device. WaitSemaphores and GetSemaphoreCounterValue have their 1.2 or their extension's name.
#define VIREO_VULKAN_DEVICE(row)                                                                                    \
  row(DestroyDevice) row(GetDeviceQueue) row(QueueSubmit) row(DeviceWaitIdle) row(AllocateMemory) row(FreeMemory)   \
      row(MapMemory) row(CreateBuffer) row(DestroyBuffer) row(GetBufferMemoryRequirements) row(BindBufferMemory)    \
          row(CreateSemaphore) row(DestroySemaphore) row(CreateShaderModule) row(DestroyShaderModule)               \
              row(CreatePipelineCache) row(DestroyPipelineCache) row(GetPipelineCacheData) row(MergePipelineCaches) \
                  row(CreateComputePipelines) row(DestroyPipeline) row(CreatePipelineLayout)                        \
                      row(DestroyPipelineLayout) row(CreateDescriptorSetLayout) row(DestroyDescriptorSetLayout)     \
                          row(CreateDescriptorPool) row(DestroyDescriptorPool) row(AllocateDescriptorSets)          \
                              row(UpdateDescriptorSets) row(CreateCommandPool) row(DestroyCommandPool)              \
                                  row(AllocateCommandBuffers) row(BeginCommandBuffer) row(EndCommandBuffer)         \
                                      row(CmdBindPipeline) row(CmdBindDescriptorSets) row(CmdPushConstants)         \
                                          row(CmdDispatch) row(CmdDispatchBase) row(CmdPipelineBarrier)             \
                                              row(CmdCopyBuffer) row(CreateQueryPool) row(DestroyQueryPool)         \
                                                  row(GetQueryPoolResults) row(CmdResetQueryPool)                   \
                                                      row(CmdWriteTimestamp)

#define VIREO_VULKAN_POINTER(name) PFN_vk##name name = nullptr;

struct InstanceFunctions {
  VIREO_VULKAN_INSTANCE(VIREO_VULKAN_POINTER)
};

struct DeviceFunctions {
  VIREO_VULKAN_DEVICE(VIREO_VULKAN_POINTER)
  PFN_vkWaitSemaphores WaitSemaphores = nullptr;
  PFN_vkGetSemaphoreCounterValue GetSemaphoreCounterValue = nullptr;
  PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerProperties = nullptr;  // NULL without the extension
};

#undef VIREO_VULKAN_POINTER

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_FUNCTIONS_H_

// Has the first card's driver compile the kernels of the sizes that models have, and says before each of them which one
// it is: registers_test.py reads what the driver then tells of registers. The card need not be there: Mesa's driver for
// AMD compiles for a chip that RADV_FORCE_FAMILY names, but gives no semaphores then, so this is no Device.
#include <unistd.h>

#include <cstdio>

#include "delegates/gpu/emit/kernel.h"
#include "delegates/gpu/templates/usual_testing.h"
#include "delegates/vulkan/instance.h"
#include "delegates/vulkan/pipelines.h"

namespace vireo::vulkan {
namespace {

// With what kernels may ask for.
VkResult open(const Instance& instance, const Card& card, VkDevice* out) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = card.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  features.features.shaderInt16 = card.target.int16;
  features.features.shaderInt64 = card.target.int64;
  VkPhysicalDeviceVulkan11Features first = {};
  first.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  first.storageBuffer16BitAccess = card.target.storage16;
  VkPhysicalDeviceVulkan12Features second = {};
  second.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  second.storageBuffer8BitAccess = card.target.storage8;
  second.shaderFloat16 = card.target.float16;
  second.shaderInt8 = card.target.int8;
  features.pNext = &first;
  first.pNext = &second;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  return instance.call().CreateDevice(card.handle, &info, nullptr, out);
}

int run() {
  std::string why;
  const std::unique_ptr<Instance> instance = Instance::open(nullptr, &why);
  if (instance == nullptr) return std::fprintf(stderr, "no card: %s\n", why.c_str()), 1;
  const Card& card = instance->cards()[0];
  VkDevice device = VK_NULL_HANDLE;
  if (open(*instance, card, &device) != VK_SUCCESS) return std::fprintf(stderr, "no card: no device of it\n"), 1;
  DeviceFunctions call;
#define VIREO_VULKAN_LOOK_UP(name) \
  call.name = reinterpret_cast<PFN_vk##name>(instance->call().GetDeviceProcAddr(device, "vk" #name));
  VIREO_VULKAN_DEVICE(VIREO_VULKAN_LOOK_UP)
#undef VIREO_VULKAN_LOOK_UP
  Pipelines pipelines(call, device);
  pipelines.leave();  // the driver of a chip that is not there fails where it destroys
  instance->keep();
  for (const gpu::UsualKernel& kernel : gpu::usual_kernels()) {
    gpu::Target target = card.target;
    target.units.clear();  // they need an extension that is not asked for
    if (kernel.halves || kernel.needs_units) continue;
    const gpu::Dispatch d = kernel.make(target);
    if (!d.refusal.empty()) return std::fprintf(stderr, "%s: %s\n", kernel.name, d.refusal.c_str()), 1;
    std::fprintf(stderr, "kernel: %s\n", kernel.name);
    std::vector<std::shared_ptr<Pipelines::Pipeline>> made;
    uint32_t failed = 0;
    const VkResult result = pipelines.make({gpu::kernel_of(d.program, target)}, false, &made, &failed);
    if (result != VK_SUCCESS) return std::fprintf(stderr, "%s: VkResult %d\n", kernel.name, result), 1;
  }
  return 0;
}

}  // namespace
}  // namespace vireo::vulkan

int main() {
  const int status = vireo::vulkan::run();
  std::fflush(nullptr);
  _exit(status);  // without the driver's own end
}

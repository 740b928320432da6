// What Vulkan there is: the loader's library, an instance, and the cards that can run our kernels.
#ifndef VIREO_DELEGATES_VULKAN_INSTANCE_H_
#define VIREO_DELEGATES_VULKAN_INSTANCE_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/vulkan/functions.h"

namespace vireo::vulkan {

// A physical device that kernels can run on, with what its logical device will enable.
struct Card : gpu::Facts {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;  // the driver's, of the chip
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint8_t uuid[VK_UUID_SIZE] = {};
  uint32_t vendor_number = 0, device_number = 0;
  uint8_t cache_uuid[VK_UUID_SIZE] = {};  // of what this driver compiles for it
  uint32_t queue_family = 0;
  uint32_t queues = 1;     // of that family
  uint32_t time_bits = 0;  // of its timestamps; 0: it has none
  double time_ns = 0;      // of one tick
  VkPhysicalDeviceMemoryProperties memory = {};
  uint64_t allocation_bytes = 0;  // the most of one allocation
  uint64_t import_alignment = 0;  // of host memory that it can use in place; 0: it cannot
  bool checked_access = false;    // accesses beyond a binding stay inside its buffer
  bool timeline_is_core = false;  // else it is an extension's
};

class Instance {
 public:
  // Opens `library` (NULL: VIREO_VULKAN_LIBRARY of the environment, else libvulkan.so.1). NULL where there is no
  // device, and *why says what is missing.
  static std::unique_ptr<Instance> open(const char* library, std::string* why);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // The cards, discrete ones first, those that are a CPU last; two drivers of one card are one row. At least one.
  const std::vector<Card>& cards() const { return cards_; }
  const InstanceFunctions& call() const { return call_; }
  VkInstance handle() const { return handle_; }
  // A device of it is still at work and stays for as long as the process lives: so does the instance.
  void keep() const { kept_.store(true); }

 private:
  Instance();
  bool find_cards(uint32_t version, std::string* why);

  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions call_;
  PFN_vkVoidFunction list_matrices_ = nullptr;  // cooperative.h; NULL where no driver has it
  std::vector<Card> cards_;
  const pid_t process_;  // a process that was forked since leaves it alone
  mutable std::atomic<bool> kept_{false};
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_INSTANCE_H_

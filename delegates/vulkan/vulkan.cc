#include "delegates/vulkan/vulkan.h"

#include "delegates/vulkan/system.h"

extern "C" vireo_status vireo_vulkan_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out) {
  return vireo::gpu::open_table("vulkan", vireo::vulkan::find_cards, abi, host, out);
}

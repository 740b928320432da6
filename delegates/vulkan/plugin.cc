// The plug-in's only symbol.
#include "delegates/vulkan/vulkan.h"

extern "C" __attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host,
                                                                                   const vireo_delegate** out) {
  return vireo_vulkan_open(abi, host, out);
}

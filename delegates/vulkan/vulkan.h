// GPUs through Vulkan, as a plug-in opens them and as tests do.
#ifndef VIREO_DELEGATES_VULKAN_VULKAN_H_
#define VIREO_DELEGATES_VULKAN_VULKAN_H_

#include "vireo/delegate.h"

// As vireo_delegate_open. Without a loader, a driver or a card that is new enough it opens all the same, has no device,
// and logs why.
extern "C" vireo_status vireo_vulkan_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out);

#endif  // VIREO_DELEGATES_VULKAN_VULKAN_H_

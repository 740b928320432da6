// The functions of the table that are about memory.
#ifndef VIREO_DELEGATES_VULKAN_BUFFERS_H_
#define VIREO_DELEGATES_VULKAN_BUFFERS_H_

#include "delegates/vulkan/part.h"
#include "vireo/delegate.h"

namespace vireo::vulkan {

Place place_at(const vireo_place& place);
void add_buffers(vireo_delegate* table);

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_BUFFERS_H_

// The functions of the table that are about memory.
#ifndef VIREO_DELEGATES_GPU_DEVICE_BUFFERS_H_
#define VIREO_DELEGATES_GPU_DEVICE_BUFFERS_H_

#include "delegates/gpu/device/part.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

Place place_at(const vireo_place& place);
void add_buffers(vireo_delegate* table);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_BUFFERS_H_

// The two ways to the driver: opened, as the plug-in exports it, or linked in, as delegates of a build are.
#ifndef VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_
#define VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_

#include "vireo/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

// A table with a device of its own, in memory of the host's allocator; vireo_delegate.release gives it back.
vireo_status vireo_npu_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out);

// For a product that links the driver (VIREO_DELEGATE_NPU, or a list of delegates of its own): one device for all
// runtimes of the process, whose local memory is a part of the image. It starts with the first runtime that looks for
// devices and stops with the last that is released.
extern const vireo_delegate vireo_npu_delegate;

#ifdef __cplusplus
}
#endif

#endif  // VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_

// Opens the driver: what the plug-in exports as vireo_delegate_open, and firmware calls by this name.
#ifndef VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_
#define VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_

#include "vireo/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

// A table with a device of its own, in memory of the host's allocator; vireo_delegate.release gives it back.
vireo_status vireo_npu_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out);

#ifdef __cplusplus
}
#endif

#endif  // VIREO_DELEGATES_NPU_DRIVER_DRIVER_H_

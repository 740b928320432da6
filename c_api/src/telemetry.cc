#include "vireo/telemetry.h"

#include <stddef.h>
#include <string.h>

#include "c_api/src/handles.h"

extern "C" vireo_status vireo_runtime_telemetry(const vireo_runtime* runtime, uint32_t index, vireo_telemetry* out,
                                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(out, error);
  const uint32_t size = out->struct_size;
  if (size < offsetof(vireo_telemetry, power))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "telemetry: set struct_size with VIREO_TELEMETRY_INIT");
  if (index >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no device of this index");
  const vireo::Device& device = runtime->devices[index];
  vireo_telemetry told = VIREO_TELEMETRY_INIT;
  vireo_status status = VIREO_UNSUPPORTED;
  if (device.delegate->telemetry != nullptr) {
    status = device.delegate->telemetry(device.handle, &told);
    if (status != VIREO_OK) told = {};
  }
  told.struct_size = size;
  memcpy(out, &told, size < sizeof(told) ? size : sizeof(told));
  if (device.delegate->health(device.handle) != VIREO_OK)
    return vireo::refuse(error, VIREO_DEVICE_LOST, "the device does not answer");
  if (status != VIREO_OK) return vireo::refuse(error, VIREO_UNSUPPORTED, "the device tells nothing of itself");
  return VIREO_OK;
}

#include "vireo/telemetry.h"

#include "c_api/src/handles.h"

extern "C" vireo_status vireo_runtime_telemetry(const vireo_runtime* runtime, uint32_t index, vireo_telemetry* out,
                                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(out, error);
  vireo::Error e;
  const vireo::Status sized = vireo::check_sized(out, {"out", "VIREO_TELEMETRY_INIT"}, &e);
  if (!vireo::ok(sized)) return vireo::report(sized, e, error);
  if (index >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no device of this index");
  const vireo::Device& device = runtime->devices[index];
  vireo_telemetry figures = VIREO_TELEMETRY_INIT;
  vireo_status status = VIREO_UNSUPPORTED;
  if (device.delegate->telemetry != nullptr) {
    status = device.delegate->telemetry(device.handle, &figures);
    if (status != VIREO_OK) figures = {};
  }
  vireo::write_sized(&figures, sizeof(figures), out);
  if (device.delegate->health(device.handle) != VIREO_OK)
    return vireo::refuse(error, VIREO_DEVICE_LOST, "the device does not answer");
  if (status != VIREO_OK) return vireo::refuse(error, VIREO_UNSUPPORTED, "the device tells nothing of itself");
  return VIREO_OK;
}

#include "c_api/src/handles.h"
#include "runtime/devices/plugins.h"

using vireo::Error;
using vireo::Status;

extern "C" {

uint32_t vireo_version(void) { return VIREO_VERSION_MAJOR << 16 | VIREO_VERSION_MINOR << 8 | VIREO_VERSION_PATCH; }

const char* vireo_status_text(vireo_status status) {
  switch (status) {
    case VIREO_OK:
      return "ok";
    case VIREO_INVALID_ARGUMENT:
      return "invalid argument";
    case VIREO_INVALID_MODEL:
      return "invalid model";
    case VIREO_UNSUPPORTED:
      return "unsupported";
    case VIREO_OUT_OF_ARENA:
      return "out of arena";
    case VIREO_DEVICE_LOST:
      return "device lost";
    case VIREO_IO:
      return "input or output failed";
    case VIREO_BUSY:
      return "busy";
    case VIREO_CANCELLED:
      return "cancelled";
    default:
      return "unknown status";
  }
}

const char* vireo_dtype_text(vireo_dtype dtype) { return vireo::dtype_name(static_cast<vireo::DType>(dtype)); }
int64_t vireo_dtype_bytes(vireo_dtype dtype, int64_t count) {
  return vireo::dtype_bytes(static_cast<vireo::DType>(dtype), count);
}

vireo_status vireo_runtime_create(const vireo_runtime_options* options, vireo_runtime** out_runtime,
                                  vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_runtime, error);
  *out_runtime = nullptr;
  if (options != nullptr && options->struct_size < sizeof(vireo_runtime_options)) {
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "options: set struct_size with VIREO_RUNTIME_OPTIONS_INIT");
  }
#if VIREO_PLUGINS
  uint32_t probe = 0;  // as in check_options
  if (options != nullptr) memcpy(&probe, &options->probe, sizeof(probe));
  if (probe > VIREO_PROBE_NEVER) return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "options: no such probe");
#endif
  Error e;
  return vireo::report(vireo::create_runtime(options, out_runtime, &e), e, error);
}

void vireo_runtime_release(vireo_runtime* runtime) { vireo::release_runtime(runtime); }

uint32_t vireo_runtime_device_count(const vireo_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->device_count;
}

vireo_status vireo_runtime_set_rates(vireo_runtime* runtime, uint32_t index, const vireo_rates* rates,
                                     vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(rates, error);
  if (rates->struct_size < sizeof(vireo_rates))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "rates: set struct_size with VIREO_RATES_INIT");
  if (index >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no device of this index");
  vireo_device_info& info = runtime->devices[index].info;
  const auto take = [](double* to, double from) { *to = from > 0 ? from : *to; };
  take(&info.f32_rate, rates->f32_rate);
  take(&info.f16_rate, rates->f16_rate);
  take(&info.i8_rate, rates->i8_rate);
  take(&info.bandwidth, rates->bandwidth);
  take(&info.transfer, rates->transfer);
  if (rates->launch_ns >= 0) info.launch_ns = rates->launch_ns;
  info.flags |= VIREO_DEVICE_MEASURED;
  return VIREO_OK;
}

vireo_status vireo_runtime_device(const vireo_runtime* runtime, uint32_t index, vireo_device_info* out,
                                  vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(out, error);
  if (index >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no device of this index");
  *out = runtime->devices[index].info;
  return VIREO_OK;
}

uint32_t vireo_runtime_plugin_count(const vireo_runtime* runtime) {
  uint32_t n = 0;
#if VIREO_PLUGINS
  for (const vireo::Plugin* p = runtime == nullptr ? nullptr : runtime->plugins; p != nullptr; p = p->next) ++n;
#else
  (void)runtime;
#endif
  return n;
}

vireo_status vireo_runtime_plugin(const vireo_runtime* runtime, uint32_t index, vireo_plugin_info* out,
                                  vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(out, error);
#if VIREO_PLUGINS
  const vireo::Plugin* p = runtime->plugins;
  while (p != nullptr && index-- > 0) p = p->next;
  if (p != nullptr) {
    out->device_count = p->device_count;
    out->path = p->path;
    out->reason = p->reason;
    return VIREO_OK;
  }
#else
  (void)index;
#endif
  return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no plug-in of this index");
}

}  // extern "C"

#include "c_api/src/handles.h"
#include "runtime/devices/plugins.h"
#include "sdk/base/config.h"

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

vireo_tensor vireo_tensor_of(vireo_dtype dtype, const int64_t* dims, int32_t rank, void* data, size_t bytes) {
  vireo_tensor made = {};
  made.dtype = dtype;
  made.rank = rank;
  for (int32_t i = 0; dims != nullptr && i < rank && i < VIREO_MAX_RANK; ++i) made.dims[i] = dims[i];
  made.data = data;
  const uint64_t room = bytes;
  made.capacity = room > INT64_MAX ? INT64_MAX : static_cast<int64_t>(room);
  return made;
}

vireo_status vireo_runtime_create(const vireo_runtime_options* options, vireo_runtime** out_runtime,
                                  vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_runtime, error);
  *out_runtime = nullptr;
  Error e;
  vireo_runtime_options given;
  Status status = vireo::read_sized(options, &given, {"options", "VIREO_RUNTIME_OPTIONS_INIT"}, &e);
#if VIREO_PLUGINS
  if (vireo::ok(status) && given.probe > VIREO_PROBE_NEVER)
    status = vireo::fail(&e, Status::kInvalidArgument, "options: no such probe");
#endif
  if (vireo::ok(status)) status = vireo::create_runtime(options == nullptr ? nullptr : &given, out_runtime, &e);
  return vireo::report(status, e, error);
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
  Error e;
  vireo_rates given;
  const Status status = vireo::read_sized(rates, &given, {"rates", "VIREO_RATES_INIT"}, &e);
  if (!vireo::ok(status)) return vireo::report(status, e, error);
  if (index >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no device of this index");
  vireo_device_info& info = runtime->devices[index].info;
  const auto take = [](double* to, double from) { *to = from > 0 ? from : *to; };
  take(&info.f32_rate, given.f32_rate);
  take(&info.f16_rate, given.f16_rate);
  take(&info.i8_rate, given.i8_rate);
  take(&info.bandwidth, given.bandwidth);
  take(&info.transfer, given.transfer);
  if (given.launch_ns != 0) info.launch_ns = given.launch_ns < 0 ? 0 : given.launch_ns;
  // 0 would stand for the time of a launch: a time that nobody notices says nothing.
  if (given.transfer_ns != 0) info.transfer_ns = given.transfer_ns < 0 ? 1 : given.transfer_ns;
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
  return vireo::give(runtime->devices[index].info, out, {"out", "VIREO_DEVICE_INFO_INIT"}, error);
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
    vireo_plugin_info found = VIREO_PLUGIN_INFO_INIT;
    found.device_count = p->device_count;
    found.path = p->path;
    found.reason = p->reason;
    return vireo::give(found, out, {"out", "VIREO_PLUGIN_INFO_INIT"}, error);
  }
#else
  (void)index;
#endif
  return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "there is no plug-in of this index");
}

}  // extern "C"

#include "vireo/buffer.h"

#include <new>

#include "c_api/src/handles.h"
#include "runtime/prepare/device_arenas.h"
#include "runtime/recover/device_memory.h"
#include "sdk/base/config.h"

using vireo::Error;
using vireo::Status;

namespace {

bool inside(const vireo_buffer& b, uint64_t offset, uint64_t bytes) {
  return offset <= b.bytes && bytes <= b.bytes - offset;
}

vireo_status beyond(const vireo_buffer& b, uint64_t offset, uint64_t bytes, vireo_error* error) {
  Error e;
  return vireo::report(vireo::fail(&e, Status::kOutOfArena, "the buffer has {} bytes; {} from {} on are beyond its end",
                                   b.bytes, bytes, offset),
                       e, error);
}

vireo_status refuse_for(const vireo::Device& d, vireo_status status, const char* what, vireo_error* error) {
  if (status == VIREO_OK) return status;
  Error e;
  return vireo::report(vireo::fail(&e, static_cast<Status>(status), "device \"{}\" {}", d.info.name, what), e, error);
}

// `handle`: null for new memory.
vireo_status make(vireo_runtime* runtime, uint32_t device, uint64_t bytes, const vireo_handle* handle,
                  vireo_buffer** out, vireo_error* error) {
  if (device >= runtime->device_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the runtime has no device of this index");
  if (bytes == 0) return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "a buffer of no bytes");
  const vireo::Device& d = runtime->devices[device];
  if (!vireo::has_memory(d) || (handle != nullptr && d.delegate->buffer_import == nullptr)) {
    return refuse_for(d, VIREO_UNSUPPORTED,
                      handle == nullptr ? "works on the host's memory: it has no buffers" : "imports no memory", error);
  }
  void* const memory = runtime->allocate(sizeof(vireo_buffer));
  if (memory == nullptr) return vireo::refuse(error, VIREO_OUT_OF_ARENA, "the allocator has no memory for a handle");
  auto* const b = new (memory) vireo_buffer();
  b->runtime = runtime;
  b->device = &d;
  b->bytes = bytes;
  const vireo_status status = handle == nullptr
                                  ? d.delegate->buffer_create(d.handle, &runtime->host, bytes, &b->handle)
                                  : d.delegate->buffer_import(d.handle, &runtime->host, handle, &b->handle);
  if (status != VIREO_OK) {
    runtime->release(memory, sizeof(vireo_buffer));
    return refuse_for(d, status, handle == nullptr ? "gave no memory of that size" : "does not take this memory",
                      error);
  }
  vireo::hold(runtime->holders);
  *out = b;
  return VIREO_OK;
}

vireo_status none(vireo_error* error) {
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build knows no devices with memory of their own (VIREO_JOINED)");
}

}  // namespace

extern "C" {

vireo_status vireo_buffer_create(vireo_runtime* runtime, uint32_t device, uint64_t bytes, vireo_buffer** out_buffer,
                                 vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_buffer, error);
  *out_buffer = nullptr;
  VIREO_NOT_NULL(runtime, error);
  return VIREO_JOINED ? make(runtime, device, bytes, nullptr, out_buffer, error) : none(error);
}

vireo_status vireo_buffer_import(vireo_runtime* runtime, uint32_t device, const vireo_handle* handle,
                                 vireo_buffer** out_buffer, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_buffer, error);
  *out_buffer = nullptr;
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(handle, error);
  Error e;
  vireo_handle given;
  const Status status = vireo::read_sized(handle, &given, {"handle", "VIREO_HANDLE_INIT"}, &e);
  if (!vireo::ok(status)) return vireo::report(status, e, error);
  return VIREO_JOINED ? make(runtime, device, given.bytes, &given, out_buffer, error) : none(error);
}

void vireo_buffer_release(vireo_buffer* buffer) {
  if (!VIREO_JOINED || buffer == nullptr) return;
  vireo_runtime* const runtime = buffer->runtime;
  buffer->device->delegate->buffer_release(buffer->device->handle, buffer->handle);
  runtime->release(buffer, sizeof(vireo_buffer));
  vireo::release_runtime(runtime);
}

uint64_t vireo_buffer_bytes(const vireo_buffer* buffer) { return buffer == nullptr ? 0 : buffer->bytes; }

vireo_status vireo_buffer_export(const vireo_buffer* buffer, vireo_handle_kind kind, vireo_handle* out,
                                 vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(buffer, error);
  VIREO_NOT_NULL(out, error);
  Error e;
  constexpr vireo::SizedName kName = {"out", "VIREO_HANDLE_INIT"};
  if (const Status sized = vireo::check_sized(out, kName, &e); !vireo::ok(sized)) return vireo::report(sized, e, error);
  if (!VIREO_JOINED) return none(error);
  const vireo::Device& d = *buffer->device;
  vireo_handle handle = VIREO_HANDLE_INIT;
  const vireo_status status = d.delegate->buffer_export == nullptr
                                  ? vireo_status{VIREO_UNSUPPORTED}
                                  : d.delegate->buffer_export(d.handle, buffer->handle, kind, &handle);
  if (status != VIREO_OK) return refuse_for(d, status, "gives no handle of this kind", error);
  return vireo::give(handle, out, kName, error);
}

vireo_status vireo_buffer_write(vireo_buffer* buffer, uint64_t offset, const void* from, uint64_t bytes,
                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(buffer, error);
  if (bytes != 0) VIREO_NOT_NULL(from, error);
  if (!VIREO_JOINED) return none(error);
  if (!inside(*buffer, offset, bytes)) return beyond(*buffer, offset, bytes, error);
  const vireo::Device& d = *buffer->device;
  return refuse_for(d, d.delegate->buffer_write(d.handle, buffer->handle, offset, from, bytes),
                    "could not write its memory", error);
}

vireo_status vireo_buffer_read(const vireo_buffer* buffer, uint64_t offset, void* to, uint64_t bytes,
                               vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(buffer, error);
  if (bytes != 0) VIREO_NOT_NULL(to, error);
  if (!VIREO_JOINED) return none(error);
  if (!inside(*buffer, offset, bytes)) return beyond(*buffer, offset, bytes, error);
  const vireo::Device& d = *buffer->device;
  return refuse_for(d, d.delegate->buffer_read(d.handle, buffer->handle, offset, to, bytes),
                    "could not read its memory", error);
}

}  // extern "C"

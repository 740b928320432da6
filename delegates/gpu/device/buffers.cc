#include "delegates/gpu/device/buffers.h"

#include <new>
#include <utility>

#include "delegates/gpu/device/gpu.h"

namespace vireo::gpu {
namespace {

// A buffer of the device that is there now, without memory.
vireo_status make(Gpu& gpu, DeviceBuffer** out) {
  std::shared_ptr<Device> device;
  std::string why;
  if (const vireo_status status = gpu.device(&device, &why); status != VIREO_OK) {
    gpu.host().log(gpu.host().context, VIREO_LOG_ERROR, why.c_str());
    return status;
  }
  void* const memory = gpu.host().allocate(gpu.host().context, sizeof(DeviceBuffer), alignof(DeviceBuffer));
  if (memory == nullptr) return VIREO_OUT_OF_ARENA;
  auto* const b = new (memory) DeviceBuffer();
  b->device = std::move(device);
  b->id = b->device->next_id();
  *out = b;
  return VIREO_OK;
}

void drop(Gpu& gpu, DeviceBuffer* b) {
  b->device->settle(b->last.load());  // copies, which the host does not wait for
  b->device->release(&b->block);
  b->~DeviceBuffer();
  gpu.host().release(gpu.host().context, b, sizeof(DeviceBuffer), alignof(DeviceBuffer));
}

vireo_status buffer_create(void* device, const vireo_host*, uint64_t bytes, void** out) {
  return guarded([&] {
    Gpu& gpu = gpu_of(device);
    DeviceBuffer* b = nullptr;
    vireo_status status = make(gpu, &b);
    if (status != VIREO_OK) return status;
    status = b->device->allocate(bytes, Use::kDevice, &b->block);
    // What copies go through is made here, where the host expects that memory may be missing.
    if (status == VIREO_OK && b->block.mapped == nullptr) status = b->device->open_staging();
    if (status != VIREO_OK) {
      drop(gpu, b);
      return status;
    }
    *out = b;
    return status;
  });
}

vireo_status buffer_import(void* device, const vireo_host*, const vireo_handle* handle, void** out) {
  return guarded([&] {
    Gpu& gpu = gpu_of(device);
    // Values in the host's arena begin at multiples of 16.
    if (handle->kind != VIREO_HANDLE_HOST || gpu.facts().place_alignment > 16) return vireo_status{VIREO_UNSUPPORTED};
    DeviceBuffer* b = nullptr;
    vireo_status status = make(gpu, &b);
    if (status != VIREO_OK) return status;
    auto* const memory = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(handle->value)) + handle->offset;
    status = b->device->import(memory, handle->bytes, &b->block);
    if (status != VIREO_OK) {
      drop(gpu, b);
      return status;
    }
    *out = b;
    return status;
  });
}

vireo_status buffer_export(void*, void* buffer, vireo_handle_kind kind, vireo_handle* out) {
  const auto& b = *static_cast<DeviceBuffer*>(buffer);
  const Block& block = b.block;
  if (kind == b.device->handle_kind()) {
    out->value = block.handle;
  } else if (kind == VIREO_HANDLE_HOST && block.mapped != nullptr) {
    out->value = reinterpret_cast<uintptr_t>(block.mapped);
  } else {
    return VIREO_UNSUPPORTED;
  }
  out->kind = kind;
  out->offset = 0;
  out->bytes = block.bytes;
  return VIREO_OK;
}

void buffer_release(void* device, void* buffer) { drop(gpu_of(device), static_cast<DeviceBuffer*>(buffer)); }

bool inside(const DeviceBuffer& b, uint64_t offset, uint64_t bytes) {
  return offset <= b.block.bytes && bytes <= b.block.bytes - offset;
}

vireo_status buffer_write(void*, void* buffer, uint64_t offset, const void* from, uint64_t bytes) {
  auto& b = *static_cast<DeviceBuffer*>(buffer);
  if (!inside(b, offset, bytes)) return VIREO_INVALID_ARGUMENT;
  // A copy through the staging block has its turn behind work of its lane. One into mapped memory would come before,
  // and any before what is still to be handed over.
  if ((b.block.mapped != nullptr || !b.device->orders_copy(b.last.load())) && !b.device->reached(b.last.load()))
    return VIREO_BUSY;
  {
    const std::lock_guard<std::mutex> lock(b.device->lines_mutex);
    if (!b.line.empty() && !b.device->lost()) return VIREO_BUSY;
  }
  const Ticket before = b.device->newest_copy();
  const vireo_status status = b.device->write(b.block, offset, from, bytes);
  // After an error, too: pieces may be under way.
  if (b.device->newest_copy() != before) b.last.store(b.device->newest_copy());
  return status;
}

vireo_status buffer_read(void*, void* buffer, uint64_t offset, void* to, uint64_t bytes) {
  const auto& b = *static_cast<DeviceBuffer*>(buffer);
  if (!inside(b, offset, bytes)) return VIREO_INVALID_ARGUMENT;
  return b.device->read(b.block, offset, to, bytes);
}

}  // namespace

Place place_at(const vireo_place& place) { return {static_cast<DeviceBuffer*>(place.buffer), place.offset}; }

void add_buffers(vireo_delegate* table) {
  table->buffer_create = buffer_create;
  table->buffer_import = buffer_import;
  table->buffer_export = buffer_export;
  table->buffer_release = buffer_release;
  table->buffer_write = buffer_write;
  table->buffer_read = buffer_read;
}

}  // namespace vireo::gpu

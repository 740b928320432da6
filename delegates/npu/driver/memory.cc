#include "delegates/npu/driver/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "delegates/npu/driver/instance.h"

namespace vireo::npu {
namespace {

Driver& driver(void* self) { return *static_cast<Driver*>(self); }

// Maps `size` bytes from `offset` on of the file that the buffer has.
bool map(Buffer* b, uint64_t offset, uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  struct stat info;
  if (size > UINT64_MAX - offset || fstat(b->file, &info) != 0) return false;
  // What lies behind the end of a file would be a signal when it is touched. Devices that are mapped have no size.
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) < offset + size) return false;
  b->mapped_size = offset - begin + size;
  b->mapped = mmap(nullptr, b->mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, b->file, static_cast<off_t>(begin));
  if (b->mapped == MAP_FAILED) {
    b->mapped = nullptr;
    return false;
  }
  b->bytes = static_cast<uint8_t*>(b->mapped) + (offset - begin);
  b->size = size;
  return true;
}

void drop(Driver& d, Buffer* b) {
  if (b->mapped != nullptr) munmap(b->mapped, b->mapped_size);
  if (b->file >= 0) close(b->file);
  if (b->counted) d.device->give_back(b->size);
  b->~Buffer();
  d.host.release(d.host.context, b, sizeof(Buffer), alignof(Buffer));
}

Buffer* make(Driver& d) {
  void* const memory = d.host.allocate(d.host.context, sizeof(Buffer), alignof(Buffer));
  return memory == nullptr ? nullptr : new (memory) Buffer();
}

vireo_status buffer_create(void* self, const vireo_host*, uint64_t bytes, void** out) {
  Driver& d = driver(self);
  if (!d.device->take(bytes)) return VIREO_OUT_OF_ARENA;
  Buffer* const b = make(d);
  if (b == nullptr) {
    d.device->give_back(bytes);
    return VIREO_OUT_OF_ARENA;
  }
  b->size = bytes;
  b->counted = true;
  b->file = memfd_create("vireo-npu", MFD_CLOEXEC);
  if (b->file < 0 || ftruncate(b->file, static_cast<off_t>(bytes)) != 0 || !map(b, 0, bytes)) {
    drop(d, b);
    return VIREO_OUT_OF_ARENA;
  }
  *out = b;
  return VIREO_OK;
}

vireo_status buffer_import(void* self, const vireo_host*, const vireo_handle* handle, void** out) {
  Driver& d = driver(self);
  if (handle->kind != VIREO_HANDLE_HOST && handle->kind != VIREO_HANDLE_FD) return VIREO_UNSUPPORTED;
  Buffer* const b = make(d);
  if (b == nullptr) return VIREO_OUT_OF_ARENA;
  bool good = handle->bytes != 0;
  if (handle->kind == VIREO_HANDLE_HOST) {
    good = good && handle->value != 0;
    b->bytes = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(handle->value)) + handle->offset;
    b->size = handle->bytes;
  } else {
    b->file = handle->value > INT32_MAX ? -1 : fcntl(static_cast<int>(handle->value), F_DUPFD_CLOEXEC, 0);
    good = good && b->file >= 0 && map(b, handle->offset, handle->bytes);
  }
  if (!good) {
    drop(d, b);
    return VIREO_INVALID_ARGUMENT;
  }
  *out = b;
  return VIREO_OK;
}

vireo_status buffer_export(void*, void* buffer, vireo_handle_kind kind, vireo_handle* out) {
  const auto& b = *static_cast<Buffer*>(buffer);
  if (kind == VIREO_HANDLE_HOST) {
    out->value = reinterpret_cast<uintptr_t>(b.bytes);
  } else if (kind == VIREO_HANDLE_FD && b.file >= 0) {
    const int file = fcntl(b.file, F_DUPFD_CLOEXEC, 0);
    if (file < 0) return VIREO_IO;
    out->value = static_cast<uint64_t>(file);
    out->offset = static_cast<uint64_t>(b.bytes - static_cast<uint8_t*>(b.mapped));
  } else {
    return VIREO_UNSUPPORTED;
  }
  out->kind = kind;
  out->bytes = b.size;
  return VIREO_OK;
}

void buffer_release(void* self, void* buffer) { drop(driver(self), static_cast<Buffer*>(buffer)); }

vireo_status buffer_write(void* self, void* buffer, uint64_t offset, const void* from, uint64_t bytes) {
  const auto& b = *static_cast<Buffer*>(buffer);
  if (offset > b.size || bytes > b.size - offset) return VIREO_INVALID_ARGUMENT;
  if (const vireo_status status = driver(self).device->may_copy(b, offset, bytes); status != VIREO_OK) return status;
  std::memcpy(b.bytes + offset, from, bytes);
  return VIREO_OK;
}

vireo_status buffer_read(void* self, void* buffer, uint64_t offset, void* to, uint64_t bytes) {
  const auto& b = *static_cast<Buffer*>(buffer);
  if (offset > b.size || bytes > b.size - offset) return VIREO_INVALID_ARGUMENT;
  if (const vireo_status status = driver(self).device->may_copy(b, offset, bytes); status != VIREO_OK) return status;
  std::memcpy(to, b.bytes + offset, bytes);
  return VIREO_OK;
}

vireo_status bind(void* loaded, const vireo_place* const* inputs, const vireo_place* const* outputs) {
  auto* const p = static_cast<Part*>(loaded);
  const BlobHeader& h = *p->blob.header;
  for (uint32_t i = 0; i < h.inputs + h.outputs; ++i) {
    const vireo_place& at = i < h.inputs ? *inputs[i] : *outputs[i - h.inputs];
    const auto* const b = static_cast<const Buffer*>(at.buffer);
    if (b == nullptr || at.offset > b->size || b->size - at.offset < p->blob.boundary[i].bytes)
      return VIREO_INVALID_ARGUMENT;
  }
  p->device->bind(p, inputs, outputs);
  return VIREO_OK;
}

}  // namespace

bool memory_kind(const char* text, MemoryKind* out) {
  if (std::strcmp(text, "host") == 0) {
    *out = MemoryKind::kHosts;
  } else if (std::strcmp(text, "own") == 0) {
    *out = MemoryKind::kOwn;
  } else if (std::strcmp(text, "import") == 0) {
    *out = MemoryKind::kImported;
  } else {
    return false;
  }
  return true;
}

void add_memory(vireo_delegate* table) {
  table->bind = bind;
  table->buffer_create = buffer_create;
  table->buffer_import = buffer_import;
  table->buffer_export = buffer_export;
  table->buffer_release = buffer_release;
  table->buffer_write = buffer_write;
  table->buffer_read = buffer_read;
}

}  // namespace vireo::npu

#include "runtime/memory/device_packs.h"

#include <new>

namespace vireo {

// A constant, or a buffer: then `what` has no bytes.
struct DevicePacks::Entry {
  Entry* next = nullptr;
  DeviceLife device;
  vireo_packed what = {};
  vireo_place at = VIREO_PLACE_INIT;
};

bool DevicePacks::find(const DeviceLife& device, const vireo_packed& what, vireo_place* out) const {
  for (const Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (e->what.bytes == 0 || !e->device.is(device) || !same_pack(e->what, what)) continue;
    *out = e->at;
    return true;
  }
  return false;
}

void* DevicePacks::reserve(const vireo_allocator& allocator) {
  return allocator.allocate(allocator.context, sizeof(Entry), alignof(Entry));
}

void DevicePacks::drop(const vireo_allocator& allocator, void* room) {
  if (room != nullptr) allocator.release(allocator.context, room, sizeof(Entry), alignof(Entry));
}

void DevicePacks::add(Entry* entry) {
  entry->next = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&first_, &entry->next, entry, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

bool DevicePacks::add(const vireo_allocator& allocator, const DeviceLife& device, const vireo_packed& what,
                      const vireo_place& at) {
  void* const room = reserve(allocator);
  if (room == nullptr) return false;
  auto* const entry = new (room) Entry();
  entry->device = device;
  entry->what = what;
  entry->at = at;
  add(entry);
  return true;
}

void DevicePacks::keep(void* room, const DeviceLife& device, void* buffer) {
  auto* const entry = new (room) Entry();
  entry->device = device;
  entry->at.buffer = buffer;
  add(entry);
}

void DevicePacks::release(const vireo_allocator& allocator) {
  while (first_ != nullptr) {
    Entry* const e = first_;
    first_ = e->next;
    if (e->what.bytes == 0) e->device.delegate->buffer_release(e->device.handle, e->at.buffer);
    e->~Entry();
    drop(allocator, e);
  }
}

}  // namespace vireo

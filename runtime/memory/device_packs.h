// Constants in layouts of delegates' own that lie on a device (VIREO_PACKED_ON_DEVICE): written once, shared by all
// sessions of a model.
//
// A session that is created takes one buffer a device for all that is not there yet, and hands it over. Weighed against
// it: a buffer for each constant. Devices limit the number of allocations (Vulkan promises 4,096), and a language model
// has hundreds of matrices.
#ifndef VIREO_RUNTIME_MEMORY_DEVICE_PACKS_H_
#define VIREO_RUNTIME_MEMORY_DEVICE_PACKS_H_

#include <stdint.h>

#include "runtime/memory/packs.h"

namespace vireo {

// A device as long as it is not lost: what lay on it before a reset is gone.
struct DeviceLife {
  const vireo_delegate* delegate = nullptr;
  void* handle = nullptr;
  uint32_t resets = 0;

  bool is(const DeviceLife& other) const {
    return handle == other.handle && delegate == other.delegate && resets == other.resets;
  }
};

// Lists that only grow while the model lives, as Packs.
class DevicePacks {
 public:
  // Whether the constant lies on the device, and where.
  bool find(const DeviceLife& device, const vireo_packed& what, vireo_place* out) const;
  // Makes known that it lies there. Of two sessions that do so at once each keeps its own copy. False where the
  // allocator has no memory.
  bool add(const vireo_allocator& allocator, const DeviceLife& device, const vireo_packed& what, const vireo_place& at);
  // Hands over a buffer that constants lie in: it is released with the model. `room` comes from reserve(), so that this
  // cannot fail.
  void keep(void* room, const DeviceLife& device, void* buffer);
  static void* reserve(const vireo_allocator& allocator);  // null: no memory
  static void drop(const vireo_allocator& allocator, void* room);

  void release(const vireo_allocator& allocator);

  // What one takes in a buffer.
  static uint64_t bytes_of(const vireo_packed& what) {
    constexpr uint64_t kAlignment = VIREO_BUFFER_ALIGNMENT;
    return (what.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  struct Entry;
  void add(Entry* entry);
  Entry* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_DEVICE_PACKS_H_

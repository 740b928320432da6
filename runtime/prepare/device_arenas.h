// Memory of devices' own, planned: the arena of each device that has parts, and what the host's arena is spared.
// recover/device_memory.h has the idea.
#ifndef VIREO_RUNTIME_PREPARE_DEVICE_ARENAS_H_
#define VIREO_RUNTIME_PREPARE_DEVICE_ARENAS_H_

#include "runtime/prepare/arena_plan.h"

namespace vireo {

// A device's arena, of the layout.
struct DeviceArena {
  DeviceArena* next = nullptr;
  size_t block_bytes = 0;  // of this struct and its list
  uint8_t device = kNoDevice;
  // Of the values. Their places count through all buffers: buffer k holds those from k most_buffer_bytes() on, and none
  // lies in two.
  uint64_t bytes = 0;
  uint64_t scratch_bytes = 0;  // the most of a part
  uint64_t state_bytes = 0;    // of all parts
  uint64_t packed_bytes = 0;  // of constants that lie there, and of those that no session has put there: packed_bytes.h
  uint64_t missing_bytes = 0;
  uint64_t* at = nullptr;  // of the tensors of all subgraphs, one after the other; kNoOffset: they do not lie there
};

inline bool has_memory(const Device& device) { return device.delegate->bind != nullptr; }
// Of one buffer of the device: a multiple of VIREO_BUFFER_ALIGNMENT, or no limit.
inline uint64_t most_buffer_bytes(const Device& device) {
  const uint64_t told = device.info.max_buffer_bytes == 0 ? UINT64_MAX : device.info.max_buffer_bytes;
  const uint64_t most = told / VIREO_BUFFER_ALIGNMENT * VIREO_BUFFER_ALIGNMENT;
  return most == 0 ? VIREO_BUFFER_ALIGNMENT : most;
}
inline uint32_t value_buffers(const DeviceArena& arena, const Device& device) {
  const uint64_t most = most_buffer_bytes(device);
  return arena.bytes <= most ? 1 : static_cast<uint32_t>((arena.bytes + most - 1) / most);
}
// Whether any part of the layout works on a device's own memory.
bool uses_device_memory(const SessionLayout& layout);
// Of a device that takes it, the host's own arena is imported: it begins and ends so.
constexpr size_t kImportAlignment = 4096;
bool shares_arena(const SessionLayout& layout);
// The same of one device: it works in the host's arena where all values of its parts have one place there.
bool shares_arena(const SessionLayout& layout, uint8_t device);
// The output that is input `input` of the next run, where nothing else has to do with the two values, else -1. On a
// device's arena that has both, they have places of one size for good, which they exchange after a run.
int32_t staying_output(const Program& program, uint32_t input);
// Plans the arena of each device that has parts. Parts are known, the host's plan is made.
Status plan_device_arenas(SessionLayout& layout, const PlanWorkspace& w, Error* error);
void free_device_arenas(SessionLayout& layout);
// Bytes of all of them.
uint64_t device_bytes(const SessionLayout& layout);
// Whether somebody on the host may want to see what a value holds: it has few elements and may be a list of axes,
// extents or scales.
inline bool may_steer(const TensorType& type) {
  return type.shape.rank <= 1 && element_count(type.shape) <= VIREO_STEERING_ELEMENTS;
}
// Of subgraph `index`, the values that never leave a device get no memory of the host's, where nobody could fall back
// to it and nobody wants to see them. `w.tensors` and `w.nodes` are filled in.
void spare_host_memory(const SessionLayout& layout, uint32_t index, const PlanWorkspace& w);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_DEVICE_ARENAS_H_

// Memory of the device's own, as a card behind a bus has it, or the host's as an import: what VIREO_NPU_MEMORY chooses.
//
// A buffer is an anonymous file that is mapped, so its descriptor can be handed to others, as a dma-buf is. The machine
// reads and writes it alone; the host goes through buffer_write and buffer_read. A copy that would touch what a queued
// part still reads or writes is refused as busy, and the host waits: a queue of copies would need memory during a run.
#ifndef VIREO_DELEGATES_NPU_DRIVER_MEMORY_H_
#define VIREO_DELEGATES_NPU_DRIVER_MEMORY_H_

#include "vireo/delegate.h"

namespace vireo::npu {

// Of the device's own, for what does not fit its local one.
constexpr uint64_t kDeviceBytes = uint64_t{256} << 20;

enum class MemoryKind : uint8_t { kHosts, kOwn, kImported };
// "host", "own", "import"; false for other texts.
bool memory_kind(const char* text, MemoryKind* out);

struct Buffer {
  uint8_t* bytes = nullptr;
  uint64_t size = 0;
  int file = -1;           // that is mapped; -1: the host's memory
  void* mapped = nullptr;  // from a page's begin on
  uint64_t mapped_size = 0;
  bool counted = false;  // as the device's memory
};

// Adds bind and the buffers' functions to a driver's table.
void add_memory(vireo_delegate* table);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_MEMORY_H_

#include "converter/firmware/trace_dump.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "delegates/mcu/plan/vireo_mcu_trace.h"

namespace vireo::firmware {

bool read_trace(const std::vector<uint8_t>& bytes, std::vector<TracedLayer>* layers) {
  constexpr size_t kHead = offsetof(vireo_mcu_trace_ring, ring);
  vireo_mcu_trace_ring head;
  if (bytes.size() < kHead) return false;
  std::memcpy(&head, bytes.data(), kHead);
  if (head.magic != VIREO_MCU_TRACE_MAGIC || head.entries == 0 ||
      head.entries > (bytes.size() - kHead) / sizeof(vireo_mcu_trace_entry))
    return false;
  const uint32_t held = std::min(head.count, head.entries);
  uint32_t before = head.begun;
  for (uint32_t i = 0; i < held; ++i) {
    vireo_mcu_trace_entry e;
    std::memcpy(&e, bytes.data() + kHead + (head.count - held + i) % head.entries * sizeof e, sizeof e);
    layers->push_back({e.model, e.record, e.node, e.hash, e.clock - before});
    before = e.clock;
  }
  return true;
}

}  // namespace vireo::firmware

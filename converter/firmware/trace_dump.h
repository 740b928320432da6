// What `vireo_mcu_trace` held in a microcontroller's RAM (delegates/mcu/plan/vireo_mcu_trace.h), from its bytes.
#ifndef VIREO_CONVERTER_FIRMWARE_TRACE_DUMP_H_
#define VIREO_CONVERTER_FIRMWARE_TRACE_DUMP_H_

#include <cstdint>
#include <vector>

namespace vireo::firmware {

struct TracedLayer {
  uint32_t model = 0, record = 0, node = 0, hash = 0;
  uint32_t ticks = 0;  // since the layer before it ended, by the board's clock
};

// The ring, little-endian; `bytes` may go on behind it. False: that is none. Layers: in the order in which they ended.
bool read_trace(const std::vector<uint8_t>& bytes, std::vector<TracedLayer>* layers);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_TRACE_DUMP_H_

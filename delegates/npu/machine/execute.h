// What a command does to memory. The command is verified; memory has the sizes it was verified for.
#ifndef VIREO_DELEGATES_NPU_MACHINE_EXECUTE_H_
#define VIREO_DELEGATES_NPU_MACHINE_EXECUTE_H_

#include "delegates/npu/machine/isa.h"

namespace vireo::npu {

struct Memory {
  uint8_t* sram = nullptr;
  uint8_t* sums = nullptr;  // 4 bytes for each sum that the matrix engine keeps
  const uint8_t* constants = nullptr;
  uint8_t* tensors = nullptr;
  uint8_t* const* values = nullptr;

  uint8_t* writable(uint32_t region) const { return region == kTensors ? tensors : values[region - kValues]; }
  const uint8_t* at(uint32_t region) const { return region == kConstants ? constants : writable(region); }
};

// false: packed weights or a table of places hold what cannot be.
bool execute(const Command& command, const Memory& memory);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_EXECUTE_H_

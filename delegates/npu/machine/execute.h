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
};

// false: packed weights or a table of places hold what cannot be.
bool execute(const Command& command, const Memory& memory);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_EXECUTE_H_

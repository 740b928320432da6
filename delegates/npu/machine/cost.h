// What one command takes when nothing else runs: cycles, traffic, and where in local memory it reads and writes.
#ifndef VIREO_DELEGATES_NPU_MACHINE_COST_H_
#define VIREO_DELEGATES_NPU_MACHINE_COST_H_

#include "delegates/npu/machine/config.h"
#include "delegates/npu/machine/isa.h"

namespace vireo::npu {

// Bytes [begin, end) of local memory, of which `traffic` (some of them often) pass the ports.
struct Extent {
  uint64_t begin = 0, end = 0;
  uint64_t traffic = 0;
  bool written = false;
};
constexpr int kMaxExtents = 8;  // four operands, each of which may go round its ring

// The same of memory outside.
struct Outside {
  uint64_t begin = 0, end = 0;
  uint32_t region = 0;
  bool used = false, written = false;
};

struct Cost {
  uint64_t cycles = 0;      // of the unit, behind the latency
  uint64_t latency = 0;     // before the first cycle; overlaps with commands of the same queue
  uint64_t dram_bytes = 0;  // whole bursts
  uint64_t macs = 0;        // products of the layer's formula
  uint64_t vector_ops = 0, look_ups = 0;
  Extent extent[kMaxExtents];
  int extents = 0;
  Outside outside;
};

// Fields as the verifier wants them: any others give numbers without meaning, but nothing worse.
Cost cost_of(const MachineConfig& config, const Command& command);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_COST_H_

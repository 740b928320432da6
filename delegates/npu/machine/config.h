// The numbers of one machine. All are in this struct, so that other sizes can be tried; MACHINE.md says why these.
#ifndef VIREO_DELEGATES_NPU_MACHINE_CONFIG_H_
#define VIREO_DELEGATES_NPU_MACHINE_CONFIG_H_

#include <stdint.h>

namespace vireo::npu {

constexpr uint32_t kMaxBanks = 32;

struct MachineConfig {
  uint32_t clock_mhz = 1000;

  // Matrix engine: `array_out` output channels by `array_in` positions of the reduction, one product each a cycle.
  uint32_t array_out = 32;
  uint32_t array_in = 32;
  uint32_t accumulator_pixels = 512;  // pixels whose sums of array_out channels the engine keeps
  uint32_t matrix_fill = 24;          // cycles from the first operand to the first code

  // Vector unit and its tables.
  uint32_t vector_lanes = 64;   // 8-bit elements a cycle; 16-bit ones take two lanes
  uint32_t table_lanes = 32;    // look-ups a cycle
  uint32_t divide_cycles = 32;  // from the first operands to the first quotient
  uint32_t dividers = 4;        // quotients of float32 a cycle: as many as memory outside brings numbers
  uint32_t vector_fill = 16;

  // Local memory: `banks` regions that follow each other, each with one port of `bank_width` bytes a cycle.
  uint32_t sram_bytes = 512 * 1024;
  uint32_t banks = 16;
  uint32_t bank_width = 128;

  // DMA and what is behind it.
  uint32_t dram_bytes_per_cycle = 16;
  uint32_t dram_latency = 200;     // cycles from a request to its first byte
  uint32_t dram_burst = 64;        // bytes; a part of a burst costs all of it
  uint32_t dma_outstanding = 4;    // transfers of a queue whose latencies overlap
  uint32_t unpack_per_cycle = 32;  // bytes of weights that the decoder gives a cycle

  // Energy in femtojoule.
  uint32_t fj_mac8 = 120;
  uint32_t fj_vector_op = 250;
  uint32_t fj_table = 400;
  uint32_t fj_sram_byte = 600;
  uint32_t fj_dram_byte = 40000;
  uint32_t fj_idle_cycle = 60000;  // leakage and clock tree of the whole

  uint32_t watchdog_cycles = 8000000;  // with nothing finished in so many, the machine counts as hung
};

// Whether every number is in the range that the model is written for.
inline bool config_ok(const MachineConfig& c) {
  return c.clock_mhz > 0 && c.array_out > 0 && c.array_out <= 256 && c.array_in > 0 && c.array_in <= 256 &&
         c.accumulator_pixels > 0 && c.accumulator_pixels <= 65536 && c.vector_lanes > 0 && c.table_lanes > 0 &&
         c.dividers > 0 && c.banks > 0 && c.banks <= kMaxBanks && c.bank_width > 0 && c.sram_bytes > 0 &&
         c.sram_bytes <= (1u << 30) && c.sram_bytes % c.banks == 0 && c.sram_bytes % 4 == 0 &&
         c.dram_bytes_per_cycle > 0 && c.dram_burst > 0 && c.dma_outstanding > 0 && c.dma_outstanding <= 16 &&
         c.unpack_per_cycle > 0 && c.watchdog_cycles > 0;
}

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_CONFIG_H_

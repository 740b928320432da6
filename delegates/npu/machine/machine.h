// The machine: local memory, four queues that run beside each other, and their clock.
//
// Queues. Each runs its commands in order, one at a time; a command starts when the waits it names are met:
// wait_<queue> = n means that this queue has finished n commands of the stream. So a stream needs no semaphores but
// four counters. Time. Every running command advances at the rate that memory leaves it: where the ports of a bank, or
// memory outside, are asked for more than they give in a cycle, all that use them slow down alike. Time goes from event
// to event (a command ends, the first byte of a transfer arrives), not by a formula over commands. Data. A command's
// effect takes place when it ends. The bytes that it works on are the machine's own local memory and the regions it
// was given.
#ifndef VIREO_DELEGATES_NPU_MACHINE_MACHINE_H_
#define VIREO_DELEGATES_NPU_MACHINE_MACHINE_H_

#include "delegates/npu/machine/config.h"
#include "delegates/npu/machine/execute.h"
#include "delegates/npu/machine/isa.h"
#include "delegates/npu/machine/verify.h"

namespace vireo::npu {

// Faults to inject; kNoCommand: not this one. Commands are counted in the order of the stream.
struct Faults {
  uint32_t hang_at = kNoCommand;     // never ends
  uint32_t corrupt_at = kNoCommand;  // the highest byte of its result's first element gets corrupt_mask xored in
  uint8_t corrupt_mask = 1;
  uint32_t lost_at = kNoCommand;  // the device goes away when it starts
  bool out_of_memory = false;     // no memory outside for the next stream
};

struct Counters {
  uint64_t cycles = 0;
  uint64_t busy[kQueues] = {};  // cycles in which the queue's unit worked
  uint64_t macs = 0, vector_ops = 0, look_ups = 0;
  uint64_t dram_read = 0, dram_written = 0;  // whole bursts
  uint64_t sram_bytes = 0;
  uint64_t stalled = 0;  // unit cycles lost to others at a bank or at memory outside
  uint64_t energy_pj = 0;
  uint32_t commands[kQueues] = {};
};

// Cycles of a layer are those in which its command was the oldest at work: they add up to the whole. `busy` counts the
// matrix and vector units' own.
struct LayerCounters {
  uint64_t cycles, busy_matrix, busy_vector, macs, dram_read, dram_written, energy_pj;
};

// Called at the end of every command, for timelines.
struct Trace {
  void (*end)(void* context, uint32_t command, uint64_t start, uint64_t stop) = nullptr;
  void* context = nullptr;
};

// Asked before every command takes effect; true: the stream ends there, as streams may be of any length.
struct Stop {
  bool (*asked)(void* context) = nullptr;
  void* context = nullptr;
};

class Machine {
 public:
  // Local memory, and the sums that the matrix engine keeps.
  static constexpr size_t memory_bytes(const MachineConfig& config) {
    return config.sram_bytes + size_t{4} * config.accumulator_pixels * config.array_out;
  }
  // `sram` are memory_bytes(config) bytes that the machine keeps using; null: time alone is modelled, no data.
  Machine(const MachineConfig& config, uint8_t* sram) : config_(config), sram_(sram) {}

  Faults faults;
  Trace trace;
  Stop stop;

  // Runs a verified stream. `layers` (may be null) has an entry for every layer number below `layer_count`; others are
  // not counted. constants, tensors and each of `values` have the sizes of the stream's header. On a fault, *fault says
  // where.
  Status run(const Stream& stream, const uint8_t* constants, uint8_t* tensors, Counters* counters,
             LayerCounters* layers, uint32_t layer_count, Fault* fault, uint8_t* const* values = nullptr);

  // What lies in local memory is lost as well.
  void reset() { lost_ = false; }
  bool lost() const { return lost_; }
  const MachineConfig& config() const { return config_; }

 private:
  MachineConfig config_;
  uint8_t* sram_;
  bool lost_ = false;
};

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_MACHINE_H_

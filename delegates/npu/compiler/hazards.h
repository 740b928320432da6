// Which commands a command must wait for: whoever last wrote what it reads or writes, and whoever has read what it
// writes.
#ifndef VIREO_DELEGATES_NPU_COMPILER_HAZARDS_H_
#define VIREO_DELEGATES_NPU_COMPILER_HAZARDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "delegates/npu/machine/config.h"
#include "delegates/npu/machine/isa.h"

namespace vireo::npu {

class Hazards {
 public:
  explicit Hazards(const MachineConfig& config) : config_(config) {}

  // Sets the waits of `command`, the next of the program.
  void add(Command* command);

 private:
  struct Span {
    uint64_t end = 0;
    int writer = -1;           // queue; -1: nobody
    uint32_t written = 0;      // commands of its queue that are finished when it is
    uint32_t read[kQueues]{};  // the same of the last reader on each queue; 0: none
  };
  using Spans = std::map<uint64_t, Span>;  // by begin

  static void split(Spans* spans, uint64_t at);
  void access(Spans* spans, uint64_t begin, uint64_t end, bool write, uint32_t queue, uint32_t number, uint32_t* waits);

  const MachineConfig& config_;
  Spans sram_;
  std::map<uint32_t, Spans> outside_;  // by region
  uint32_t count_[kQueues] = {};
};

// What commands do to each other that no wait orders: the first such pair, as text; empty where there is none. For
// streams that this compiler did not make, and for its tests.
std::string find_race(const MachineConfig& config, const std::vector<Command>& commands);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_HAZARDS_H_

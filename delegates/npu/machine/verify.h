// Whether a command stream can run: every field in range, every address inside memory, no wait that cannot end.
#ifndef VIREO_DELEGATES_NPU_MACHINE_VERIFY_H_
#define VIREO_DELEGATES_NPU_MACHINE_VERIFY_H_

#include "delegates/npu/machine/config.h"
#include "delegates/npu/machine/isa.h"

namespace vireo::npu {

enum class Status : uint32_t {
  kOk = 0,
  kInvalidArgument,  // null where memory is needed, or a configuration out of range
  kBadStream,        // refused before it ran
  kBadData,          // packed weights or tables that do not decode
  kHung,             // nothing finished within the watchdog's time
  kLost,             // the device is gone: reset it
  kOutOfMemory,      // less memory than the stream needs
  kStopped,          // it was asked to end before the stream did
};
const char* status_name(Status status);

constexpr uint32_t kNoCommand = 0xffffffffu;

struct Fault {
  uint32_t command = kNoCommand;  // kNoCommand: the stream as a whole
  const char* reason = "";
};

// `bytes` at `data` (aligned to 4) are a stream for `config` and memory of these sizes. On success *stream points into
// it.
Status verify_stream(const MachineConfig& config, const void* data, size_t bytes, Stream* stream, Fault* fault);

// One command alone, with the regions of `memory`; null when it is right, else what is not.
const char* verify_command(const MachineConfig& config, const Command& command, const StreamHeader& memory);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_VERIFY_H_

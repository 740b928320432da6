// One opened driver, and what of its table is written elsewhere (compile.cc).
#ifndef VIREO_DELEGATES_NPU_DRIVER_INSTANCE_H_
#define VIREO_DELEGATES_NPU_DRIVER_INSTANCE_H_

#include "delegates/npu/compiler/compiler.h"
#include "delegates/npu/driver/device.h"
#include "delegates/npu/driver/reports.h"
#include "vireo/delegate.h"

namespace vireo::npu {

constexpr double kTransfer = 8e9;   // bytes a second, where its memory is its own: four lanes of PCIe 4
constexpr double kLaunchNs = 2000;  // a doorbell, an interrupt, and two looks at a list

// What `call` gives. What it lacks memory or a thread for must not leave through a table in C.
template <class Call>
vireo_status guarded(const Call& call) {
  try {
    return call();
  } catch (...) {
    return VIREO_OUT_OF_ARENA;
  }
}

struct Driver {
  vireo_delegate table;  // empty in the one that is linked in
  vireo_host host;
  MachineConfig config;
  CompileOptions options;
  uint8_t* sram;
  Device* device;
  MemoryKind memory;
  Reports reports;
  char detail[96];
};

vireo_status claim(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims);
vireo_status compile_part(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                          const vireo_blob* blob, vireo_compiled* out);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_INSTANCE_H_

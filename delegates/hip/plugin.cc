// AMD's cards through HIP, as a plug-in.
#include "delegates/hip/system.h"

extern "C" __attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host,
                                                                                   const vireo_delegate** out) {
  return vireo::gpu::open_table("hip", vireo::hip::find_cards, abi, host, out);
}

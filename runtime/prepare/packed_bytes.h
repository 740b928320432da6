// What a session's packed constants take.
#ifndef VIREO_RUNTIME_PREPARE_PACKED_BYTES_H_
#define VIREO_RUNTIME_PREPARE_PACKED_BYTES_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// Bytes of all constants that parts read packed, each counted once: in memory, and mapped from files. Those that lie on
// devices are counted in the layout's arenas.
Status packed_bytes(const SessionLayout& layout, const vireo_host& host, size_t* held, size_t* mapped, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_PACKED_BYTES_H_

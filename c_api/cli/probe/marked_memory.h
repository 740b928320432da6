// An allocator for runtimes under test: what it hands out is filled, so that a value which a device never wrote is no
// right answer that an earlier session left there.
#ifndef VIREO_C_API_CLI_PROBE_MARKED_MEMORY_H_
#define VIREO_C_API_CLI_PROBE_MARKED_MEMORY_H_

#include <stddef.h>

#include "vireo/vireo.h"

namespace vireo::cli {

// `bytes` of ones in each bit, so that floats are no numbers; NULL where there is no memory. std::free() gives it back.
void* allocate_marked(size_t bytes, size_t alignment);

// The same as an allocator without a context. It lives as long as the program.
const vireo_allocator* marked_memory();

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PROBE_MARKED_MEMORY_H_

// Memory of this process, as the system reports it; 0 where it does not.
#ifndef VIREO_C_API_CLI_PROCESS_MEMORY_H_
#define VIREO_C_API_CLI_PROCESS_MEMORY_H_

#include <stdint.h>

namespace vireo::cli {

uint64_t resident_bytes();
uint64_t peak_resident_bytes();  // since the process began, or restart_peak_resident()

// From here on, blocks of a quarter MiB and more are the system's, which has them back at once: what the process holds
// is what it uses. Costs time where such blocks come and go often.
void hold_what_is_used();
// Gives back to the system what is only kept to allocate from.
void trim_memory();
void restart_peak_resident();  // after trim_memory()

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PROCESS_MEMORY_H_

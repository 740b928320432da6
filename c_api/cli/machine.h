// What a measured time depends on besides what was run, and the file in the user's cache that keeps it.
#ifndef VIREO_C_API_CLI_MACHINE_H_
#define VIREO_C_API_CLI_MACHINE_H_

#include <string>

namespace vireo::cli {

std::string cpu_text();      // of the first core, as the kernel names it; "" where it does not
std::string version_text();  // "vireo 0.1.0"
double memory_here();        // bytes that the machine, or the group this process is in, has
double memory_allowed();     // bytes that this process may take: of those, what its limits leave

// In the user's cache (file.h), folder `what`: named after a hash of `fingerprint`.
std::string cache_file(const std::string& what, const std::string& fingerprint);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_MACHINE_H_

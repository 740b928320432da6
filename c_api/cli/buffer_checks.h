// What `vireo delegate-test` asks of a device with memory of its own.
#ifndef VIREO_C_API_CLI_BUFFER_CHECKS_H_
#define VIREO_C_API_CLI_BUFFER_CHECKS_H_

#include <string>

#include "c_api/cli/probe/known.h"

namespace vireo::cli {

// Each returns what it did, "left: ..." where the device has no buffers, and throws Wrong. `index`: among the runtime's
// devices.

// Bytes that are written come back, at any offset and length, in several buffers at once; too much is refused.
std::string check_buffers(vireo_runtime* runtime, uint32_t index);
// Handles that it gives stand for the same bytes, and it takes them back.
std::string check_handles(vireo_runtime* runtime, uint32_t index);
// Inputs and outputs of a session that lie in a buffer: the answers are `want`.
std::string check_bound(vireo_runtime* runtime, uint32_t index, const KnownModel& model, const Values& want);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_BUFFER_CHECKS_H_

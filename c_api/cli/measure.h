// What devices do, measured with sessions over little models (chain_model.h): `vireo devices --measure`.
#ifndef VIREO_C_API_CLI_MEASURE_H_
#define VIREO_C_API_CLI_MEASURE_H_

#include "vireo/vireo.h"

namespace vireo::cli {

// Measures every device that is no emulation and keeps what it found (speeds.h). A second or two a device. Throws
// Failure where a session fails that should run, or where the file cannot be written.
void measure_devices(vireo_runtime* runtime);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_MEASURE_H_

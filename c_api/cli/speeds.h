// What devices were measured to do, kept beside what they declare.
//
// A file a device in the user's cache ($XDG_CACHE_HOME/vireo/devices, else ~/.cache/vireo/devices), named after its
// fingerprint: name, delegate, detail, driver, the CPU beside it, cores, version of the library. JSON: {"vireo_device":
// 2, "device": the fingerprint, "speeds": {"f32_rate", ...}}. What was measured for another fingerprint is not used.
#ifndef VIREO_C_API_CLI_SPEEDS_H_
#define VIREO_C_API_CLI_SPEEDS_H_

#include <optional>
#include <string>

#include "sdk/json/json.h"
#include "vireo/vireo.h"

namespace vireo::cli {

// As in vireo_device_info; 0: not known, or the device does not compute in that type. A launch of 0 is one, and so is a
// copy.
struct Speeds {
  double f32_rate = 0, f16_rate = 0, i8_rate = 0;
  double bandwidth = 0, transfer = 0;
  double launch_ns = 0;
  double transfer_ns = 0;
};

std::string device_fingerprint(const vireo_device_info& info);

// None where nothing was measured; a file that cannot be understood is named on standard error and not used.
std::optional<Speeds> measured_speeds(const vireo_device_info& info);
void keep_speeds(const vireo_device_info& info, const Speeds& speeds);  // throws Failure where it cannot be written
Speeds declared_speeds(const vireo_device_info& info);

// Gives the runtime the measured numbers in place of the declared ones, where there are such.
void use_measured_speeds(vireo_runtime* runtime);

// For `vireo devices`: "declared" and "measured" (null where nothing was), and the same as a table of all devices; ""
// where nothing is known of any.
void add_speeds(const vireo_device_info& info, Json* device);
std::string speeds_table(const vireo_runtime* runtime);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_SPEEDS_H_

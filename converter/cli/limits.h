// What a conversion may take of the machine, so that a file made to be expensive ends in an error.
#ifndef VIREO_CONVERTER_CLI_LIMITS_H_
#define VIREO_CONVERTER_CLI_LIMITS_H_

#include <string>

#include "c_api/cli/command.h"

namespace vireo::cli {

struct Limits {
  double memory_gib = -1;  // below 0: three quarters of what the machine, or the group this process is in, has
  double seconds = 3600;   // 0, of both: without a limit
};

// --max-memory and --max-seconds.
void add_limits(Command verb, Limits* limits);

// From here on, for the whole process. More memory is std::bad_alloc; more time ends the process with status 1 and a
// message about `model`, also as an object for programs where `json` says so; it leaves nothing behind
// (sdk/files/whole_file.h).
void apply_limits(const Limits& limits, const std::string& model, bool json);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_LIMITS_H_

// Sounds as model inputs.
#ifndef VIREO_C_API_CLI_SOUND_H_
#define VIREO_C_API_CLI_SOUND_H_

#include <string>

#include "c_api/cli/array.h"

namespace vireo::cli {

// Reads a WAV file into the input's type and shape: samples fill the only dimension that is not 1 (or the last open
// one). Several channels are averaged. With a meaning of kind audio its sample rate must be the file's and its range,
// mean and std hold; without one values go in as -1..1, integer inputs get 16-bit samples unscaled. `assumed` gets one
// line that says what was done.
Array read_sound(const std::string& path, const vireo_value_info& info, const vireo_meaning& meaning,
                 std::string* assumed);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_SOUND_H_

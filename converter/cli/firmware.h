// The folder that --emit firmware writes: the flat plan of a target as C, with a self-test whose results are known.
#ifndef VIREO_CONVERTER_CLI_FIRMWARE_H_
#define VIREO_CONVERTER_CLI_FIRMWARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/firmware/flat_plan.h"
#include "converter/target/profile.h"

namespace vireo::cli {

// What --emit writes, and where.
struct Emission {
  std::string kind, folder;  // kind "": nothing
  bool add = false;          // to the models that the folder has
};

// The target that --emit writes for. Throws Failure if no target is a microcontroller or several are, if `kind` is not
// known, and if the folder holds something else.
const target::Profile& firmware_profile(const Emission& emission, const std::vector<target::Profile>& profiles);

// `file`: the .vireo file's bytes, whose session computes what the self-test has to print; `plan` is compared with it
// first. `model`, `output`: files that the model is named after.
void write_firmware(const Emission& emission, const std::string& model, const std::string& output,
                    const std::vector<uint8_t>& file, const firmware::FlatPlan& plan, const target::Profile& profile);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_FIRMWARE_H_

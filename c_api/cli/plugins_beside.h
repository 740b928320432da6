// Plug-ins that lie beside the program: a device that a call names is found without a path.
#ifndef VIREO_C_API_CLI_PLUGINS_BESIDE_H_
#define VIREO_C_API_CLI_PLUGINS_BESIDE_H_

#include <filesystem>
#include <string>
#include <vector>

namespace vireo::cli {

// For each device NAME (NAME1, NAME2 ...) after --device or --split in `words`, the file libvireo_NAME.so, if it is in
// ../plugins or ../lib/vireo/plugins of the program's folder; with colons between them, as VIREO_PLUGINS has it. No
// other name of a file is made from what the words say.
std::string plugins_beside(const std::vector<std::string>& words, const std::filesystem::path& program);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PLUGINS_BESIDE_H_

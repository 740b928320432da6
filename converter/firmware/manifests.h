// What makes a folder a library of the systems that firmware is built with: PlatformIO, Zephyr, Arduino, CMSIS-Pack.
#ifndef VIREO_CONVERTER_FIRMWARE_MANIFESTS_H_
#define VIREO_CONVERTER_FIRMWARE_MANIFESTS_H_

#include <string>
#include <vector>

#include "converter/firmware/emit.h"
#include "converter/firmware/templates.h"

namespace vireo::firmware {

struct Library {
  std::string name;                  // a C identifier
  std::string core;                  // of the target's profile
  std::vector<std::string> models;   // their names
  std::vector<std::string> sources;  // all that a build compiles, by their paths in the folder
};
// `words`: those of the folder's other files.
std::vector<File> manifests(const Library& library, Words words);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_MANIFESTS_H_

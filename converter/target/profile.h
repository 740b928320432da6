// What a model is converted for: devices in order of preference, their rates, and what the target can hold.
//
// A profile is a small JSON file that a user writes (README.md beside this file). Nothing in it is guessed: an unknown
// key, a value of another kind or outside its limits is refused with the file, the key and what is allowed.
#ifndef VIREO_CONVERTER_TARGET_PROFILE_H_
#define VIREO_CONVERTER_TARGET_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/target/costs.h"
#include "sdk/base/span.h"
#include "vireo/vireo.h"

namespace vireo::target {

struct ProfileDevice {
  std::string device;                    // by name, or
  std::string delegate;                  // the first of this delegate
  vireo_rates rates = VIREO_RATES_INIT;  // what it does not say stays as the device declares it
  double watts = 0;                      // while it computes; 0: not known
  const std::string& text() const { return device.empty() ? delegate : device; }
};

// Of a microcontroller: how images with flat plans are made for it (converter/firmware).
struct FirmwareProfile {
  std::string core;      // by whose kernels the plan is made; "": the target has no flat plan
  std::string compiler;  // "arm-none-eabi-gcc"
  std::string flags;     // of it, that say what the core is
  std::string board;     // whose startup code the self-test has
  bool strips = true;    // nodes over images may run strip by strip, where that makes the arena smaller
};

struct Profile {
  std::string name, description;
  FirmwareProfile firmware;
  std::vector<ProfileDevice> devices;
  uint64_t arena_bytes = 0, file_bytes = 0;  // at most; 0: any
  uint64_t pointer_bytes = 0;                // of the target's pointers, 4 or 8; 0: as on the converting machine
  uint64_t types = 0;                        // that the target computes in: bit 1 << VIREO_FLOAT32, ...; 0: any
  std::string precision;                     // of --quantize, where the user gives none
  std::vector<std::string> skip;             // passes to leave out
  uint32_t alignment = 64;                   // of segments in the file
  bool pack = true;                          // weights as kernels read them go into the file beside the plain ones
};

// Reads a profile's text; `source` names it in `error`, `precisions` are those that --quantize takes. False on failure.
bool parse_profile(const std::string& text, const std::string& source, const std::vector<std::string>& precisions,
                   Profile* out, std::string* error);

// What kernels of the first of its devices take that has a table; without one, default_costs().
const KernelCosts& costs_of(const Profile& profile);

// The shipped ones, by file name without its ending.
struct ShippedProfile {
  const char* name;
  const char* text;
};
Span<const ShippedProfile> shipped_profiles();

}  // namespace vireo::target

#endif  // VIREO_CONVERTER_TARGET_PROFILE_H_

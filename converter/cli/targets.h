// What a conversion adds for targets: one model, and for each target where its nodes run, weights as its kernels read
// them, and what its devices compile. Sessions are reached through the C API alone.
#ifndef VIREO_CONVERTER_CLI_TARGETS_H_
#define VIREO_CONVERTER_CLI_TARGETS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/app.h"
#include "converter/convert.h"
#include "converter/firmware/flat_plan.h"
#include "converter/target/profile.h"

namespace vireo::cli {

// By name among the shipped ones, or by path (with a / or the ending .json). Throws Failure; two of one name are
// refused.
std::vector<target::Profile> read_profiles(const std::vector<std::string>& names);

// The precision of all targets where the user gives none: throws where they differ. Adds the passes that they leave
// out.
std::string common_precision(const std::vector<target::Profile>& profiles, const std::string& given);

struct TargetOptions {
  std::vector<std::string> shapes, bounds;
  std::string tuning;
};

// What was added for one target, for reports.
struct TargetReport {
  struct Device {
    std::string name;
    size_t nodes = 0, parts = 0;
    double expected_ns = 0;  // by its compiler, or by the profile's rates: of what is known
    size_t nodes_without_time = 0;
    uint64_t bytes_crossing = 0;  // that come from other devices
    double energy_mj = 0;         // by the profile's watts; 0: not known
  };
  // One node that the target has trouble with.
  struct Trouble {
    std::string node, what;
  };
  std::string name;
  std::vector<Device> devices;
  std::vector<std::string> assumed;                // dimensions that nobody gave a size
  std::vector<Trouble> troubles;                   // types that the target does not compute in
  std::vector<std::string> broken;                 // limits, with figures
  std::vector<std::string> refused;                // nodes without a kernel, where all have to have one
  std::string fixes_refused;                       // what would help, where it is known
  std::shared_ptr<const firmware::FlatPlan> plan;  // of a microcontroller, where nothing was refused
  Json nodes = Json::array();
  size_t constants = 0, parts = 0;
  // What arena_bytes counts: a whole "session" of this machine; or, where the target's pointers are of another size and
  // scratch and tables of this machine say nothing of it, the "tensors" of the file's portable plan, or, where it has
  // none, "planned tensors": as this machine's kernels need them; "plan": the arena of a flat plan, to the byte.
  std::string arena_of = "session";
  uint64_t instructions = 0;  // of a run of a flat plan on its core
  uint64_t arena_bytes = 0, packed_bytes = 0, compiled_bytes = 0;
  uint64_t arena_limit = 0, file_bytes = 0, file_limit = 0;  // limits: 0 where the profile has none
};
Json json_of(const TargetReport& report, bool nodes);
std::string text_of(const TargetReport& report);         // whether it fits is the last line
std::string table_of_nodes(const TargetReport& report);  // and why each is not on a device before its own

// The file with what it needs for `profiles`, in place of what it had for others. `name` is the model's, for errors;
// `note` goes into its provenance. Throws Failure for a device that is not here; limits that are broken are in the
// reports alone.
std::vector<uint8_t> with_targets(Span<const uint8_t> file, const std::string& name,
                                  const std::vector<target::Profile>& profiles, const TargetOptions& options,
                                  const std::string& note, std::vector<TargetReport>* reports);
// The target's core by its profile, which has one; throws Failure where that core, or its board, is unknown.
firmware::Core core_of(const target::Profile& profile);
// Throws Failure that has all nodes that a target refuses, or all limits that one breaks.
void check_limits(const std::vector<TargetReport>& reports);

// The shipped profiles, and whether their devices are here.
void list_targets(bool json);
// An option that names profiles, and may be given often; `names` as in Command.
void add_profiles(Command verb, const std::string& names, std::vector<std::string>* profiles,
                  const std::string& description);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_TARGETS_H_

// vireo pack: adds to a file what a target needs (targets.h): weights in the layouts that kernels read and compiled
// parts, so that a load has nothing to pack and nothing to compile.
#include <algorithm>
#include <iostream>

#include "c_api/cli/file.h"
#include "c_api/cli/options.h"
#include "converter/cli/targets.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

struct PackOptions {
  std::string model, output;
  std::vector<std::string> targets;
  TargetOptions with;
  bool json = false;
};

void pack(const PackOptions& options) {
  std::vector<std::string> names = options.targets;
  if (names.empty()) names.push_back("cpu");
  if (std::find(names.begin(), names.end(), "help") != names.end()) return list_targets(options.json);
  const std::vector<target::Profile> profiles = read_profiles(names);
  require_writable(options.output);
  { const Model whole(options.model, 1, {}); }  // a file that verifies, byte for byte
  const std::vector<uint8_t> given = read_file(options.model);
  std::string note = "pack";
  for (const std::string& name : names) note += " --target " + name;
  std::vector<TargetReport> reports;
  const std::vector<uint8_t> out =
      with_targets({given.data(), given.size()}, options.model, profiles, options.with, note, &reports);
  check_limits(reports);
  write_file(options.output, out.data(), out.size());
  size_t constants = 0;
  uint64_t bytes = 0;
  Json assumed = Json::array(), targets = Json::array();
  for (const TargetReport& r : reports) {
    constants += r.constants;
    bytes += r.packed_bytes;
    for (const std::string& line : r.assumed) {
      if (std::find(assumed.begin(), assumed.end(), line) == assumed.end()) assumed.push_back(line);
    }
    targets.push_back(json_of(r, false));
  }
  if (options.json) {
    return print_json({{"model", options.model},
                       {"output", options.output},
                       {"profile", names[0]},
                       {"constants", constants},
                       {"packed_bytes", bytes},
                       {"file_bytes", out.size()},
                       {"assumed", assumed},
                       {"targets", targets}});
  }
  for (const TargetReport& r : reports) std::cout << text_of(r);
  std::cout << "packed " << constants << " constants, " << bytes_text(bytes) << "; wrote " << options.output << ", "
            << bytes_text(out.size()) << "\n";
}

}  // namespace

void add_pack(Command app, Context&) {
  auto options = std::make_shared<PackOptions>();
  Command verb = app.add_verb("pack", "Write weights and compiled parts for a target into a .vireo file");
  verb.add_option("model", options->model, "a .vireo file").required().file({".vireo"});
  verb.add_option("-o,--output", options->output, "the .vireo file to write; may be the model itself")
      .required()
      .file({".vireo"});
  add_profiles(verb, "--target,--profile", &options->targets,
               "a profile by name (vireo targets lists them) or PATH.json; may be repeated; default: cpu, for every "
               "CPU");
  add_tuning(verb, &options->with.tuning);
  add_shapes(verb, &options->with.shapes);
  add_bounds(verb, &options->with.bounds);
  add_json(verb, &options->json, "print the figures as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo pack model.vireo -o packed.vireo\n"
      "  vireo pack bert.vireo -o packed.vireo --shape input_ids=1,128\n"
      "The weights themselves stay in the file: a build whose kernels read another layout uses them.");
  verb.callback([options] { pack(*options); });
}

}  // namespace vireo::cli

// vireo pack: writes the weights into a file in the layouts that kernels read, so that a load has nothing to pack.
#include <CLI/CLI.hpp>
#include <cstring>
#include <iostream>
#include <map>
#include <new>

#include "c_api/tool/file.h"
#include "c_api/tool/inputs.h"
#include "c_api/tool/options.h"
#include "c_api/tool/tuning.h"
#include "converter/emit/packed_file.h"
#include "converter/tool/verbs.h"

namespace vireo::tool {
namespace {

struct Options {
  std::string model, output, profile = "cpu", tuning;
  std::vector<std::string> shapes, bounds;
  bool json = false;
};

// Targets by name. What a kernel reads is chosen by shapes, and no layout depends on the instruction set, so one
// profile serves every CPU; a delegate whose layouts are its device's brings a row of its own.
const std::map<std::string, std::string>& devices_by_profile() {
  static const std::map<std::string, std::string> kRows = {{"cpu", "cpu"}};
  return kRows;
}

// A session uses a model's bytes in place, aligned.
ModelBytes aligned(const std::vector<uint8_t>& bytes) {
  const auto give_back = [](const void* p) { ::operator delete (const_cast<void*>(p), std::align_val_t{64}); };
  void* const memory = ::operator new (bytes.size(), std::align_val_t{64});
  std::memcpy(memory, bytes.data(), bytes.size());
  return {std::shared_ptr<const void>(memory, give_back), memory, bytes.size()};
}

std::vector<uint8_t> rewritten(const Options& options, Span<const uint8_t> file,
                               const std::vector<emit::PackedWeights>& weights, const std::string& note) {
  std::string error;
  std::vector<uint8_t> out = emit::with_packed_weights(file, weights, note, &error);
  if (out.empty()) throw Failure("cannot pack " + options.model + ": " + error, "convert the model again");
  return out;
}

void pack(const Options& options) {
  const auto profile = devices_by_profile().find(options.profile);
  if (profile == devices_by_profile().end()) {
    std::string known;
    for (const auto& [name, device] : devices_by_profile()) known += (known.empty() ? "" : ", ") + name;
    throw Failure("there is no profile \"" + options.profile + "\"", "profiles of this version: " + known);
  }
  require_writable(options.output);
  { const Model whole(options.model, 1, {}); }  // a file that verifies, byte for byte
  const std::vector<uint8_t> given = read_file(options.model);
  // Without what an earlier call packed: a session would read that and pack nothing.
  const std::vector<uint8_t> bare = rewritten(options, {given.data(), given.size()}, {}, "");
  const Model model(aligned(bare), options.model, 1);
  Bounds bounds;
  apply_shapes(model, options.shapes, &bounds);
  apply_bounds(options.bounds, &bounds);
  std::vector<std::string> assumed;
  for (const vireo_value_info& info : model.inputs()) {
    for (const std::string& name : bounds.close(info, 1))
      assumed.push_back("dimension " + name + " of " + info.name + " = 1 (--shape sets it)");
  }
  const Tuning tuning(options.tuning, model.runtime(), 1);
  const Session session =
      make_session(model, {profile->second, 1, false, VIREO_PACKING_ALWAYS, tuning.preference()}, bounds);
  std::vector<emit::PackedWeights> weights;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < vireo_model_packed_count(model.get()); ++i) {
    vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_model_packed(model.get(), i, &copy, &error), error, "read packed weights of " + model.name());
    emit::PackedWeights w = {};
    if (copy.constant == UINT64_MAX || !pack_delegate(copy.delegate, w.name.delegate)) continue;
    w.name.layout = copy.layout;
    w.name.kind = copy.kind;
    w.name.constant = copy.constant;
    for (int k = 0; k < 4; ++k) w.name.sizes[k] = copy.sizes[k];
    w.name.bytes = copy.bytes;
    w.data = copy.data;
    bytes += copy.bytes;
    weights.push_back(w);
  }
  const std::vector<uint8_t> out =
      rewritten(options, {bare.data(), bare.size()}, weights, "pack --profile " + options.profile);
  write_file(options.output, out.data(), out.size());
  if (options.json) {
    return print_json({{"model", options.model},
                       {"output", options.output},
                       {"profile", options.profile},
                       {"constants", weights.size()},
                       {"packed_bytes", bytes},
                       {"file_bytes", out.size()},
                       {"assumed", assumed}});
  }
  for (const std::string& line : assumed) std::cout << line << "\n";
  std::cout << "packed " << weights.size() << " constants, " << bytes_text(bytes) << "; wrote " << options.output
            << ", " << bytes_text(out.size()) << "\n";
}

}  // namespace

void add_pack(CLI::App& app, Context&) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("pack", "Write weights into a .vireo file as kernels read them");
  add_model(verb, false, &options->model);
  verb->add_option("-o,--output", options->output, "the .vireo file to write; may be the model itself")->required();
  verb->add_option("--profile", options->profile, "the target: cpu serves every CPU")->capture_default_str();
  add_tuning(verb, &options->tuning);
  add_shapes(verb, &options->shapes);
  add_bounds(verb, &options->bounds);
  verb->add_flag("--json", options->json, "print the figures as JSON");
  verb->footer(
      "Examples:\n"
      "  vireo pack model.vireo -o packed.vireo\n"
      "  vireo pack bert.vireo -o packed.vireo --shape input_ids=1,128\n"
      "The weights themselves stay in the file: a build whose kernels read another layout uses them.");
  verb->callback([options] { pack(*options); });
}

}  // namespace vireo::tool

// vireo trace: layers as a microcontroller ran them beside those of the workstation that converted the model.
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "c_api/cli/options.h"
#include "converter/cli/verbs.h"
#include "converter/firmware/trace_dump.h"

namespace vireo::cli {
namespace {

struct TraceOptions {
  std::string dump, folder, model;
  bool json = false;
};

std::vector<firmware::TracedLayer> read_dump(const std::string& path) {
  std::vector<firmware::TracedLayer> layers;
  if (!firmware::read_trace(read_file(path), &layers))
    throw Failure(path + " is no dump of vireo_mcu_trace",
                  "write all bytes of that variable: make TRACE=1 test does, or in gdb: dump binary value FILE "
                  "vireo_mcu_trace",
                  {"failed", path, "", "", "", ""});
  return layers;
}

Json read_manifest(const TraceOptions& o) {
  const std::string path = o.folder + "/manifest.json";
  Json manifest = parse_json(read_file(path));
  if (!manifest.is_object() || !manifest.contains("models") || !manifest["models"].is_array())
    throw Failure(path + " is not a manifest of --emit firmware", "name the folder that the image was built from");
  return manifest;
}

// The model whose layers are in the dump last, or the one that was asked for.
const Json& model_of(const TraceOptions& o, const Json& manifest, const std::vector<firmware::TracedLayer>& dump) {
  std::string names;
  for (const Json& model : manifest["models"]) {
    const std::string name = model.value("name", ""), hash = model.value("model_hash", "0");
    const auto number = static_cast<uint32_t>(std::strtoul(hash.c_str(), nullptr, 16));
    if (!o.model.empty() ? name == o.model : !dump.empty() && dump.back().model == number) return model;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!o.model.empty()) throw Failure("the folder has no model \"" + o.model + "\"", "its models: " + names);
  throw Failure("the dump is of another model than " + names, "name the folder that the image was built from");
}

void trace(const TraceOptions& o) {
  const std::vector<firmware::TracedLayer> dump = read_dump(o.dump);
  const Json manifest = read_manifest(o);
  const Json& model = model_of(o, manifest, dump);
  const auto number = static_cast<uint32_t>(std::strtoul(model.value("model_hash", "0").c_str(), nullptr, 16));
  // The last run: each layer's last entry.
  std::map<std::pair<uint32_t, uint32_t>, const firmware::TracedLayer*> found;
  for (const firmware::TracedLayer& layer : dump) {
    if (layer.model == number) found[{layer.record, layer.node}] = &layer;
  }
  Json rows = Json::array();
  std::string first;
  size_t missing = 0;
  std::map<uint32_t, uint32_t> nodes;  // of a segment, so far
  for (const Json& layer : model["layers"]) {
    const uint32_t record = layer.value("record", 0u);
    const uint32_t node = layer.contains("segment") ? nodes[record]++ : 0;
    const auto at = found.find({record, node});
    Json row = {
        {"node", layer.value("node", "")}, {"op", layer.value("op", "")}, {"kernel", layer.value("kernel", "")}};
    row["expected"] = layer.value("trace", 0u);
    if (at == found.end()) {
      ++missing;
      row["result"] = "missing";
    } else {
      row["found"] = at->second->hash;
      row["clock"] = at->second->ticks;
      const bool same = at->second->hash == layer.value("trace", 0u);
      row["result"] = same ? "equal" : "differs";
      // Layers end in the order of the list but for those of a segment, whose inputs come first all the same.
      if (!same && first.empty()) first = layer.value("kernel", "") + " \"" + layer.value("node", "") + "\"";
    }
    rows.push_back(std::move(row));
  }
  if (o.json) {
    const Json out = {
        {"model", model.value("name", "")}, {"first_difference", first}, {"missing", missing}, {"layers", rows}};
    print_json(out);
  } else {
    for (const Json& row : rows)
      std::cout << row.value("result", "") << "\t" << row.value("clock", 0u) << "\t" << row.value("kernel", "") << "\t"
                << row.value("node", "") << "\n";
  }
  if (!first.empty())
    throw Failure("the first layer that differs from this machine's is " + first,
                  "its inputs are equal, so look at the kernel's source, its compiler's flags, or memory that "
                  "something else writes",
                  {"failed", o.dump, "", "", "", ""});
  if (missing == rows.size())
    throw Failure("the dump has no layer of " + model.value("name", "the model"), "run it before the dump is made");
  if (!o.json)
    std::cout << rows.size() - missing << " of " << rows.size() << " layers are equal"
              << (missing != 0 ? "; the ring had no room for the others: VIREO_MCU_TRACE_ENTRIES" : "") << "\n";
}

}  // namespace

void add_trace(Command app, Context&) {
  auto options = std::make_shared<TraceOptions>();
  Command verb =
      app.add_verb("trace", "Compare what a microcontroller ran, layer by layer, with this machine's values");
  verb.add_option("dump", options->dump, "the bytes of vireo_mcu_trace, of the self-test's last case").required();
  verb.add_option("--folder", options->folder, "the folder of --emit firmware that the image was built from")
      .required();
  verb.add_option("--model", options->model, "one of the folder's models; default: the one that ran last");
  add_json(verb, &options->json, "print the layers as JSON");
  verb.footer(
      "Examples:\n"
      "  make clean test TRACE=1 && vireo trace trace_keyword.bin --folder .\n"
      "A layer's line has what its clock counted: cycles, or instructions where the core counts those.");
  verb.callback([options] { trace(*options); });
}

}  // namespace vireo::cli

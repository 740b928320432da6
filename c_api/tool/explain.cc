// vireo explain: which device runs each node, with which kernel, and why no other one.
#include <CLI/CLI.hpp>
#include <iostream>

#include "c_api/tool/app.h"
#include "c_api/tool/inputs.h"
#include "c_api/tool/options.h"
#include "c_api/tool/tuning.h"

namespace vireo::tool {
namespace {

struct Options {
  std::string model, device, tuning, cache;
  std::vector<std::string> shapes;
  bool json = false;
  std::vector<std::string> bounds;
};

void explain(const Options& options, Context& context) {
  const Model model(options.model, 1, context.extensions.convert);
  Bounds bounds;
  apply_shapes(model, options.shapes, &bounds);
  apply_bounds(options.bounds, &bounds);
  std::vector<std::string> assumed;
  for (const vireo_value_info& info : model.inputs()) {
    for (const std::string& name : bounds.close(info, 1))
      assumed.push_back("dimension " + name + " of " + info.name + " = 1 (--shape sets it)");
  }
  const Tuning tuning(options.tuning, model.runtime(), 1);
  const Session session = make_session(
      model, {options.device, 1, false, VIREO_PACKING_DEFAULT, tuning.preference(), options.cache}, bounds);
  const auto text = [](const char* s) { return std::string(s != nullptr ? s : ""); };
  Json nodes = Json::array();
  std::vector<std::vector<std::string>> rows{{"node", "op", "type", "device", "kernel", "reason"}};
  for (const vireo_node_info& n : nodes_of(session.get())) {
    nodes.push_back({{"name", text(n.name)},
                     {"op", text(n.op)},
                     {"dtype", vireo_dtype_text(n.dtype)},
                     {"device", text(n.device)},
                     {"kernel", text(n.kernel)},
                     {"reason", text(n.reason)},
                     {"depth", n.depth}});
    rows.push_back({std::string(2 * n.depth, ' ') + text(n.name), text(n.op), vireo_dtype_text(n.dtype), text(n.device),
                    text(n.kernel), text(n.reason)});
  }
  if (options.json) return print_json({{"model", options.model}, {"assumed", assumed}, {"nodes", nodes}});
  for (const std::string& line : assumed) std::cout << line << "\n";
  std::cout << table_text(rows);
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("explain", "Show which device and kernel runs each node, and why");
  add_model(verb, static_cast<bool>(context.extensions.convert), &options->model);
  add_device(verb, &options->device);
  add_tuning(verb, &options->tuning);
  add_cache(verb, &options->cache);
  add_shapes(verb, &options->shapes);
  add_bounds(verb, &options->bounds);
  verb->add_flag("--json", options->json, "print as JSON");
  verb->footer("Examples:\n  vireo explain model.vireo\n  vireo explain model.vireo --device cpu --json");
  verb->callback([options, &context] { explain(*options, context); });
}

}  // namespace vireo::tool

// vireo explain: which device runs each node, with which kernel, and why no other one.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <iostream>
#include <map>
#include <set>
#include <utility>

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

// Listens to what a session asks of a tuning: which nodes run as they do because it was measured, and what they could
// have run instead.
class Measured {
 public:
  explicit Measured(const Tuning& tuning) : tuning_(tuning) {}
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  const vireo_preference* preference() const { return tuning_.preference() == nullptr ? nullptr : &preference_; }
  std::string reason(const std::string& node, const std::string& device, const std::string& kernel) const {
    const std::string way = device + ":" + kernel;
    for (auto it = nodes_.lower_bound({node, 0}); it != nodes_.end() && it->first.first == node; ++it) {
      const Ways& ways = it->second;
      if (ways.best != way || ways.others.empty()) continue;
      std::string others;
      for (const std::string& other : ways.others) others += (others.empty() ? "" : ", ") + other;
      std::array<char, 32> us{};
      std::snprintf(us.data(), us.size(), "%.1f", ways.us);
      return std::string("fastest here by measurement, ") + us.data() + " us; not taken: " + others;
    }
    return "";
  }

 private:
  struct Ways {
    std::string best;
    double us = 0;
    std::set<std::string> others;
  };
  static int32_t rank(void* self, const vireo_candidate* c) {
    auto& m = *static_cast<Measured*>(self);
    const vireo_preference& asked = *m.tuning_.preference();
    const int32_t rank = asked.rank(asked.context, c);
    Ways& ways = m.nodes_[{c->node, c->key}];
    const std::string way = std::string(c->device) + ":" + c->kernel;
    if (rank > 0) {
      ways.best = way;
      ways.us = m.tuning_.find(c->key)->us;
    } else {
      ways.others.insert(way);
    }
    return rank;
  }

  const Tuning& tuning_;
  std::map<std::pair<std::string, uint64_t>, Ways> nodes_;  // by name, which another node may have, and key
  vireo_preference preference_ = {sizeof(vireo_preference), this, rank};
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
  const Measured measured(tuning);
  const Session session = make_session(
      model, {options.device, 1, false, VIREO_PACKING_DEFAULT, measured.preference(), options.cache}, bounds);
  const auto text = [](const char* s) { return std::string(s != nullptr ? s : ""); };
  Json nodes = Json::array();
  std::vector<std::vector<std::string>> rows{{"node", "op", "type", "device", "kernel", "reason"}};
  for (const vireo_node_info& n : nodes_of(session.get())) {
    const std::string by_measurement = measured.reason(text(n.name), text(n.device), text(n.kernel));
    const std::string reason = by_measurement.empty() ? text(n.reason) : by_measurement;
    nodes.push_back({{"name", text(n.name)},
                     {"op", text(n.op)},
                     {"dtype", vireo_dtype_text(n.dtype)},
                     {"device", text(n.device)},
                     {"kernel", text(n.kernel)},
                     {"reason", reason},
                     {"depth", n.depth}});
    rows.push_back({std::string(2 * n.depth, ' ') + text(n.name), text(n.op), vireo_dtype_text(n.dtype), text(n.device),
                    text(n.kernel), reason});
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

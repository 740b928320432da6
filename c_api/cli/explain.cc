// vireo explain: which device runs each node, with which kernel, and why no other one.
#include <array>
#include <cstdio>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"
#include "c_api/cli/tuning.h"

namespace vireo::cli {
namespace {

struct ExplainOptions {
  std::string model, tuning, cache;
  SessionRequest session;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  bool json = false;
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

  static double time_ns(void* self, const vireo_candidate* c) {
    const vireo_preference& asked = *static_cast<Measured*>(self)->tuning_.preference();
    return asked.time_ns(asked.context, c);
  }

  const Tuning& tuning_;
  std::map<std::pair<std::string, uint64_t>, Ways> nodes_;  // by name, which another node may have, and key
  vireo_preference preference_ = {sizeof(vireo_preference), this, rank, time_ns};
};

std::string text_of(const char* s) { return s != nullptr ? s : ""; }

std::string us_text(double ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f us", ns / 1000);
  return text.data();
}

// What is said of the nodes, for people and for programs.
struct Placement {
  Json nodes = Json::array();
  std::vector<std::vector<std::string>> rows{
      {"node", "op", "type", "device", "part", "kernel", "why here", "why not there"}};

  void add(const vireo_placed_node& n, const std::string& by_measurement) {
    const std::string reason = by_measurement.empty() ? text_of(n.reason) : by_measurement;
    const std::string device = text_of(n.device);
    Json others = Json::array();
    std::string why_not;
    for (uint32_t i = 0; i < n.verdict_count; ++i) {
      const vireo_verdict& v = *n.verdicts[i];
      if (device == v.device) continue;
      std::string why = text_of(v.reason);
      if (v.takes != 0)
        why = v.allowed != 0 ? "it could, " + device + " comes first" : "it could, but is not asked for";
      others.push_back({{"device", v.device},
                        {"takes", v.takes != 0},
                        {"allowed", v.allowed != 0},
                        {"kernel", text_of(v.kernel)},
                        {"reason", why},
                        {"time_ns", v.time_ns}});
      // A device that nobody named and that would not take the node is not worth a line.
      if (v.allowed != 0 && device != "-") why_not += (why_not.empty() ? "" : "; ") + text_of(v.device) + ": " + why;
    }
    const bool joined = n.part != UINT32_MAX;
    nodes.push_back({{"name", text_of(n.name)},
                     {"op", text_of(n.op)},
                     {"dtype", vireo_dtype_text(n.dtype)},
                     {"device", device},
                     {"kernel", text_of(n.kernel)},
                     {"reason", reason},
                     {"depth", n.depth},
                     {"part", joined ? Json(n.part) : Json()},
                     {"second_device", n.second == nullptr ? Json() : Json(n.second)},
                     {"bytes_crossing", n.bytes_crossing},
                     {"others", others}});
    rows.push_back({std::string(size_t{2} * n.depth, ' ') + text_of(n.name), text_of(n.op), vireo_dtype_text(n.dtype),
                    device, joined ? std::to_string(n.part) : "", text_of(n.kernel), reason, why_not});
    if (device == "-") return;
    ++counted_;
    Share& share = shares_[device];
    ++share.nodes;
    share.crossing += n.bytes_crossing;
    if (joined && share.parts.insert({n.depth, n.part}).second) share.ns += n.part_ns;
  }

  Json shares() const {
    Json list = Json::array();
    for (const auto& [device, share] : shares_) {
      list.push_back({{"device", device},
                      {"nodes", share.nodes},
                      {"share", static_cast<double>(share.nodes) / static_cast<double>(counted_)},
                      {"parts", share.parts.size()},
                      {"compiled_ns", share.ns},
                      {"bytes_crossing", share.crossing}});
    }
    return list;
  }

  std::string summary() const {
    std::string text;
    for (const auto& [device, share] : shares_) {
      text += device + ": " + std::to_string(share.nodes) + " of " + std::to_string(counted_) + " nodes";
      if (!share.parts.empty()) text += " in " + std::to_string(share.parts.size()) + " compiled parts";
      if (share.ns > 0) text += ", " + us_text(share.ns) + " by its compiler";
      if (share.crossing > 0) text += ", " + bytes_text(share.crossing) + " come from other devices";
      text += "\n";
    }
    return text;
  }

 private:
  struct Share {
    size_t nodes = 0;
    std::set<std::pair<uint32_t, uint32_t>> parts;
    double ns = 0;
    uint64_t crossing = 0;
  };
  std::map<std::string, Share> shares_;
  size_t counted_ = 0;
};

// A session compares compiled parts with another device before their first use, and places nodes elsewhere that come
// out differently. Where there are such parts one is made, so that the table shows where a run has its nodes.
void compare_parts(const Model& model, const SessionChoice& choice, const Bounds& bounds) {
  bool compared = false;
  visit_placement(model, choice, bounds, [&](const vireo_placed_node& n) {
    compared = compared || (n.part != UINT32_MAX && n.second != nullptr);
  });
  if (!compared) return;
  try {
    (void)make_session(model, choice, bounds);
  } catch (const ApiFailure& failure) {
    std::cerr << "warning: no session can be made like this: " << failure.what() << "\n";
  }
}

void explain(const ExplainOptions& options, Context& context) {
  const Model model(options.model, options.session.threads, context.extensions.convert);
  Bounds bounds;
  apply_shapes(model, options.session.shapes, &bounds);
  apply_bounds(options.session.bounds, &bounds);
  std::vector<std::string> assumed;
  for (const vireo_value_info& info : model.inputs()) {
    for (const std::string& line : bounds.close(info, 1)) assumed.push_back(line);
  }
  const Tuning tuning(options.tuning, model.runtime(), options.session.threads);
  const Measured measured(tuning);
  Placement placement;
  SessionChoice choice = choice_of(options.session);
  choice.packing = options.packing;
  choice.preference = measured.preference();
  choice.cache = options.cache;
  compare_parts(model, choice, bounds);
  visit_placement(model, choice, bounds, [&](const vireo_placed_node& n) {
    placement.add(n, measured.reason(text_of(n.name), text_of(n.device), text_of(n.kernel)));
  });
  if (options.json) {
    return print_json({{"model", options.model},
                       {"assumed", assumed},
                       {"devices", placement.shares()},
                       {"nodes", std::move(placement.nodes)}});
  }
  for (const std::string& line : assumed) std::cout << line << "\n";
  std::cout << table_text(without_empty_columns(placement.rows)) << placement.summary();
}

}  // namespace

void add_explain(Command app, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  Command verb = app.add_verb("explain", "Show which device and kernel runs each node, and why");
  add_model(verb, context, &options->model);
  add_session(verb, &options->session);
  add_tuning(verb, &options->tuning);
  add_packing(verb, &options->packing);
  add_cache(verb, &options->cache);
  add_json(verb, &options->json);
  verb.footer("Examples:\n  vireo explain model.vireo\n  vireo explain model.vireo --device cpu --json");
  verb.callback([options, &context] { explain(*options, context); });
}

}  // namespace vireo::cli

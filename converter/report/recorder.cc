#include "converter/report/recorder.h"

#include <algorithm>

#include "converter/report/modules.h"
#include "converter/report/text.h"
#include "sdk/base/fnv.h"

namespace vireo::report {
namespace {

constexpr const char* kConstant = ": its result is a constant now";

void mix(uint64_t* hash, const void* bytes, size_t size) { *hash = hash_bytes(*hash, bytes, size); }

void add_once(std::vector<std::string>* list, const std::string& item) {
  if (std::find(list->begin(), list->end(), item) == list->end()) list->push_back(item);
}

uint32_t key_of(const ir::Node& n) {
  for (const ir::Value* v : n.outputs) {
    if (v != nullptr) return v->id;
  }
  return 0;
}

// What finds a node again in the file: its graph and its result; where that has no name, its own.
std::string place_of(const std::string& path, const std::string& result, const std::string& name) {
  return path + "\n" + (result.empty() ? "\n" + name : result);
}

std::string join(const std::string& path, const std::string& result, size_t body) {
  return path + "/" + result + "#" + std::to_string(body);
}

// Where a node of the result belongs: with the original node whose name it bears, or to what all its kin have in
// common.
std::string module_after(const SideNode& n, const Side& before) {
  std::string common;
  for (size_t i = 0; i < n.kin.size(); ++i) {
    const SideNode& origin = before.nodes[static_cast<size_t>(n.kin[i])];
    if (!n.name.empty() && origin.name == n.name) return origin.module;
    common = i == 0 ? origin.module : common_module(common, origin.module);
  }
  return n.kin.empty() ? n.module : common;
}

}  // namespace

void Recorder::take(const ir::Graph& g, const std::string& path, Snapshots* out) {
  Snapshot& s = (*out)[&g];
  s.path = path;
  const auto live = [&s](const std::string& value) {
    if (!value.empty()) s.alive.insert(value);
  };
  for (const ir::Value* v : g.inputs()) {
    s.names[v->id] = v->name;
    live(v->name);
  }
  for (size_t i = 0; i < g.outputs().size(); ++i) s.shown[g.outputs()[i]->id] = g.output_names()[i];
  for (const ir::Node& n : g.nodes()) {
    const uint32_t key = key_of(n);
    if (key == 0) continue;
    Node& node = s.nodes[key];
    s.order.push_back(key);
    node.op = passes::kind_of(n);
    node.name = n.name;
    node.print = kEmptyHash;
    mix(&node.print, n.attrs.data(), n.attrs.size());
    const size_t bodies = n.bodies.size();
    mix(&node.print, &bodies, sizeof(bodies));
    for (const ir::Value* v : n.inputs) {
      node.inputs.push_back(v == nullptr ? 0 : v->id);
      if (v == nullptr) continue;
      s.names[v->id] = v->name;
      if (v->constant == nullptr) continue;
      s.constants.insert(v->id);
      mix(&node.print, &v->id, sizeof(v->id));
    }
    for (const ir::Value* v : n.outputs) {
      node.outputs.push_back(v == nullptr ? 0 : v->id);
      if (v == nullptr) continue;
      s.maker[v->id] = key;
      s.names[v->id] = v->name;
      live(v->name);
    }
    if (n.op == Op::kComposite) continue;  // finished when it is made
    for (size_t b = 0; b < bodies; ++b) take(*n.bodies[b], join(path, s.names[key], b), out);
  }
}

// The order of side_of().
void Recorder::number(const ir::Graph& g, int32_t* next) {
  Snapshot& s = last_[&g];
  for (const ir::Node& n : g.nodes()) {
    const auto at = s.nodes.find(key_of(n));
    if (at != s.nodes.end()) at->second.made.from = {*next};
    ++*next;
    for (const auto& body : n.bodies) number(*body, next);
  }
}

void Recorder::watch(ConvertOptions* options) {
  options->observer = this;
  options->notes = [this](const std::string& node, const NodeNotes& notes) {
    origins_[safe_text(node)] = origin_of(notes);
  };
}

bool Recorder::begin(const ir::Graph& graph) {
  before_ = side_of(graph);
  for (SideNode& n : before_.nodes) {
    const auto at = origins_.find(n.name);
    if (at == origins_.end()) continue;
    n.origin = at->second.told;
    if (!at->second.module.empty()) n.module = at->second.module;
  }
  last_.clear();
  fates_.clear();
  take(graph, "", &last_);
  int32_t next = 0;
  number(graph, &next);
  return true;
}

bool Recorder::after(const char* pass, const ir::Graph& graph, PassLog* report) {
  if (report->changes == 0) return true;
  Snapshots now;
  take(graph, "", &now);
  // What left a graph may have gone into another one (the branch of an If that is decided): by the node's name.
  std::map<std::string, std::set<int32_t>> left;
  for (const auto& [g, old] : last_) {
    const auto same = now.find(g);
    for (const auto& [key, node] : old.nodes) {
      if (node.name.empty() || (same != now.end() && same->second.nodes.count(key) != 0)) continue;
      left[node.name].insert(node.made.from.begin(), node.made.from.end());
    }
  }
  static const Snapshot kNothing;
  for (auto& [g, snapshot] : now) {
    const auto old = last_.find(g);
    compare(pass, old == last_.end() ? kNothing : old->second, &snapshot, left);
  }
  // Bodies that went with their owner.
  for (const auto& [g, old] : last_) {
    if (now.count(g) != 0) continue;
    for (const auto& [key, node] : old.nodes) {
      for (const int32_t id : node.made.from) fates_[id] = std::string(pass) + ": gone with the body that it was in";
    }
  }
  last_ = std::move(now);
  return true;
}

void Recorder::compare(const std::string& pass, const Snapshot& old, Snapshot* now,
                       const std::map<std::string, std::set<int32_t>>& elsewhere) {
  // Nodes that are gone, by the names of their results and by their own. Passes leave some results without a name.
  std::map<std::string, uint32_t> gone_by_result, gone_by_name;
  for (const uint32_t key : old.order) {
    if (now->nodes.count(key) != 0) continue;
    const Node& node = old.nodes.at(key);
    if (!node.name.empty()) gone_by_name[node.name] = key;
    for (const uint32_t v : node.outputs) {
      if (v != 0 && !old.names.at(v).empty()) gone_by_result[old.names.at(v)] = key;
    }
  }
  const auto is_gone = [&](uint32_t key) { return now->nodes.count(key) == 0; };
  std::set<uint32_t> used;                                  // nodes that are gone and have become something
  std::map<std::string, std::set<const Made*>> taken_over;  // names that new nodes bear
  for (const auto& [key, node] : now->nodes) {
    if (old.nodes.count(key) == 0 && !node.name.empty()) taken_over[node.name].insert(&node.made);
  }
  // Walks up from `key` through nodes that are gone, as far as no value on the way is still there under its name.
  const auto gather = [&](uint32_t key, Made* made) {
    std::vector<uint32_t> stack = {key};
    std::set<uint32_t> seen;
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      if (!seen.insert(at).second) continue;
      used.insert(at);
      const Node& node = old.nodes.at(at);
      made->from.insert(node.made.from.begin(), node.made.from.end());
      for (const std::string& p : node.made.passes) add_once(&made->passes, p);
      for (const uint32_t v : node.inputs) {
        const auto maker = old.maker.find(v);
        if (maker == old.maker.end() || !is_gone(maker->second) || now->alive.count(old.names.at(v)) != 0) continue;
        // Results lose their names at times; a node whose own name another new node bears is that one's.
        const auto heirs = taken_over.find(old.nodes.at(maker->second).name);
        if (heirs != taken_over.end() && heirs->second.count(made) == 0) continue;
        stack.push_back(maker->second);
      }
    }
  };
  std::vector<uint32_t> fresh;
  for (const uint32_t key : now->order) {
    Node& node = now->nodes.at(key);
    const auto was = old.nodes.find(key);
    if (was != old.nodes.end()) {
      node.made = was->second.made;
      if (node.print != was->second.print || node.op != was->second.op) add_once(&node.made.passes, pass);
      continue;
    }
    fresh.push_back(key);
    // The same node written anew, in another layout, say.
    const auto same = gone_by_name.find(node.name);
    if (same != gone_by_name.end() && old.nodes.at(same->second).op == node.op) gather(same->second, &node.made);
  }
  // By the name of the result, where nothing claims it already; then by the node's own.
  for (const uint32_t key : fresh) {
    Node& node = now->nodes.at(key);
    for (const uint32_t v : node.outputs) {
      const auto gone = v == 0 ? gone_by_result.end() : gone_by_result.find(now->names.at(v));
      if (gone != gone_by_result.end() && used.count(gone->second) == 0) gather(gone->second, &node.made);
    }
  }
  for (const uint32_t key : fresh) {
    Node& node = now->nodes.at(key);
    const auto same = gone_by_name.find(node.name);
    const bool open = node.made.from.empty() && same != gone_by_name.end() && used.count(same->second) == 0;
    if (open) gather(same->second, &node.made);
  }
  // A node that changed took in what is gone around it: before it (what it read), and behind it (whose result's readers
  // read it now).
  for (const auto& [key, node] : old.nodes) {
    if (is_gone(key)) continue;
    Node& after = now->nodes.at(key);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const uint32_t read = node.inputs[i], reads = i < after.inputs.size() ? after.inputs[i] : 0;
      if (read == reads || read == 0) continue;
      const auto maker = old.maker.find(read);
      if (maker == old.maker.end() || !is_gone(maker->second) || used.count(maker->second) != 0) continue;
      if (after.print != node.print) {
        if (now->constants.count(reads) != 0) {
          for (const int32_t id : old.nodes.at(maker->second).made.from) fates_[id] = pass + kConstant;
        }
        gather(maker->second, &after.made);
      }
      const auto source = now->maker.find(reads);
      if (source == now->maker.end() || used.count(maker->second) != 0) continue;
      const auto before = old.nodes.find(source->second);
      Node& other = now->nodes.at(source->second);
      if (before == old.nodes.end() || before->second.print != other.print) gather(maker->second, &other.made);
    }
  }
  for (const uint32_t key : fresh) {
    Node& node = now->nodes.at(key);
    const auto named = elsewhere.find(node.name);
    if (node.made.from.empty() && named != elsewhere.end() && gone_by_name.count(node.name) == 0)
      node.made.from = named->second;
    add_once(&node.made.passes, pass);
  }
  std::map<uint32_t, uint32_t> instead;  // of a value: what its readers read now
  for (const auto& [key, node] : old.nodes) {
    const auto same = now->nodes.find(key);
    if (same == now->nodes.end()) continue;
    for (size_t i = 0; i < node.inputs.size() && i < same->second.inputs.size(); ++i) {
      if (node.inputs[i] != 0 && same->second.inputs[i] != 0 && node.inputs[i] != same->second.inputs[i])
        instead[node.inputs[i]] = same->second.inputs[i];
    }
  }
  for (const auto& [key, node] : old.nodes) {
    if (!is_gone(key) || used.count(key) != 0) continue;
    std::string fate = "nothing used its result";
    for (const uint32_t v : node.outputs) {
      const auto reads = instead.find(v);
      if (reads == instead.end()) continue;
      fate = now->constants.count(reads->second) != 0
                 ? kConstant + 2
                 : "readers take \"" + safe_text(now->names.at(reads->second)) + "\" instead";
    }
    for (const int32_t id : node.made.from) fates_[id] = pass + ": " + fate;
  }
}

Side Recorder::finish(Side* after) const {
  Side before = before_;
  // By graph and result; outputs of graphs bear the name that the file gives them.
  std::map<std::string, std::vector<const Node*>> made;
  for (const auto& [g, s] : last_) {
    for (const uint32_t key : s.order) {
      const auto shown = s.shown.find(key);
      const Node& node = s.nodes.at(key);
      const std::string result = safe_text(shown != s.shown.end() ? shown->second : s.names.at(key));
      made[place_of(safe_text(s.path, SIZE_MAX), result, safe_text(node.name))].push_back(&node);
    }
  }
  std::map<std::string, size_t> taken;
  std::vector<std::string> paths(after->graphs.size());
  for (size_t g = 0; g < after->graphs.size(); ++g) {
    for (const int32_t id : after->graphs[g].nodes) {
      SideNode& n = after->nodes[static_cast<size_t>(id)];
      const auto first = std::find_if(n.outputs.begin(), n.outputs.end(), [](int32_t v) { return v >= 0; });
      const std::string result = first == n.outputs.end() ? "" : after->values[static_cast<size_t>(*first)].name;
      for (size_t b = 0; b < n.bodies.size(); ++b) paths[static_cast<size_t>(n.bodies[b])] = join(paths[g], result, b);
      // The body of a composite is made of what the composite was made of, under the old names.
      const int32_t owner = after->graphs[g].owner;
      if (owner >= 0 && after->nodes[static_cast<size_t>(owner)].number == Op::kComposite) {
        for (const int32_t from : after->nodes[static_cast<size_t>(owner)].kin) {
          const SideNode& origin = before.nodes[static_cast<size_t>(from)];
          if (!n.name.empty() && origin.name == n.name && origin.op == n.op) n.kin = {from};
        }
        continue;
      }
      const std::string key = place_of(paths[g], result, n.name);
      const auto at = made.find(key);
      if (at == made.end()) continue;
      const Node& node = *at->second[std::min(taken[key]++, at->second.size() - 1)];
      n.kin.assign(node.made.from.begin(), node.made.from.end());
      n.passes = node.made.passes;
      for (const int32_t from : n.kin) {
        SideNode& origin = before.nodes[static_cast<size_t>(from)];
        origin.kin.push_back(id);
        for (const std::string& p : n.passes) add_once(&origin.passes, p);
      }
    }
  }
  for (SideNode& n : after->nodes) n.module = module_after(n, before);
  for (const auto& [id, fate] : fates_) {
    SideNode& n = before.nodes[static_cast<size_t>(id)];
    // What became a constant of a node is that node's kin as well.
    if (n.kin.empty() || fate.find(kConstant) != std::string::npos) n.fate = fate;
  }
  return before;
}

}  // namespace vireo::report

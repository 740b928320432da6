#include "delegates/gpu/lower/lower.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <set>

#include "delegates/gpu/lower/fold.h"
#include "delegates/gpu/lower/fuse.h"
#include "delegates/gpu/lower/gemv.h"
#include "delegates/gpu/lower/halve.h"
#include "delegates/gpu/lower/known_problems.h"
#include "delegates/gpu/lower/other_extents.h"
#include "delegates/gpu/lower/redirect.h"
#include "delegates/gpu/lower/split.h"
#include "delegates/gpu/lower/steering.h"
#include "delegates/gpu/lower/work.h"
#include "sdk/plan/planner.h"

namespace vireo::gpu {
namespace {

// The planner places at multiples of 64; here a unit is four bytes.
constexpr uint64_t kPlanUnit = kPlaceAlignment / kTensorAlignment;

// All memories of a work, in the order of its kernel's bindings, and whether it writes there.
struct Use {
  int memory;
  bool written;
  bool updated;  // it is also read
};
std::vector<Use> uses_of(const Work& w) {
  std::vector<Use> uses;
  for (const int m : w.operands) uses.push_back({m, false, false});
  for (const int m : w.reads) uses.push_back({m, false, false});
  for (const int m : w.writes) uses.push_back({m, true, w.updates});
  if (w.errors >= 0) uses.push_back({w.errors, true, false});
  return uses;
}

// Where memories lie: those of inner values in their block, constants by their number in the list of weights.
struct Places {
  std::vector<uint64_t> offsets;  // one a memory
  std::vector<uint32_t> indices;
  uint64_t inner_bytes = 0;
};

std::string plan_inner(const Lowering& l, Places* places) {
  const size_t count = l.memories.size();
  std::vector<PlanTensor> tensors(count);
  for (size_t m = 0; m < count; ++m) {
    const bool inner = l.memories[m].where == Where::kInner;
    tensors[m].kind = inner ? PlanTensor::kValue : PlanTensor::kConstant;
    tensors[m].bytes = static_cast<int64_t>(place_up(l.memories[m].bytes) / kPlanUnit);
  }
  std::vector<std::vector<int32_t>> reads(l.works.size()), writes(l.works.size());
  std::vector<PlanNode> nodes(l.works.size());
  std::set<int> made;
  for (size_t k = 0; k < l.works.size(); ++k) {
    for (const Use& u : uses_of(l.works[k])) {
      if (l.memories[static_cast<size_t>(u.memory)].where != Where::kInner) continue;
      // Who writes a further part of it needs what is there.
      (u.written && made.insert(u.memory).second ? writes : reads)[k].push_back(u.memory);
    }
    nodes[k].inputs = {reads[k].data(), reads[k].size()};
    nodes[k].outputs = {writes[k].data(), writes[k].size()};
    nodes[k].region_bytes = -1;
  }
  // What no work uses any more gets no memory.
  for (size_t m = 0; m < count; ++m) {
    if (made.count(static_cast<int>(m)) == 0) tensors[m].kind = PlanTensor::kConstant;
  }
  std::vector<uint64_t> offsets(count), regions(1);
  std::vector<uint64_t> workspace(
      static_cast<size_t>(plan_workspace_bytes(static_cast<int64_t>(count), static_cast<int64_t>(nodes.size()))) / 8 +
      1);
  PlanResult result;
  Error error;
  const Status status = plan_arena({tensors.data(), count}, {nodes.data(), nodes.size()}, PackOrder::kSize, false,
                                   {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                                   {offsets.data(), count}, {regions.data(), 0}, &result, &error);
  if (status != Status::kOk) return "its inner values cannot be planned";
  for (size_t m = 0; m < count; ++m) {
    if (tensors[m].kind == PlanTensor::kValue) places->offsets[m] = offsets[m] * kPlanUnit;
  }
  places->inner_bytes = place_up(result.bytes * kPlanUnit);
  return "";
}

// The constants that works still read; of an open part all that its nodes have, because other extents may read others.
void list_weights(const Lowering& l, const Network& network, Places* places, Schedule* out) {
  if (out->open) {
    std::vector<uint32_t> numbers(network.values.size());
    for (size_t v = 0; v < network.values.size(); ++v) {
      const Datum& datum = network.values[v];
      numbers[v] = static_cast<uint32_t>(out->weights.size());
      if (datum.constant != nullptr && !datum.brought && datum.bytes() != 0)
        out->weights.push_back({datum.bytes(), datum.body, datum.number, 0, 0, 0, false});
    }
    for (size_t m = 0; m < l.memories.size(); ++m) {
      if (l.memories[m].where == Where::kWeights)
        places->indices[m] = numbers[static_cast<size_t>(l.memories[m].value)];
    }
    return;
  }
  std::set<int> used;
  for (const Work& w : l.works) {
    for (const Use& u : uses_of(w)) used.insert(u.memory);
  }
  for (const int m : used) {
    const Memory& memory = l.memories[static_cast<size_t>(m)];
    if (memory.where != Where::kWeights) continue;
    const Datum& v = network.values[static_cast<size_t>(memory.value)];
    places->indices[static_cast<size_t>(m)] = static_cast<uint32_t>(out->weights.size());
    Weight w = memory.form;
    w.bytes = memory.bytes;
    w.node = v.body;
    w.value = v.number;
    out->weights.push_back(w);
  }
}

// Tables one behind the other.
void list_tables(const Lowering& l, Places* places, Schedule* out) {
  for (size_t m = 0; m < l.memories.size(); ++m) {
    if (l.memories[m].where != Where::kData) continue;
    places->offsets[m] = out->data.size();
    out->data.insert(out->data.end(), l.memories[m].content.begin(), l.memories[m].content.end());
    out->data.resize(place_up(out->data.size()));
  }
}

// What steps since the last barrier touch.
class Pending {
 public:
  // Whether the work may run beside them.
  bool agrees(const Lowering& l, const Places& places, const Work& w) const {
    for (const Use& mine : uses_of(w)) {
      for (const Use& other : uses_) {
        // A memory is written once, perhaps in pieces: only who reads it waits.
        const bool same = mine.memory == other.memory;
        if (same ? mine.written != other.written || mine.updated || other.updated
                 : (mine.written || other.written) && overlap(l, places, mine.memory, other.memory))
          return false;
      }
    }
    return true;
  }
  void add(const Work& w) {
    for (const Use& u : uses_of(w)) uses_.push_back(u);
  }
  void clear() { uses_.clear(); }

 private:
  static bool overlap(const Lowering& l, const Places& places, int a, int b) {
    const Memory &first = l.memories[static_cast<size_t>(a)], &second = l.memories[static_cast<size_t>(b)];
    if (first.where != Where::kInner || second.where != Where::kInner) return false;
    const uint64_t from = places.offsets[static_cast<size_t>(a)], to = places.offsets[static_cast<size_t>(b)];
    return from < to + place_up(second.bytes) && to < from + place_up(first.bytes);
  }

  std::vector<Use> uses_;
};

// Kernels in the order of their first use, each once.
class Kernels {
 public:
  explicit Kernels(std::vector<Kernel>* to) : to_(*to) {}
  uint32_t add(const Kernel& k) {
    const auto [seen, first] = seen_.try_emplace(&k, 0);
    if (first) {
      const auto [at, fresh] = known_.try_emplace(k.words, static_cast<uint32_t>(to_.size()));
      if (fresh) to_.push_back(k);
      seen->second = at->second;
    }
    return seen->second;
  }

 private:
  std::vector<Kernel>& to_;
  std::map<const Kernel*, uint32_t> seen_;  // most launches have a kernel that was there before
  std::map<std::vector<uint32_t>, uint32_t, ByWords> known_;
};

Binding binding_of(const Lowering& l, const Places& places, int memory) {
  const Memory& m = l.memories[static_cast<size_t>(memory)];
  const uint32_t index = m.where == Where::kWeights ? places.indices[static_cast<size_t>(memory)] : m.index;
  return {m.where, index, places.offsets[static_cast<size_t>(memory)], m.bytes};
}

std::string made(const std::string& refusal, const Work& w, const Target& target) {
  if (!refusal.empty()) return refusal;
  if (uses_of(w).size() > target.bindings)
    return "it reads and writes " + std::to_string(uses_of(w).size()) + " tensors at once, above the device's " +
           std::to_string(target.bindings);
  return "";
}

// Lowers `nodes` of a graph. *blame: the node that is refused.
std::string lower_nodes(const Network& network, Lowering* l, const char** blame) {
  for (const Node& n : network.nodes) {
    *blame = n.name;
    if (std::string why = l->add(n); !why.empty()) return why;
  }
  *blame = nullptr;
  return l->finish();
}

// `others`: works whose kernels are wanted as well, because runs with other extents may launch them.
Refusal schedule_of(const Target& target, const Network& network, const Lowering& l, const std::vector<Work>& others,
                    MadeBefore* made_before, Schedule* out) {
  Places places;
  places.offsets.assign(l.memories.size(), 0);
  places.indices.assign(l.memories.size(), 0);
  list_weights(l, network, &places, out);
  list_tables(l, &places, out);
  if (std::string why = plan_inner(l, &places); !why.empty()) return {why, nullptr};
  out->inner_bytes = places.inner_bytes;
  Kernels kernels(&out->kernels);
  KnownProblems known(target, made_before, network.in_run);
  Pending pending;
  for (const Work& w : l.works) {
    const MadeProblem& of = known(w.problem);
    if (std::string why = made(of.refusal, w, target); !why.empty()) {
      const char* blame = nullptr;
      for (const Node& n : network.nodes) {
        if (n.source == w.node) blame = n.name;
      }
      return {why, blame};
    }
    Launch launch;
    launch.kernel = kernels.add(*of.kernel);
    launch.push = of.push;
    launch.groups = of.groups;
    launch.node = w.node;
    if (w.errors >= 0) out->errors = network.sources;
    for (const Use& u : uses_of(w)) launch.bindings.push_back(binding_of(l, places, u.memory));
    launch.barrier = !pending.agrees(l, places, w);
    if (launch.barrier) pending.clear();
    pending.add(w);
    out->steps.push_back(std::move(launch));
  }
  for (const Work& w : others) {
    const MadeProblem& of = known(w.problem);
    if (made(of.refusal, w, target).empty()) kernels.add(*of.kernel);
  }
  return {};
}

// The template that says most of a node: a product before what surrounds it.
const char* kernel_name(const Lowering& l) {
  static constexpr size_t kOrder[] = {10, 9, 8, 7, 2, 11, 3, 5, 4, 6, 1, 0};  // of Problem's alternatives
  for (const size_t kind : kOrder) {
    for (const Work& w : l.works) {
      if (w.problem.index() == kind) return template_of(w.problem);
    }
  }
  return "view";
}

void set_border(const Network& network, const vireo_part& part, Lowering* l, std::vector<uint64_t>* in,
                std::vector<uint64_t>* out) {
  const auto index = [&network](int32_t number) { return network.number.at(number); };
  std::vector<int> inputs, outputs;
  for (uint32_t i = 0; i < part.input_count; ++i) inputs.push_back(index(part.inputs[i]));
  for (uint32_t o = 0; o < part.output_count; ++o) outputs.push_back(index(part.outputs[o]));
  l->set_border(inputs, outputs);
  for (const int v : inputs) in->push_back(network.values[static_cast<size_t>(v)].bytes());
  for (const int v : outputs) out->push_back(network.values[static_cast<size_t>(v)].bytes());
}

// Whether all values of the border belong to its nodes, and have a shape.
bool border_fits(const Network& network, const vireo_part& part) {
  const auto fits = [&network](int32_t number) {
    const auto at = network.number.find(number);
    return at != network.number.end() && network.values[static_cast<size_t>(at->second)].dtype != DType::kNone;
  };
  return std::all_of(part.inputs, part.inputs + part.input_count, fits) &&
         std::all_of(part.outputs, part.outputs + part.output_count, fits);
}

}  // namespace

namespace {

// What the part's inputs that steer hold until a run brings it.
class Assumed {
 public:
  Assumed(Network* network, const vireo_part& part) {
    for (const int v : steering_values(*network)) {
      const bool comes_in = std::any_of(part.inputs, part.inputs + part.input_count,
                                        [&](int32_t number) { return network->number.at(number) == v; });
      if (!comes_in || network->values[static_cast<size_t>(v)].count() > VIREO_STEERING_ELEMENTS) {
        refusal_ = "a list of axes, extents or scales comes with the data, and the host does not see it";
        continue;
      }
      if (says_only_shapes(*network, v)) continue;
      network->open = true;
      contents_.push_back(assumed_contents(*network, v));
      network->set_contents(v, contents_.back().data());
    }
  }
  bool empty() const { return contents_.empty(); }
  // "" or why nobody can say, before its launches are made, how the nodes' elements lie.
  const std::string& refusal() const { return refusal_; }

 private:
  std::list<std::vector<uint8_t>> contents_;
  std::string refusal_;
};

}  // namespace

std::string refusal(const Target& target, const vireo_host& host, const vireo_graph* graph, uint32_t index,
                    const char** kernel) {
  Network network;
  if (const char* why = network.add(host, graph, index); why[0] != 0) return why;
  const GraphReader reader(host, graph);
  const vireo_graph_node n = reader.node(index);
  std::vector<int32_t> inputs, outputs;
  std::set<int32_t> seen;
  for (uint32_t i = 0; i < n.input_count; ++i) {
    if (n.inputs[i] >= 0 && network.values[static_cast<size_t>(network.number.at(n.inputs[i]))].constant == nullptr &&
        seen.insert(n.inputs[i]).second)
      inputs.push_back(n.inputs[i]);
  }
  for (uint32_t o = 0; o < n.output_count; ++o) {
    if (n.outputs[o] >= 0) outputs.push_back(n.outputs[o]);
  }
  vireo_part part = VIREO_PART_INIT;
  part.inputs = inputs.data();
  part.input_count = static_cast<uint32_t>(inputs.size());
  part.outputs = outputs.data();
  part.output_count = static_cast<uint32_t>(outputs.size());
  if (!border_fits(network, part)) return kNotShown;
  const Assumed assumed(&network, part);
  if (!assumed.refusal().empty()) return assumed.refusal();
  Lowering l(network, target);
  std::vector<uint64_t> in, out;
  set_border(network, part, &l, &in, &out);
  const char* blame = nullptr;
  if (std::string why = lower_nodes(network, &l, &blame); !why.empty()) return why;
  for (const Work& w : l.works) {
    if (std::string why = made(dispatch_of(w.problem, target).refusal, w, target); !why.empty()) return why;
  }
  *kernel = kernel_name(l);
  return "";
}

namespace {

// Nodes of a part, in their order.
Refusal read_network(const vireo_host& host, const vireo_graph* graph, const vireo_part& part, Network* out) {
  for (uint32_t k = 0; k < part.node_count; ++k) {
    if (const char* why = out->add(host, graph, part.nodes[k]); why[0] != 0) return {why, nullptr};
  }
  return {border_fits(*out, part) ? "" : kNotShown, nullptr};
}

// Works with other extents, and those of `l` itself where they are asked for, as they are launched.
void add_others(const Lowering& l, bool own, std::vector<Work>* out) {
  Lowering more = l;
  more.works = with_other_extents(l);
  if (own) more.works.insert(more.works.end(), l.works.begin(), l.works.end());
  split_depth(&more);
  std::move(more.works.begin(), more.works.end(), std::back_inserter(*out));
}

Refusal lower_network(const Target& target, const Network& network, const vireo_part& part, MadeBefore* made_before,
                      Schedule* out) {
  *out = {};
  out->target = text_of(target);
  out->open = network.open;
  Target here = target;
  here.open = network.open;
  Lowering l(network, here);
  set_border(network, part, &l, &out->inputs, &out->outputs);
  Refusal refused;
  refused.why = lower_nodes(network, &l, &refused.node);
  if (!refused.why.empty()) return refused;
  fuse(&l);
  redirect(&l);
  fold(&l);
  mark_made(&l);
  halve(&l);
  make_gemvs(&l);
  std::vector<Work> others;
  if (network.open && !network.in_run) {
    add_others(l, false, &others);
    Network one = network;
    if (make_first_axis_one(&one)) {
      Lowering of_one(one, here);
      std::vector<uint64_t> in, end;
      const char* blame = nullptr;
      set_border(one, part, &of_one, &in, &end);
      if (lower_nodes(one, &of_one, &blame).empty()) {  // else the axis was another
        fuse(&of_one);
        mark_made(&of_one);
        halve(&of_one);
        add_others(of_one, true, &others);
      }
    }
  }
  split_depth(&l);
  return schedule_of(here, network, l, others, made_before, out);
}

// What other extents may need beyond the bounds: gaps where values are packed otherwise, and sums of what is split
// there.
void add_room(Schedule* s) {
  const auto has = [s](const std::string& name) {
    return std::any_of(s->kernels.begin(), s->kernels.end(),
                       [&](const Kernel& k) { return k.name.compare(0, name.size(), name) == 0; });
  };
  uint64_t room = s->inner_bytes / 8;
  if (has("attention")) {
    room += kMostShareBytes;
  } else if (has("product") || has("convolution")) {
    room += kMostSplitBytes;
  }
  s->inner_bytes = place_up(s->inner_bytes + room);
}

// Launches come with the contents of a run, which mostly have the kernels of the contents that were assumed. Sizes are
// twice those of these.
void forget_steps(Schedule* s) {
  constexpr uint64_t kRoom = 1 << 16;
  s->inner_bytes = place_up(2 * s->inner_bytes + kRoom);
  s->data.assign(place_up(2 * s->data.size() + (s->data.empty() ? 0 : kRoom)), 0);
  s->steps.clear();
}

}  // namespace

Refusal lower_part(const Target& target, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                   Schedule* out, MadeBefore* made_before) {
  *out = {};
  Network network;
  if (Refusal refused = read_network(host, graph, part, &network); !refused.why.empty()) return refused;
  const Assumed assumed(&network, part);
  if (!assumed.refusal().empty()) return {assumed.refusal(), network.nodes[0].name};
  // Others would wait for its contents: where they are made in the part, they are not at hand.
  if (!assumed.empty() && part.node_count > 1) return {"contents that a run brings steer it", network.nodes[0].name};
  if (Refusal refused = lower_network(target, network, part, made_before, out); !refused.why.empty()) return refused;
  if (out->open) add_room(out);
  if (!assumed.empty()) forget_steps(out);
  return {};
}

Refusal lower_run(const Target& target, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                  const void* const* contents, Schedule* out, MadeBefore* made_before) {
  *out = {};
  Network network;
  if (Refusal refused = read_network(host, graph, part, &network); !refused.why.empty()) return refused;
  network.open = network.in_run = true;
  for (const int v : steering_values(network)) {
    for (uint32_t i = 0; i < part.input_count && !says_only_shapes(network, v); ++i) {
      if (network.number.at(part.inputs[i]) == v && contents[i] != nullptr) network.set_contents(v, contents[i]);
    }
  }
  return lower_network(target, network, part, made_before, out);
}

std::vector<uint32_t> steering_inputs(const vireo_host& host, const vireo_graph* graph, const vireo_part& part) {
  std::vector<uint32_t> found;
  Network network;
  if (!read_network(host, graph, part, &network).why.empty()) return found;
  const std::vector<int> values = steering_values(network);
  for (uint32_t i = 0; i < part.input_count; ++i) {
    const int v = network.number.at(part.inputs[i]);
    if (std::count(values.begin(), values.end(), v) != 0 && !says_only_shapes(network, v)) found.push_back(i);
  }
  return found;
}

}  // namespace vireo::gpu

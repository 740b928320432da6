#include "converter/cli/targets.h"

#include <stdio.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <set>

#include "c_api/cli/columns.h"
#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/options.h"
#include "c_api/cli/tuning.h"
#include "converter/cli/verbs.h"
#include "converter/emit/packed_file.h"
#include "converter/firmware/cost.h"
#include "converter/firmware/emit.h"
#include "quant/schemes/scheme.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/ops/op.h"

namespace vireo::cli {
namespace {

using target::Profile;
using target::ProfileDevice;

constexpr uint8_t kNotSaid = 255;

std::vector<std::string> shipped_names() {
  std::vector<std::string> list;
  for (const target::ShippedProfile& p : target::shipped_profiles()) list.emplace_back(p.name);
  return list;
}

Profile read_profile(const std::string& name) {
  std::string text, source = name;
  const bool path =
      name.find('/') != std::string::npos || (name.size() > 5 && name.compare(name.size() - 5, 5, ".json") == 0);
  if (path) {
    const std::vector<uint8_t> bytes = read_file(name);
    text.assign(bytes.begin(), bytes.end());
  } else {
    const auto all = target::shipped_profiles();
    const auto* const found = std::find_if(all.begin(), all.end(), [&](const auto& p) { return name == p.name; });
    if (found == all.end()) {
      std::string names;
      for (const std::string& shipped : shipped_names()) names += (names.empty() ? "" : ", ") + shipped;
      throw Failure("there is no target \"" + name + "\"", did_you_mean(name, shipped_names()) +
                                                               "targets of this version: " + names +
                                                               "; a file of your own: --target PATH.json");
    }
    text = found->text;
    source = "the target " + name;
  }
  Profile profile;
  std::string error;
  if (!target::parse_profile(text, source, quant::scheme_list(), &profile, &error))
    throw Failure(error, "the keys of a profile: converter/target/README.md, examples in share/vireo/targets",
                  {"failed", path ? name : "", "", "", "", ""});
  return profile;
}

// A session uses a model's bytes in place, aligned.
ModelBytes aligned(const std::vector<uint8_t>& bytes) {
  const auto give_back = [](const void* p) { ::operator delete (const_cast<void*>(p), std::align_val_t{64}); };
  void* const memory = ::operator new (bytes.size(), std::align_val_t{64});
  std::memcpy(memory, bytes.data(), bytes.size());
  return {std::shared_ptr<const void>(memory, give_back), memory, bytes.size()};
}

vireo_device_info device_at(const vireo_runtime* runtime, uint32_t i) {
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  check(vireo_runtime_device(runtime, i, &info, &error), error, "read device " + std::to_string(i));
  return info;
}

bool says_rates(const vireo_rates& r) {
  return r.f32_rate > 0 || r.f16_rate > 0 || r.i8_rate > 0 || r.bandwidth > 0 || r.transfer > 0 || r.launch_ns != 0;
}

// What a profile's rates say of a node: its operations or its bytes, whichever takes longer; without a bandwidth its
// operations. 0: they say nothing of what it has to do. A type without a rate is computed in the next wider one.
double by_rates(const vireo_rates& rates, const vireo_node_info& node) {
  const double half = rates.f16_rate > 0 ? rates.f16_rate : rates.f32_rate;
  const double byte = rates.i8_rate > 0 ? rates.i8_rate : half;
  const bool is_byte = node.dtype == VIREO_INT8 || node.dtype == VIREO_UINT8;
  const bool is_half = node.dtype == VIREO_FLOAT16 || node.dtype == VIREO_BFLOAT16;
  const double rate = is_byte ? byte : is_half ? half : rates.f32_rate;
  if (node.operations != 0 && !(rate > 0)) return 0;
  const double compute = node.operations == 0 ? 0 : static_cast<double>(node.operations) / rate;
  const double move = rates.bandwidth > 0 ? static_cast<double>(node.bytes) / rates.bandwidth : 0;
  return 1e9 * std::max(compute, move);
}

// The runtime's number of a profile's device; -1: it is not here.
int find_device(const vireo_runtime* runtime, const ProfileDevice& wanted) {
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
    const vireo_device_info info = device_at(runtime, i);
    if (wanted.device.empty() ? wanted.delegate == info.delegate : wanted.device == info.name)
      return static_cast<int>(i);
  }
  return -1;
}

// A node as the session has it, copied from what the visitor sees.
struct Placed {
  std::string name, op, device, reason;
  vireo_dtype dtype = VIREO_NONE;
  uint32_t depth = 0, part = UINT32_MAX;
  double part_ns = 0, time_ns = 0;
  uint64_t bytes_crossing = 0;
};

// One target's model and what a session made of it.
class Preparation {
 public:
  Preparation(const std::vector<uint8_t>& bare, const fb::Model& graph, const std::string& name, const Profile& profile,
              const TargetOptions& options)
      : profile_(profile), model_(aligned(bare), name, 1, [this](vireo_runtime* runtime) { find_devices(runtime); }) {
    report_.name = profile.name;
    apply_shapes(model_, options.shapes, &bounds_);
    apply_bounds(options.bounds, &bounds_);
    for (const vireo_value_info& info : model_.inputs()) {
      for (std::string& line : bounds_.close(info, 1)) report_.assumed.push_back(std::move(line));
    }
    const Tuning tuning(options.tuning, model_.runtime(), 1);
    SessionChoice choice{names(), 1, false, profile.pack ? VIREO_PACKING_ALWAYS : VIREO_PACKING_NEVER,
                         tuning.preference()};
    choice.target = "none";
    // By cost among the target's devices; where that gives nodes to another one of this machine, by preference.
    if (devices_.size() > 1) {
      choice.device = "auto," + names();
      place(choice);
      const bool strange = std::any_of(nodes_.begin(), nodes_.end(), [this](const Placed& n) {
        return n.device != "-" && index_of(n.device) == kNotSaid;
      });
      if (strange) choice.device = names();
    }
    place(choice);
    const Session session = make_session(model_, choice, bounds_);  // packs, compiles and compares; the model keeps it
    place(choice);                                                  // a part that computed wrongly has moved
    expect(nodes_of(session.get()));
    count_memory(graph, memory_of(model_, choice, bounds_));
    tell();
    if (!profile.firmware.core.empty()) make_plan(bare);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  TargetReport& report() { return report_; }

  // Data live as long as this does.
  void add_copies(std::vector<emit::PackedWeights>* list) {
    if (!flat_.empty()) add_flat(list);
    for (uint32_t i = 0; i < vireo_model_packed_count(model_.get()); ++i) {
      vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      check_file(vireo_model_packed(model_.get(), i, &copy, &error), error, "read packed weights of", model_.name());
      emit::PackedWeights w = {};
      if (copy.constant == UINT64_MAX || !pack_delegate(copy.delegate, w.name.delegate)) continue;
      if (copy.kind == VIREO_PACKED_CONSTANT && !profile_.pack) continue;
      w.name.layout = copy.layout;
      w.name.kind = copy.kind;
      w.name.constant = copy.constant;
      for (int k = 0; k < 4; ++k) w.name.sizes[k] = copy.sizes[k];
      w.name.bytes = copy.bytes;
      w.data = copy.data;
      if (copy.kind == VIREO_COMPILED_PART) {
        ++report_.parts;
        report_.compiled_bytes += copy.bytes;
      } else {
        ++report_.constants;
        report_.packed_bytes += copy.bytes;
      }
      list->push_back(w);
    }
  }

  emit::TargetPlan plan(const fb::Model& graph) const {
    emit::TargetPlan plan;
    plan.target = profile_.name;
    std::set<std::string> used;
    for (const Placed& n : nodes_) used.insert(n.device);
    std::vector<uint8_t> number(devices_.size(), kNotSaid);  // in the plan, which names those alone that have nodes
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (used.count(devices_[d].name) == 0 && !(d == 0 && used.size() <= used.count("-"))) continue;
      number[d] = static_cast<uint8_t>(plan.devices.size());
      const auto text = [](const char* s) { return std::string(s == nullptr ? "" : s); };
      const vireo_device_info& info = devices_[d];
      plan.devices.push_back(
          {text(info.name), text(info.delegate), text(info.vendor), text(info.family), text(info.driver)});
    }
    for (const auto* g : *graph.subgraphs()) plan.placement.emplace_back(g->nodes()->size(), kNotSaid);
    size_t next = 0;
    follow(graph, 0, number, &next, &plan.placement);
    for (const vireo_bound& b : bounds_.list()) plan.bounds.push_back({b.name, b.min, b.max});
    return plan;
  }

 private:
  void find_devices(vireo_runtime* runtime) {
    for (const ProfileDevice& wanted : profile_.devices) {
      const int at = find_device(runtime, wanted);
      if (at < 0) {
        std::string here;
        for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i)
          here += (here.empty() ? "" : ", ") + std::string(device_at(runtime, i).name);
        throw Failure("target " + profile_.name + ": " +
                          (wanted.device.empty() ? "delegate \"" + wanted.delegate : "device \"" + wanted.device) +
                          "\" is not here, to compile for it; here are " + here,
                      "name its plug-in: --plugins FILE");
      }
      vireo_error error = VIREO_ERROR_INIT;
      if (says_rates(wanted.rates))
        check(vireo_runtime_set_rates(runtime, static_cast<uint32_t>(at), &wanted.rates, &error), error,
              "set the rates of " + wanted.text());
      devices_.push_back(device_at(runtime, static_cast<uint32_t>(at)));
    }
  }

  std::string names() const {
    std::string list;
    for (const vireo_device_info& d : devices_) list += (list.empty() ? "" : ",") + std::string(d.name);
    return list;
  }
  uint8_t index_of(const std::string& device) const {
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (device == devices_[d].name) return static_cast<uint8_t>(d);
    }
    return kNotSaid;
  }

  void place(const SessionChoice& choice) {
    nodes_.clear();
    visit_placement(model_, choice, bounds_, [this](const vireo_placed_node& n) {
      Placed p;
      p.name = n.name;
      p.op = n.op;
      p.device = n.device;
      p.reason = n.reason;
      p.dtype = n.dtype;
      p.depth = n.depth;
      p.part = n.part;
      p.part_ns = n.part_ns;
      p.bytes_crossing = n.bytes_crossing;
      for (uint32_t v = 0; v < n.verdict_count; ++v) {
        const vireo_verdict& verdict = *n.verdicts[v];
        if (p.device != verdict.device && verdict.takes == 0 && p.reason.empty() &&
            index_of(verdict.device) != kNotSaid)
          p.reason = std::string(verdict.device) + ": " + verdict.reason;
      }
      nodes_.push_back(std::move(p));
    });
  }

  // Times by the profile: what a kernel claims is of no machine in particular. `infos`: the session's, in the same
  // order.
  void expect(const std::vector<vireo_node_info>& infos) {
    for (size_t n = 0; n < nodes_.size() && infos.size() == nodes_.size(); ++n) {
      const uint8_t at = index_of(nodes_[n].device);
      if (at != kNotSaid) nodes_[n].time_ns = by_rates(profile_.devices[at].rates, infos[n]);
    }
  }

  // Visits nodes in the order in which the session told them: bodies behind their owners, but for composites that a
  // device took whole.
  void follow(const fb::Model& graph, uint32_t sub, const std::vector<uint8_t>& number, size_t* next,
              std::vector<std::vector<uint8_t>>* placement) const {
    const auto& nodes = *graph.subgraphs()->Get(sub)->nodes();
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      if (*next >= nodes_.size())
        throw Failure("the session told of fewer nodes than the model has", "report this model");
      const Placed& placed = nodes_[(*next)++];
      const uint8_t d = index_of(placed.device);
      if (d != kNotSaid) (*placement)[sub][n] = number[d];
      const auto* const bodies = nodes.Get(n)->subgraphs();
      const bool whole = static_cast<Op>(nodes.Get(n)->op()) == Op::kComposite && placed.device != "-";
      for (uint32_t b = 0; bodies != nullptr && !whole && b < bodies->size(); ++b)
        follow(graph, bodies->Get(b), number, next, placement);
    }
  }

  // A microcontroller's memory is planned here, once. True: inputs have open sizes, and are refused.
  bool refuse_open_inputs() {
    for (const vireo_value_info& info : model_.inputs()) {
      std::string sizes;
      bool open = false;
      for (int32_t i = 0; i < info.rank; ++i) {
        const bool fixed = info.min_dims[i] == info.max_dims[i];
        open = open || !fixed;
        sizes += (i == 0 ? "" : ",") + std::to_string(fixed ? info.min_dims[i] : i == 0 ? 1 : 32);
      }
      if (!open) continue;
      report_.refused.push_back("the sizes of its input \"" + std::string(info.name) + "\" are open");
      std::string& help = report_.fixes_refused;
      help += (help.empty() ? "fix them, as in --shape " : " --shape ") + std::string(info.name) + "=" + sizes;
    }
    return !report_.refused.empty();
  }

  // What a microcontroller reads: the plan as one compiled part of its own, of all nodes.
  void make_plan(const std::vector<uint8_t>& bare) {
    const firmware::Core core = core_of(profile_);
    auto plan = std::make_shared<firmware::FlatPlan>();
    std::vector<firmware::Refusal> refusals;
    std::string error;
    const ModelBytes file = aligned(bare);
    if (refuse_open_inputs()) return;
    const std::string column = firmware::cost_column(profile_.firmware.core, profile_.firmware.flags);
    if (!firmware::make_flat_plan({static_cast<const uint8_t*>(file.data), file.size}, core, column,
                                  {profile_.firmware.strips, profile_.arena_bytes}, plan.get(), &refusals, &error)) {
      for (const firmware::Refusal& r : refusals)
        report_.refused.push_back(r.op + " node \"" + r.node + "\": " + r.reason);
      if (!error.empty()) report_.refused.push_back(error);
      return;
    }
    CompiledHead head = {};
    head.checked = 1;
    flat_.resize(sizeof head + plan->bytes());
    std::memcpy(flat_.data(), &head, sizeof head);
    std::memcpy(flat_.data() + sizeof head, plan->words.data(), plan->bytes());
    flat_name_ = {};
    pack_delegate("mcu", flat_name_.delegate);
    flat_name_.kind = kCompiledPart;
    flat_name_.sizes[0] = static_cast<int64_t>(plan->steps.size());
    flat_name_.sizes[1] = plan->model;
    flat_name_.sizes[2] = core.tile;
    flat_name_.bytes = flat_.size();
    report_.arena_of = "plan";
    report_.arena_bytes = plan->arena_bytes;
    for (const firmware::PlanStep& step : plan->steps) report_.instructions += step.instructions;
    report_.broken.clear();
    if (profile_.arena_bytes != 0 && plan->arena_bytes > profile_.arena_bytes)
      report_.broken.push_back("target " + profile_.name + ": the arena takes " + std::to_string(plan->arena_bytes) +
                               " bytes, memory.arena allows " + std::to_string(profile_.arena_bytes));
    report_.plan = std::move(plan);
  }
  void add_flat(std::vector<emit::PackedWeights>* list) {
    emit::PackedWeights w = {};
    w.name = flat_name_;
    w.data = flat_.data();
    ++report_.parts;
    report_.compiled_bytes += flat_.size();
    list->push_back(w);
  }

  void count_memory(const fb::Model& graph, const vireo_memory& here) {
    const auto* const portable = graph.plans()->Get(0)->subgraphs();
    const bool planned = portable != nullptr && portable->size() != 0;
    report_.arena_bytes = here.total_bytes;
    std::string what = "a session takes an arena of ";
    if (profile_.pointer_bytes != 0 && profile_.pointer_bytes != sizeof(void*)) {
      report_.arena_of = planned ? "tensors" : "planned tensors";
      report_.arena_bytes = planned ? portable->Get(0)->bytes() : here.tensor_bytes;
      what = "the tensors of a session take ";
    }
    if (profile_.arena_bytes == 0 || report_.arena_bytes <= profile_.arena_bytes) return;
    report_.broken.push_back("target " + profile_.name + ": " + what + std::to_string(report_.arena_bytes) +
                             " bytes, memory.arena allows " + std::to_string(profile_.arena_bytes));
  }

  void tell() {
    std::set<std::pair<uint32_t, uint32_t>> parts;
    for (const Placed& n : nodes_) {
      if (profile_.types != 0 && n.dtype != VIREO_NONE && (profile_.types >> n.dtype & 1) == 0 && n.device != "-")
        report_.troubles.push_back({n.name, n.op + " computes in " + vireo_dtype_text(n.dtype)});
      report_.nodes.push_back({{"name", n.name}, {"op", n.op}, {"device", n.device}, {"reason", n.reason}});
      if (n.device == "-") continue;
      auto d = std::find_if(report_.devices.begin(), report_.devices.end(),
                            [&](const TargetReport::Device& known) { return known.name == n.device; });
      if (d == report_.devices.end()) d = report_.devices.insert(d, TargetReport::Device{n.device});
      ++d->nodes;
      d->bytes_crossing += n.bytes_crossing;
      const bool first = n.part != UINT32_MAX && parts.insert({n.depth, n.part}).second;
      if (first) ++d->parts;
      if (n.part != UINT32_MAX && n.part_ns > 0) {
        d->expected_ns += first ? n.part_ns : 0;
      } else {
        d->expected_ns += n.time_ns;
        d->nodes_without_time += n.time_ns > 0 ? 0 : 1;
      }
    }
    for (TargetReport::Device& d : report_.devices) {
      const uint8_t at = index_of(d.name);
      if (at != kNotSaid) d.energy_mj = profile_.devices[at].watts * d.expected_ns * 1e-6;
    }
  }

  const Profile& profile_;
  std::vector<vireo_device_info> devices_;  // in the profile's order; texts live as long as the runtime
  Model model_;
  Bounds bounds_;
  std::vector<Placed> nodes_;
  TargetReport report_;
  std::vector<uint8_t> flat_;  // a flat plan behind its head, where there is one
  PackEntry flat_name_ = {};
};

std::vector<uint8_t> rewritten(Span<const uint8_t> file, const std::string& name,
                               const std::vector<emit::PackedWeights>& weights, const std::string& note,
                               const std::vector<emit::TargetPlan>& plans, uint32_t alignment) {
  std::string error;
  std::vector<uint8_t> out = emit::with_packed_weights(file, weights, note, &error, &plans, alignment);
  if (out.empty()) throw Failure("cannot write " + name + " for its targets: " + error, "convert the model again");
  return out;
}

std::string time_text(double ns) {
  char text[48];
  snprintf(text, sizeof(text), "%.1f us", ns / 1000);
  return text;
}

}  // namespace

std::vector<Profile> read_profiles(const std::vector<std::string>& names) {
  std::vector<Profile> list;
  for (const std::string& name : names) {
    list.push_back(read_profile(name));
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      if (list[i].name == list.back().name)
        throw Failure("--target " + name + ": a target of the name \"" + list.back().name + "\" is in the list already",
                      "give the profile another name, or leave it out");
    }
  }
  return list;
}

firmware::Core core_of(const Profile& profile) {
  const firmware::Core* const core = firmware::find_core(profile.firmware.core);
  if (core == nullptr)
    throw Failure("target " + profile.name + ": \"firmware.core\": there is no core " + profile.firmware.core,
                  "cores: " + firmware::core_names());
  if (!firmware::has_board(profile.firmware.board))
    throw Failure("target " + profile.name + ": \"firmware.board\": there is no board " + profile.firmware.board,
                  "boards: " + firmware::board_names());
  firmware::Core own = *core;
  own.reals = own.reals && profile.firmware.flags.find("-mfloat-abi=soft") == std::string::npos;
  return own;
}

std::string common_precision(const std::vector<Profile>& profiles, const std::string& given) {
  if (!given.empty() || profiles.empty()) return given;
  for (const Profile& p : profiles) {
    if (p.precision == profiles[0].precision) continue;
    const auto text = [](const Profile& of) {
      return of.name + " wants " + (of.precision.empty() ? "none" : of.precision);
    };
    throw Failure("targets differ in their precision: " + text(profiles[0]) + ", " + text(p),
                  "one file has one precision: say which with --quantize, or convert for each");
  }
  return profiles[0].precision;
}

std::vector<uint8_t> with_targets(Span<const uint8_t> file, const std::string& name,
                                  const std::vector<Profile>& profiles, const TargetOptions& options,
                                  const std::string& note, std::vector<TargetReport>* reports) {
  // Without what an earlier call added: a session would read that and pack and compile nothing.
  const std::vector<uint8_t> bare = rewritten(file, name, {}, "", {}, 0);
  FileHeader header;
  Error e;
  if (read_header({bare.data(), bare.size()}, bare.size(), &header, &e) != Status::kOk)
    throw Failure("cannot read " + name + ": " + e.message, "convert the model again");
  const fb::Model& graph = *fb::GetModel(bare.data() + header.model_offset);
  std::vector<std::unique_ptr<Preparation>> prepared;
  std::vector<emit::PackedWeights> weights;
  std::vector<emit::TargetPlan> plans;
  uint32_t alignment = 0;
  for (const Profile& profile : profiles) {
    prepared.push_back(std::make_unique<Preparation>(bare, graph, name, profile, options));
    prepared.back()->add_copies(&weights);
    plans.push_back(prepared.back()->plan(graph));
    alignment = std::max(alignment, profile.alignment);
  }
  std::vector<uint8_t> out = rewritten({bare.data(), bare.size()}, name, weights, note, plans, alignment);
  for (size_t i = 0; i < profiles.size(); ++i) {
    TargetReport& report = prepared[i]->report();
    report.arena_limit = profiles[i].arena_bytes;
    report.file_limit = profiles[i].file_bytes;
    report.file_bytes = out.size();
    if (profiles[i].file_bytes != 0 && out.size() > profiles[i].file_bytes) {
      report.broken.push_back("target " + profiles[i].name + ": the file has " + std::to_string(out.size()) +
                              " bytes, memory.file allows " + std::to_string(profiles[i].file_bytes));
    }
    reports->push_back(report);
  }
  return out;
}

void check_limits(const std::vector<TargetReport>& reports) {
  for (const TargetReport& report : reports) {
    if (report.refused.empty()) continue;
    std::string nodes;
    for (const std::string& line : report.refused) nodes += "\n  " + line;
    if (!report.fixes_refused.empty())
      throw Failure("target " + report.name + " cannot run the model:" + nodes, report.fixes_refused);
    throw Failure("target " + report.name + " cannot run the model:" + nodes,
                  "models in 8 bits run on every core: vireo quantize MODEL --data SAMPLES --target " + report.name +
                      "; what still has no kernel needs the whole runtime (--target mcu), or another operator");
  }
  std::string all;
  for (const TargetReport& report : reports) {
    for (const std::string& line : report.broken) all += (all.empty() ? "" : "\n  ") + line;
  }
  if (!all.empty())
    throw Failure("the model does not fit: " + all, "a smaller precision (--quantize), shapes, or limits");
}

Json json_of(const TargetReport& report, bool nodes) {
  Json devices = Json::array(), troubles = Json::array();
  for (const TargetReport::Device& d : report.devices) {
    devices.push_back({{"device", d.name},
                       {"nodes", d.nodes},
                       {"parts", d.parts},
                       {"expected_ns", d.expected_ns > 0 ? Json(d.expected_ns) : Json()},
                       {"nodes_without_time", d.nodes_without_time},
                       {"bytes_crossing", d.bytes_crossing},
                       {"energy_mj", d.energy_mj > 0 ? Json(d.energy_mj) : Json()}});
  }
  for (const TargetReport::Trouble& t : report.troubles) troubles.push_back({{"node", t.node}, {"what", t.what}});
  Json out = {{"target", report.name},
              {"devices", devices},
              {"arena_bytes", report.arena_bytes},
              {"arena_of", report.arena_of},
              {"instructions", report.instructions > 0 ? Json(report.instructions) : Json()},
              {"constants", report.constants},
              {"packed_bytes", report.packed_bytes},
              {"parts", report.parts},
              {"compiled_bytes", report.compiled_bytes},
              {"assumed", report.assumed},
              {"limits_broken", report.broken},
              {"refused", report.refused},
              {"other_types", troubles}};
  if (nodes) out["nodes"] = report.nodes;
  return out;
}

namespace {

std::string text_of(const TargetReport::Device& d) {
  std::string text = "    " + d.name + ": " + std::to_string(d.nodes) + " nodes";
  if (d.parts > 0) text += " in " + std::to_string(d.parts) + " parts";
  if (d.expected_ns > 0) text += ", " + time_text(d.expected_ns) + " expected";
  if (d.nodes_without_time == d.nodes)
    text += ", no time is known: the profile gives no rates";
  else if (d.nodes_without_time > 0)
    text += " without " + std::to_string(d.nodes_without_time) + " nodes of which the rates say nothing";
  if (d.bytes_crossing > 0) text += ", " + bytes_text(d.bytes_crossing) + " come from other devices";
  return text + "\n";
}

// Whether the model fits, or what does not; empty where the profile limits nothing.
std::string verdict_of(const TargetReport& report) {
  std::string text;
  for (const std::string& line : report.broken) text += "  " + line + "\n";
  if (!report.broken.empty() || (report.arena_limit == 0 && report.file_limit == 0)) return text;
  text += "  target " + report.name + ": within its limits";
  if (report.arena_limit != 0) {
    text += ", " + (report.arena_of == "session" || report.arena_of == "plan" ? "arena" : report.arena_of) + " " +
            bytes_text(report.arena_bytes) + " of " + bytes_text(report.arena_limit);
  }
  if (report.file_limit != 0)
    text += ", file " + bytes_text(report.file_bytes) + " of " + bytes_text(report.file_limit);
  return text + "\n";
}

}  // namespace

std::string table_of_nodes(const TargetReport& report) {
  std::vector<std::vector<std::string>> rows{{"node", "op", "device", "why"}};
  for (const Json& n : report.nodes)
    rows.push_back({n["name"].get<std::string>(), n["op"].get<std::string>(), n["device"].get<std::string>(),
                    n["reason"].get<std::string>()});
  return table_text(without_empty_columns(std::move(rows)));
}

std::string text_of(const TargetReport& report) {
  std::string text;
  for (const std::string& line : report.assumed) text += "  " + line + "\n";
  text += "  target  " + report.name + ": arena " + bytes_text(report.arena_bytes);
  if (report.arena_of != "session" && report.arena_of != "plan")
    text += " of " + report.arena_of + " (scratch and tables of the target come on top)";
  if (report.constants > 0)
    text += ", packed " + std::to_string(report.constants) + " constants, " + bytes_text(report.packed_bytes);
  if (report.parts > 0)
    text += ", compiled " + std::to_string(report.parts) + " parts, " + bytes_text(report.compiled_bytes);
  if (report.instructions > 0) {
    char count[64];
    snprintf(count, sizeof count, ", %.3g million instructions a run", static_cast<double>(report.instructions) / 1e6);
    text += count;
  }
  text += "\n";
  for (const TargetReport::Device& d : report.devices) {
    if (report.plan == nullptr) text += text_of(d);  // a plan is of one device, and this machine's times are not its
  }
  for (const TargetReport::Trouble& t : report.troubles)
    text += "  target " + report.name + " does not compute in this type: \"" + t.node + "\", " + t.what + "\n";
  for (const std::string& line : report.refused) text += "  target " + report.name + " cannot run it: " + line + "\n";
  return text + verdict_of(report);
}

void add_profiles(Command verb, const std::string& names, std::vector<std::string>* profiles,
                  const std::string& description) {
  std::vector<std::string> known = shipped_names();
  known.emplace_back("help");
  verb.add_repeated(names, *profiles, description).file({".json"}).offer(known);
}

void list_targets(bool json) {
  const std::unique_ptr<vireo_runtime, ReleaseHandle> runtime = [] {
    vireo_runtime* made = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_runtime_create(nullptr, &made, &error), error, "start the runtime");
    return std::unique_ptr<vireo_runtime, ReleaseHandle>(made);
  }();
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows{{"target", "devices", "here", "description"}};
  for (const target::ShippedProfile& shipped : target::shipped_profiles()) {
    const Profile p = read_profile(shipped.name);
    std::string devices, missing;
    for (const ProfileDevice& d : p.devices) {
      devices += (devices.empty() ? "" : ",") + d.text();
      if (find_device(runtime.get(), d) < 0) missing += (missing.empty() ? "without " : ",") + d.text();
    }
    list.push_back({{"target", p.name}, {"devices", devices}, {"missing", missing}, {"description", p.description}});
    rows.push_back({p.name, devices, missing.empty() ? "yes" : missing, p.description});
  }
  if (json) return print_json({{"targets", list}});
  std::cout << table_text(rows);
}

void add_targets(Command app, Context&) {
  auto json = std::make_shared<bool>(false);
  Command verb = app.add_verb("targets", "List the targets that --target takes by name");
  add_json(verb, json.get());
  verb.footer("Examples:\n  vireo targets\n  vireo convert model.onnx -o model.vireo --target npu --plugins FILE");
  verb.callback([json] { list_targets(*json); });
}

}  // namespace vireo::cli

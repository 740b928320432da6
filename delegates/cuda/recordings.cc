#include "delegates/cuda/recordings.h"

#include <array>
#include <cmath>
#include <utility>

namespace vireo::cuda {
namespace {

constexpr unsigned kLogBytes = 1024;

class Compiled final : public gpu::CompiledKernel {
 public:
  explicit Compiled(Device& device) : device_(device) {}
  ~Compiled() override {
    if (module_ == nullptr || device_.untouchable()) return;
    const Device::Current current(device_);
    (void)device_.call().module_unload(module_);
  }
  Result compile(const gpu::Kernel& kernel, std::string* log) {
    const Device::Current current(device_);
    char text[kLogBytes] = "";
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {text, reinterpret_cast<void*>(static_cast<uintptr_t>(kLogBytes))};
    Result result = device_.call().module_load(&module_, kernel.words.data(), 2, options, values);
    if (result != kSuccess) {
      module_ = nullptr;
      *log = text;
      return result;
    }
    result = device_.call().module_function(&function_, module_, "kernel");
    if (result == kSuccess && kernel.shared_bytes != 0)
      result = device_.call().function_set(function_, kMostLaunchShared, static_cast<int>(kernel.shared_bytes));
    return result;
  }
  Function function() const { return function_; }

 private:
  Device& device_;
  Module module_ = nullptr;
  Function function_ = nullptr;
};

}  // namespace

std::unique_ptr<gpu::Recordings> Device::recordings() { return std::make_unique<Recordings>(*this); }

Recordings::~Recordings() {
  for (uint32_t slot = 0; slot < kKept; ++slot) {
    drop(slot);
    if (events_[slot].empty() || device_.untouchable()) continue;
    const Device::Current current(device_);
    for (const Event event : events_[slot]) (void)device_.call().event_destroy(event);
  }
}

void Recordings::drop(uint32_t slot) {
  if (!kept_[slot].empty() && !device_.untouchable()) {
    const Device::Current current(device_);
    for (const GraphExec piece : kept_[slot]) (void)device_.call().graph_exec_destroy(piece);
  }
  kept_[slot].clear();
}

vireo_status Recordings::make(gpu::Schedule schedule, std::string* why) {
  schedule_ = std::move(schedule);
  uint32_t failed = 0;
  std::vector<std::string> logs(schedule_.kernels.size());
  const auto compile = [&](const gpu::Kernel& kernel, std::shared_ptr<gpu::CompiledKernel>* out) {
    auto made = std::make_shared<Compiled>(device_);
    std::string& log = logs[static_cast<size_t>(&kernel - schedule_.kernels.data())];
    const Result result = made->compile(kernel, &log);
    if (result != kSuccess) log = device_.driver().name_of(result) + (log.empty() ? "" : ": " + log);
    *out = std::move(made);
    return result;
  };
  if (const Result result = device_.kernels().make(schedule_.kernels, compile, &kernels_, &failed);
      result != kSuccess) {
    *why = "the driver does not compile kernel \"" + schedule_.kernels[failed].name + "\": " + logs[failed];
    return device_.take(result);
  }
  for (gpu::Kernel& k : schedule_.kernels) k.words = std::vector<uint32_t>();
  return VIREO_OK;
}

vireo_status Recordings::make_events(uint32_t slot) {
  std::vector<Event>& events = events_[slot];
  while (events.size() < 2 * schedule_.steps.size()) {
    Event event = nullptr;
    if (const Result result = device_.call().event_create(&event, kEventWithTiming); result != kSuccess)
      return device_.take(result);
    events.push_back(event);
  }
  return VIREO_OK;
}

bool Recordings::read_times(uint32_t slot, std::vector<gpu::StepTime>* out) {
  const std::vector<Event>& events = events_[slot];
  if (events.empty()) return false;
  const Device::Current current(device_);
  const auto ns = [&](size_t event, uint64_t* to) {
    float ms = 0;
    if (device_.call().event_elapsed(&ms, events[0], events[event]) != kSuccess) return false;
    *to = static_cast<uint64_t>(std::llround(static_cast<double>(ms) * 1e6));
    return true;
  };
  out->assign(events.size() / 2, gpu::StepTime());
  for (size_t i = 0; i < out->size(); ++i) {
    if (!ns(2 * i, &(*out)[i].begin_ns) || !ns(2 * i + 1, &(*out)[i].end_ns)) return false;
  }
  return true;
}

// Steps between two barriers may run at once: each waits for those between the barriers before it. Where steps are
// timed, one waits for the other.
Result Recordings::build(Graph graph, uint32_t slot, const gpu::Stretch& piece, const gpu::Place* places,
                         const gpu::OwnPlaces& own) const {
  const std::vector<Event>& events = events_[slot];
  std::vector<GraphNode> before, since;
  for (uint32_t s = piece.first; s < piece.end; ++s) {
    const gpu::Launch& step = schedule_.steps[s];
    if ((step.barrier || !events.empty()) && !since.empty()) {
      before = std::move(since);
      since.clear();
    }
    std::vector<uint64_t> addresses;
    std::vector<uint32_t> push = step.push;
    addresses.reserve(step.bindings.size());
    std::vector<void*> arguments;
    for (const gpu::Binding& b : step.bindings) {
      const gpu::Place at = place_of(schedule_, places, own, b);
      addresses.push_back(at.buffer == nullptr ? 0 : at.buffer->block.handle + at.offset);
      arguments.push_back(&addresses.back());
    }
    for (uint32_t& word : push) arguments.push_back(&word);
    KernelNode node;
    node.function = static_cast<const Compiled&>(*kernels_[step.kernel]).function();
    node.grid_x = step.groups[0];
    node.grid_y = step.groups[1];
    node.grid_z = step.groups[2];
    const std::array<uint32_t, 3>& size = schedule_.kernels[step.kernel].size;
    node.block_x = size[0];
    node.block_y = size[1];
    node.block_z = size[2];
    node.shared_bytes = schedule_.kernels[step.kernel].shared_bytes;
    node.arguments = arguments.data();
    GraphNode added = nullptr;
    const auto stamp = [&](const std::vector<GraphNode>& behind, size_t event) {
      return device_.call().graph_add_event(&added, graph, behind.data(), behind.size(), events[event]);
    };
    if (!events.empty()) {
      if (const Result result = stamp(before, 2 * s); result != kSuccess) return result;
      before = {added};
    }
    // Where one kernel follows one other, its workgroups come to the card while that one ends.
    const bool early = before.size() == 1 && events.empty() && device_.starts_early();
    Result result = device_.call().graph_add_kernel(&added, graph, before.data(), early ? 0 : before.size(), &node);
    if (result == kSuccess && early)
      result = device_.call().graph_add_edges(graph, before.data(), &added, &kProgrammatic, 1);
    if (result == kSuccess && !events.empty()) result = stamp({added}, 2 * s + 1);
    if (result != kSuccess) return result;
    since.push_back(added);
  }
  return kSuccess;
}

vireo_status Recordings::record(uint32_t slot, const std::vector<gpu::Stretch>& pieces, const gpu::Place* places,
                                const gpu::OwnPlaces& own, std::vector<gpu::Commands>* out) {
  drop(slot);
  out->clear();
  const Device::Current current(device_);
  if (timed() && device_.can_time()) {
    if (const vireo_status status = make_events(slot); status != VIREO_OK) return status;
  }
  for (const gpu::Stretch& piece : pieces) {
    Graph graph = nullptr;
    if (const Result result = device_.call().graph_create(&graph, 0); result != kSuccess) return device_.take(result);
    GraphExec made = nullptr;
    Result result = build(graph, slot, piece, places, own);
    if (result == kSuccess) result = device_.call().graph_instantiate(&made, graph, 0);
    (void)device_.call().graph_destroy(graph);
    if (result != kSuccess) return device_.take(result);
    kept_[slot].push_back(made);
    out->push_back(made);
  }
  return VIREO_OK;
}

}  // namespace vireo::cuda

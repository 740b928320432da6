// The launches of a schedule as graphs of a driver: one for each set of places that its values have lain at.
#ifndef VIREO_DELEGATES_GPU_STREAM_RECORDINGS_H_
#define VIREO_DELEGATES_GPU_STREAM_RECORDINGS_H_

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegates/gpu/stream/device.h"

namespace vireo::gpu {

// A launch as a driver takes it: its function, and addresses of its arguments.
template <class Api>
struct StreamStep {
  typename Api::Function function = nullptr;
  std::array<uint32_t, 3> groups{1, 1, 1}, size{1, 1, 1};
  uint32_t shared_bytes = 0;
  void** arguments = nullptr;
};

// When a kernel's workgroups come to the card: when what is before it has ended and can be seen; when its last
// workgroup ends; when all its workgroups have begun. A kernel waits by itself then (Op::kAwait).
enum class Start { kDone, kEnds, kBegun };

template <class Api>
class StreamKernel final : public CompiledKernel {
 public:
  explicit StreamKernel(StreamDevice<Api>& device) : device_(device) {}
  ~StreamKernel() override {
    if (module_ == nullptr || device_.untouchable()) return;
    const typename StreamDevice<Api>::Current current(device_);
    unload();
  }
  // `known`: machine code that another process had made. `kept`: other processes are to have it.
  typename Api::Result compile(const Kernel& kernel, const std::vector<uint8_t>& known, bool kept, std::string* log) {
    const typename StreamDevice<Api>::Current current(device_);
    if (!known.empty()) {
      const typename Api::Result result = load(kernel, known.data(), log);
      if (kept && Api::status_of(result) == VIREO_OK) code_ = known;
      if (Api::status_of(result) != VIREO_UNSUPPORTED) return result;
    }
    std::vector<uint8_t> code;
    if (Api::make_code(device_.driver(), device_.card(), kernel, &code, log)) {
      const typename Api::Result result = load(kernel, code.data(), log);
      if (kept && Api::status_of(result) == VIREO_OK) code_ = std::move(code);
      if (Api::status_of(result) != VIREO_UNSUPPORTED || !Api::kTakesText) return result;
    }
    return Api::kTakesText ? load(kernel, kernel.words.data(), log) : Api::kNoImage;
  }
  typename Api::Function function() const { return function_; }
  // What compile() found or made of it, if that was to be kept.
  const std::vector<uint8_t>& code() const { return code_; }

 private:
  // What fails leaves no module: another image may come after it.
  typename Api::Result load(const Kernel& kernel, const void* image, std::string* log) {
    const typename Api::Result result = Api::load(device_.driver(), kernel, image, &module_, &function_, log);
    if (Api::status_of(result) != VIREO_OK && module_ != nullptr) unload();
    return result;
  }
  void unload() {
    (void)device_.driver().call().module_unload(module_);
    module_ = nullptr;
  }

  StreamDevice<Api>& device_;
  std::vector<uint8_t> code_;
  typename Api::Module module_ = nullptr;
  typename Api::Function function_ = nullptr;
};

template <class Api>
class StreamRecordings final : public Recordings {
 public:
  using Result = typename Api::Result;
  explicit StreamRecordings(StreamDevice<Api>& device) : device_(device) {}
  ~StreamRecordings() override {
    for (uint32_t slot = 0; slot < kKept; ++slot) {
      drop(slot);
      if (events_[slot].empty() || device_.untouchable()) continue;
      const Current current(device_);
      for (const typename Api::Event event : events_[slot]) (void)device_.driver().call().event_destroy(event);
    }
  }
  StreamRecordings(const StreamRecordings&) = delete;
  StreamRecordings& operator=(const StreamRecordings&) = delete;

  vireo_status make(Schedule schedule, std::string* why) override;

 private:
  using Current = typename StreamDevice<Api>::Current;
  static bool good(Result result) { return Api::status_of(result) == VIREO_OK; }
  vireo_status record(uint32_t slot, const std::vector<Stretch>& pieces, const Place* places, const OwnPlaces& own,
                      std::vector<Commands>* out) override;
  Result build(typename Api::Graph graph, uint32_t slot, const Stretch& piece, const Place* places,
               const OwnPlaces& own) const;
  vireo_status make_events(uint32_t slot);
  bool read_times(uint32_t slot, std::vector<StepTime>* out) override;
  void drop(uint32_t slot) {
    if (!graphs_[slot].empty() && !device_.untouchable()) {
      const Current current(device_);
      for (const typename Api::GraphExec piece : graphs_[slot]) (void)device_.driver().call().graph_exec_destroy(piece);
    }
    graphs_[slot].clear();
  }

  StreamDevice<Api>& device_;
  std::vector<std::shared_ptr<CompiledKernel>> kernels_;
  std::vector<typename Api::GraphExec> graphs_[kKept];  // of each piece
  std::vector<typename Api::Event> events_[kKept];      // where steps are timed: before each, and behind it
};

template <class Api>
std::unique_ptr<Recordings> StreamDevice<Api>::recordings() {
  return std::make_unique<StreamRecordings<Api>>(*this);
}

template <class Api>
vireo_status StreamRecordings<Api>::make(Schedule schedule, std::string* why) {
  schedule_ = std::move(schedule);
  uint32_t failed = 0;
  std::vector<std::string> logs(schedule_.kernels.size());
  KernelCode none;
  KernelCode& shared = code() == nullptr ? none : *code();
  shared.of.resize(schedule_.kernels.size());
  const auto compile = [&](const Kernel& kernel, std::shared_ptr<CompiledKernel>* out) {
    auto made = std::make_shared<StreamKernel<Api>>(device_);
    const auto index = static_cast<size_t>(&kernel - schedule_.kernels.data());
    std::string& log = logs[index];
    const Result result = made->compile(kernel, shared.of[index], &shared != &none, &log);
    if (!good(result)) log = device_.driver().name_of(result) + (log.empty() ? "" : ": " + log);
    *out = std::move(made);
    return static_cast<int>(result);
  };
  if (const int result = device_.kernels().make(schedule_.kernels, compile, &kernels_, &failed); result != 0) {
    *why = "the driver does not compile kernel \"" + schedule_.kernels[failed].name + "\": " + logs[failed];
    return device_.take(static_cast<Result>(result));
  }
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const auto& kernel = static_cast<const StreamKernel<Api>&>(*kernels_[i]);
    shared.made = shared.made || shared.of[i] != kernel.code();
    shared.of[i] = kernel.code();
  }
  share(nullptr);
  for (Kernel& k : schedule_.kernels) k.words = std::vector<uint32_t>();
  return VIREO_OK;
}

template <class Api>
vireo_status StreamRecordings<Api>::make_events(uint32_t slot) {
  std::vector<typename Api::Event>& events = events_[slot];
  while (events.size() < 2 * schedule_.steps.size()) {
    typename Api::Event event = nullptr;
    if (const Result result = device_.driver().call().event_create(&event, Api::kTimingFlags); !good(result))
      return device_.take(result);
    events.push_back(event);
  }
  return VIREO_OK;
}

template <class Api>
bool StreamRecordings<Api>::read_times(uint32_t slot, std::vector<StepTime>* out) {
  const std::vector<typename Api::Event>& events = events_[slot];
  if (events.empty()) return false;
  const Current current(device_);
  const auto ns = [&](size_t event, uint64_t* to) {
    float ms = 0;
    if (!good(device_.driver().call().event_elapsed(&ms, events[0], events[event]))) return false;
    *to = static_cast<uint64_t>(std::llround(static_cast<double>(ms) * 1e6));
    return true;
  };
  out->assign(events.size() / 2, StepTime());
  for (size_t i = 0; i < out->size(); ++i) {
    if (!ns(2 * i, &(*out)[i].begin_ns) || !ns(2 * i + 1, &(*out)[i].end_ns)) return false;
  }
  return true;
}

// Steps between two barriers may run at once: each waits for those between the barriers before it. Where steps are
// timed, one waits for the other.
template <class Api>
typename Api::Result StreamRecordings<Api>::build(typename Api::Graph graph, uint32_t slot, const Stretch& piece,
                                                  const Place* places, const OwnPlaces& own) const {
  const std::vector<typename Api::Event>& events = events_[slot];
  std::vector<typename Api::GraphNode> before, since;
  for (uint32_t s = piece.first; s < piece.end; ++s) {
    const Launch& launch = schedule_.steps[s];
    if ((launch.barrier || !events.empty()) && !since.empty()) {
      before = std::move(since);
      since.clear();
    }
    std::vector<uint64_t> addresses;
    std::vector<uint32_t> push = launch.push;
    addresses.reserve(launch.bindings.size());
    std::vector<void*> arguments;
    for (const Binding& b : launch.bindings) {
      const Place at = place_of(schedule_, places, own, b);
      addresses.push_back(at.buffer == nullptr ? 0 : at.buffer->block.handle + at.offset);
      arguments.push_back(&addresses.back());
    }
    for (uint32_t& word : push) arguments.push_back(&word);
    const Kernel& kernel = schedule_.kernels[launch.kernel];
    StreamStep<Api> step;
    step.function = static_cast<const StreamKernel<Api>&>(*kernels_[launch.kernel]).function();
    step.groups = launch.groups;
    step.size = kernel.size;
    step.shared_bytes = kernel.shared_bytes;
    step.arguments = arguments.data();
    typename Api::GraphNode added = nullptr;
    const auto stamp = [&](const std::vector<typename Api::GraphNode>& behind, size_t event) {
      return device_.driver().call().graph_add_event(&added, graph, behind.data(), behind.size(), events[event]);
    };
    if (!events.empty()) {
      if (const Result result = stamp(before, 2 * s); !good(result)) return result;
      before = {added};
    }
    // Where one kernel follows one other, its workgroups may come to the card while that one ends. One that asks for
    // weights first may do so while the other still runs; without anything to ask for, its workgroups would only be in
    // the way.
    Start start = Start::kDone;
    if (before.size() == 1 && events.empty() && Api::starts_early(device_.driver(), device_.card()))
      start = kernel.begins_early ? Start::kBegun : Start::kEnds;
    Result result = Api::follow(device_.driver(), graph, step, before, start, &added);
    if (good(result) && !events.empty()) result = stamp({added}, 2 * s + 1);
    if (!good(result)) return result;
    since.push_back(added);
  }
  return Result{};
}

template <class Api>
vireo_status StreamRecordings<Api>::record(uint32_t slot, const std::vector<Stretch>& pieces, const Place* places,
                                           const OwnPlaces& own, std::vector<Commands>* out) {
  drop(slot);
  out->clear();
  const Current current(device_);
  const auto& call = device_.driver().call();
  if (timed() && Api::can_time(device_.driver())) {
    if (const vireo_status status = make_events(slot); status != VIREO_OK) return status;
  }
  for (const Stretch& piece : pieces) {
    typename Api::Graph graph = nullptr;
    if (const Result result = call.graph_create(&graph, 0); !good(result)) return device_.take(result);
    typename Api::GraphExec made = nullptr;
    Result result = build(graph, slot, piece, places, own);
    if (good(result)) result = call.graph_instantiate(&made, graph, 0);
    (void)call.graph_destroy(graph);
    if (!good(result)) return device_.take(result);
    graphs_[slot].push_back(made);
    out->push_back(made);
  }
  return VIREO_OK;
}

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_STREAM_RECORDINGS_H_

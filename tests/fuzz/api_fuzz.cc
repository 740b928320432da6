// Sequences of calls of the C API, as a program may make them: bytes say which call comes next and with what, over a
// few models, sessions and pipelines of its own. Handles are valid or NULL, memory is as long as it is said to be; all
// else is as the bytes have it. Everything is released in an order that the bytes choose, and then all memory is back.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tests/faults/heap.h"
#include "tests/fuzz/harness.h"
#include "vireo/fleet.h"
#include "vireo/vireo.h"

namespace {

// C lets any number stand for a choice.
template <class Choice>
void put(Choice* choice, uint64_t number) {
  const auto n = static_cast<uint32_t>(number);
  static_assert(sizeof(*choice) == sizeof(n), "C's enums are ints here");
  std::memcpy(choice, &n, sizeof(n));
}

using namespace vireo::fuzz;

Reached reached{"session", "ran", "pipeline"};
enum { kSession, kRan, kPipeline };

const std::vector<Bytes>& files() {
  static const auto* const all =
      new std::vector<Bytes>{read_whole(VIREO_SOURCE_ROOT "/tests/golden/integer_golden.vireo"),
                             read_whole(VIREO_BINARY_ROOT "/models/fuzz/state.vireo"),
                             read_whole(VIREO_BINARY_ROOT "/models/fuzz/open.vireo")};
  return *all;
}

class Program {
 public:
  explicit Program(Reader* in) : in_(*in) {
    heap_.most = 64u << 20;
    const vireo_allocator allocator = heap_.allocator();
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.allocator = &allocator;
    options.threads = 1 + static_cast<int32_t>(in_.below(2));
    options.plugins = "";
    if (in_.chance(20)) heap_.fail(in_.below(600), true);
    status(vireo_runtime_create(&options, &runtime_, &error_));
  }
  ~Program() {
    while (!pipelines_.empty()) vireo_pipeline_release(take(&pipelines_));
    while (!sessions_.empty() || !models_.empty()) {
      // A model's handle may go before its sessions: they keep it.
      if (!models_.empty() && (sessions_.empty() || in_.chance(128)))
        vireo_model_release(take(&models_));
      else
        vireo_session_release(take(&sessions_));
    }
    vireo_runtime_release(runtime_);
    VIREO_FUZZ_CHECK(heap_.live == 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void step() {
    switch (in_.below(18)) {
      case 0:
      case 1:
        return load();
      case 2:
      case 3:
      case 4:
        return create();
      case 5:
      case 6:
      case 7:
        return run();
      case 8:
        return ask_model();
      case 9:
        return ask_session();
      case 10:
        return shape();
      case 11:
        return reserve();
      case 12:
        status(vireo_session_reset(some(sessions_), &error_));
        return;
      case 13:
        if (in_.chance(128) && !sessions_.empty())
          vireo_session_release(take(&sessions_));
        else if (!models_.empty() && sessions_.size() + pipelines_.size() == 0)
          vireo_model_release(take(&models_));
        return;
      case 14:
        return pipeline();
      case 15:
        return drive();
      case 16:
        heap_.fail(in_.chance(128) ? -1 : in_.below(60), true);
        return;
      default:
        vireo_session_cancel(some(sessions_));
    }
  }

 private:
  static constexpr size_t kMost = 4;          // of a kind
  static constexpr size_t kMostValues = 256;  // more than any of the models has inputs or outputs

  template <class T>
  T* some(const std::vector<T*>& list) {
    return list.empty() || in_.chance(3) ? nullptr : list[in_.below(static_cast<uint32_t>(list.size()))];
  }
  template <class T>
  T* take(std::vector<T*>* list) {
    const size_t at = in_.below(static_cast<uint32_t>(list->size()));
    T* const one = (*list)[at];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    return one;
  }
  // A failure says what it is.
  bool status(vireo_status s) {
    VIREO_FUZZ_CHECK(s == VIREO_OK || (vireo_status_text(s)[0] != 0 && error_.status == s && error_.message[0] != 0));
    error_ = VIREO_ERROR_INIT;
    return s == VIREO_OK;
  }

  void load() {
    if (models_.size() >= kMost) return;
    const Bytes& file = files()[in_.below(static_cast<uint32_t>(files().size()))];
    const size_t size = in_.chance(10) ? in_.below(static_cast<uint32_t>(file.size())) : file.size();
    copies_.push_back(std::make_unique<AlignedCopy>(file.data(), size));  // exactly so long, and longer than its model
    vireo_model* model = nullptr;
    if (status(vireo_model_load_memory(in_.chance(3) ? nullptr : runtime_,
                                       in_.chance(3) ? nullptr : copies_.back()->data(), size, &model, &error_)))
      models_.push_back(model);
  }

  // Options that live until the next call.
  const vireo_session_options* options(const vireo_model* model) {
    options_ = VIREO_SESSION_OPTIONS_INIT;
    if (in_.chance(3)) options_.struct_size = static_cast<uint32_t>(in_.number());
    options_.threads = static_cast<int32_t>(in_.chance(200) ? in_.below(3) : in_.number());
    options_.profile = in_.below(2);
    put(&options_.packing, in_.below(4));
    options_.seed = in_.word();
    const char* const devices[] = {nullptr, "auto", "cpu", "null,cpu", "cpu,cpu", "npu", ",", "cpu,", "xnnpack,cpu"};
    options_.device = devices[in_.below(in_.chance(128) ? 2 : 9)];
    const char* const shares[] = {nullptr, "cpu>=1%", "cpu=100%", "cpu", "npu>=101%", "%"};
    options_.require = shares[in_.below(in_.chance(200) ? 1 : 6)];
    const char* const targets[] = {nullptr, "", "cpu", "?"};
    options_.target = targets[in_.below(in_.chance(200) ? 2 : 4)];
    put(&options_.failover, in_.below(4));
    bounds_.clear();
    for (uint32_t i = 0; model != nullptr && i < vireo_model_dimension_count(model) + in_.below(2); ++i) {
      vireo_dimension d = VIREO_DIMENSION_INIT;
      vireo_bound b = {};
      b.name = vireo_model_dimension(model, i, &d, nullptr) == VIREO_OK && !in_.chance(6) ? d.name : "another";
      b.min = in_.chance(230) ? 1 : in_.number();
      b.max = in_.chance(230) ? 1 + in_.below(6) : in_.number();
      bounds_.push_back(b);
    }
    options_.bounds = bounds_.data();
    options_.bound_count = static_cast<uint32_t>(bounds_.size());
    return in_.chance(6) ? nullptr : &options_;
  }

  void create() {
    if (sessions_.size() >= kMost) return;
    const vireo_model* const model = some(models_);
    const vireo_session_options* const with = options(model);
    vireo_memory memory = VIREO_MEMORY_INIT;
    const bool known = status(vireo_model_memory(model, with, &memory, &error_));
    if (known && memory.total_bytes > (32u << 20)) return;
    vireo_session* session = nullptr;
    heap_.failed = false;
    const bool made = status(vireo_session_create(model, with, &session, &error_));
    // What memory says is enough, as long as the allocator has it.
    VIREO_FUZZ_CHECK(made || !known || heap_.failed || with == nullptr || with->require != nullptr);
    if (!made) return;
    sessions_.push_back(session);
    reached(kSession);
  }

  void run() {
    vireo_session* const session = some(sessions_);
    std::vector<vireo_tensor> in, out;
    std::vector<Bytes> held;
    held.reserve(kMostValues);
    // The session does not tell how many it has: those of its own memory end with an error.
    for (uint32_t i = 0; i < kMostValues; ++i) {
      vireo_tensor t = {};
      if (vireo_session_input(session, i, &t, &error_) != VIREO_OK) break;
      if (in_.chance(128)) {
        if (t.capacity > 0 && t.dtype != VIREO_STRING) std::memset(t.data, in_.byte(), static_cast<size_t>(t.capacity));
        t.data = nullptr;
      } else {
        if (in_.chance(60)) t.dims[in_.below(VIREO_MAX_RANK)] = in_.number();
        if (in_.chance(10)) t.rank = static_cast<int32_t>(in_.number());
        if (in_.chance(10)) t.dtype = in_.byte();
        int64_t count = 1;
        for (int32_t d = 0; d < t.rank && d < VIREO_MAX_RANK; ++d)
          count = t.dims[d] >= 0 && t.dims[d] < 4096 && count < 4096 ? count * t.dims[d] : int64_t{1} << 40;
        const int64_t bytes = vireo_dtype_bytes(t.dtype, count);
        if (bytes < 0 || bytes > (1 << 22))
          t.capacity = 0, held.emplace_back(64);
        else
          t.capacity = bytes, held.emplace_back(static_cast<size_t>(bytes) + 64, in_.byte());
        auto* const data = held.back().data();
        t.data = data + (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
        if (in_.chance(10) && t.capacity > 0) t.capacity = in_.below(static_cast<uint32_t>(t.capacity));
      }
      in.push_back(t);
    }
    error_ = VIREO_ERROR_INIT;
    out.resize(kMostValues);
    if (status(vireo_session_run(session, in_.chance(128) || in.empty() ? nullptr : in.data(),
                                 in_.chance(40) ? nullptr : out.data(), &error_)))
      reached(kRan);
  }

  void ask_model() {
    const vireo_model* const model = some(models_);
    const auto index = static_cast<uint32_t>(in_.number());
    vireo_value_info value = VIREO_VALUE_INFO_INIT;
    status(vireo_model_input(model, index, &value, &error_));
    status(vireo_model_output(model, index, &value, &error_));
    vireo_plan_info plan = VIREO_PLAN_INFO_INIT;
    status(vireo_model_plan(model, index, &plan, &error_));
    vireo_model_about about = VIREO_MODEL_ABOUT_INIT;
    status(vireo_model_describe(model, &about, &error_));
    vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
    status(vireo_model_packed(model, index, &copy, &error_));
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    status(vireo_runtime_device(runtime_, index, &device, &error_));
    const auto count = [](void* n, const vireo_placed_node* node) {
      *static_cast<size_t*>(n) += std::strlen(node->name) + node->verdict_count;
    };
    size_t seen = 0;
    const vireo_placement_visitor visitor = {&seen, count};
    status(vireo_model_placement(model, options(model), in_.chance(3) ? nullptr : &visitor, &error_));
    vireo_device_choice choices[2] = {};
    choices[0].struct_size = choices[1].struct_size = sizeof(choices[0]);
    uint32_t found = 0;
    vireo_limits limits = VIREO_LIMITS_INIT;
    limits.memory_bytes = in_.word();
    status(vireo_model_devices(model, options(model), &limits, choices, in_.below(3), &found, &error_));
  }

  void ask_session() {
    vireo_session* const session = some(sessions_);
    const auto index = static_cast<uint32_t>(in_.number());
    vireo_node_info node = VIREO_NODE_INFO_INIT;
    status(vireo_session_node(session, index, &node, &error_));
    vireo_tensor input = {};
    status(vireo_session_input(session, index, &input, &error_));
    (void)vireo_session_failover_count(session);
    (void)vireo_session_node_count(session);
    (void)vireo_session_selftest(session, index, &error_);
    error_ = VIREO_ERROR_INIT;
  }

  void shape() {
    int64_t dims[VIREO_MAX_RANK];
    for (int64_t& d : dims) d = in_.chance(200) ? 1 + in_.below(6) : in_.number();
    const auto rank = static_cast<int32_t>(in_.chance(200) ? in_.below(5) : in_.number());
    status(vireo_session_input_shape(some(sessions_), in_.below(3), in_.chance(5) ? nullptr : dims, rank, &error_));
  }

  void reserve() {
    if (sessions_.empty()) return;
    vireo_session*& session = sessions_[in_.below(static_cast<uint32_t>(sessions_.size()))];
    (void)options(some(models_));
    for (const vireo_bound& b : bounds_) {
      if (b.max > 4096) return;
    }
    status(vireo_session_reserve(&session, bounds_.data(), static_cast<uint32_t>(bounds_.size()), &error_));
  }

  void pipeline() {
    if (pipelines_.size() >= 2) return;
    const vireo_model* const model = some(models_);
    vireo_pipeline_options with = VIREO_PIPELINE_OPTIONS_INIT;
    with.depth = in_.below(in_.chance(200) ? 3 : 100);
    (void)options(model);
    options_.profile = 0;
    for (const vireo_bound& b : bounds_) {
      if (b.max > 4096) return;
    }
    with.session = in_.chance(20) ? nullptr : &options_;
    vireo_pipeline* made = nullptr;
    if (status(vireo_pipeline_create(model, &with, &made, &error_))) {
      pipelines_.push_back(made);
      reached(kPipeline);
    }
  }

  // Submits with inputs that are too few, of the wrong kind, or none; waits a moment at most.
  void drive() {
    vireo_pipeline* const p = some(pipelines_);
    const std::vector<vireo_tensor> in(kMostValues);
    if (in_.chance(200)) status(vireo_pipeline_submit(p, in.data(), nullptr, nullptr, VIREO_WHEN_FULL_BUSY, &error_));
    vireo_finished done = VIREO_FINISHED_INIT;
    status(vireo_pipeline_wait(p, in_.below(2) * 1000, &done, &error_));
  }

  Reader& in_;
  vireo::faults::Heap heap_;
  vireo_runtime* runtime_ = nullptr;
  std::vector<std::unique_ptr<AlignedCopy>> copies_;
  std::vector<vireo_model*> models_;
  std::vector<vireo_session*> sessions_;
  std::vector<vireo_pipeline*> pipelines_;
  vireo_session_options options_ = VIREO_SESSION_OPTIONS_INIT;
  std::vector<vireo_bound> bounds_;
  vireo_error error_ = VIREO_ERROR_INIT;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  Reader in(data, size);
  Program program(&in);
  for (int steps = 0; in.left() > 0 && steps < 64; ++steps) program.step();
  return 0;
}

// Sequences of calls of the C API, as a program may make them: bytes say which call comes next and with what, over a
// few models, sessions and pipelines of its own. Handles are valid or NULL, memory is as long as it is said to be; all
// else is as the bytes have it. Everything is released in an order that the bytes choose, and then all memory is back.
//
// In some inputs threads share a model, each with a session of its own. What each of them calls is drawn before they
// start, so that an input does the same each time but for the order in which they come to it; answers do not depend on
// it.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "tests/faults/heap.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sealed.h"
#include "tests/support/roots.h"
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

Reached reached{"session", "ran", "pipeline", "ran in a pipeline", "split", "ran in a split", "threads", "cancelled"};
enum { kSession, kRan, kPipeline, kPipelineRan, kSplit, kSplitRan, kThreads, kCancelled };

Bytes built(const char* name) { return read_whole(vireo::tests::build_path("models/fuzz/") + name + ".vireo"); }

const std::vector<Bytes>& files() {
  static const auto* const all = [] {
    auto* const list = new std::vector<Bytes>{
        read_whole(vireo::tests::source_path("tests/golden/integer_golden.vireo")), built("state"), built("open")};
    list->push_back(built("conv_for_targets"));
    list->push_back(built("loop_of_if"));
    list->push_back(sealed(list->at(2), Seal::kSigned));
    list->push_back(sealed(list->at(3), Seal::kBoth));
    for (const Bytes& file : *list) VIREO_FUZZ_CHECK(!file.empty());
    return list;
  }();
  return *all;
}

// Inputs of a model in memory of their own: extents that are open are `open`, bytes are those of `fill`.
struct Values {
  std::vector<Bytes> held;
  std::vector<vireo_tensor> in, out;

  Values(const vireo_model* model, int64_t open, uint8_t fill) : out(vireo_model_output_count(model)) {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_value_info info = VIREO_VALUE_INFO_INIT;
      VIREO_FUZZ_CHECK(vireo_model_input(model, i, &info, nullptr) == VIREO_OK);
      vireo_tensor t = {};
      t.dtype = info.dtype;
      t.rank = info.rank;
      int64_t count = 1;
      for (int32_t d = 0; d < info.rank; ++d) count *= t.dims[d] = info.max_dims[d] < 0 ? open : info.max_dims[d];
      t.capacity = vireo_dtype_bytes(info.dtype, count);
      VIREO_FUZZ_CHECK(t.capacity >= 0 && t.capacity < (1 << 22));
      held.emplace_back(static_cast<size_t>(t.capacity) + 64, fill);
      auto* const data = held.back().data();
      t.data = data + (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
      in.push_back(t);
    }
  }
};

// Every byte of the outputs, to be compared.
Bytes answer(const std::vector<vireo_tensor>& out) {
  Bytes bytes;
  for (const vireo_tensor& t : out) {
    int64_t count = 1;
    for (int32_t d = 0; d < t.rank; ++d) count *= t.dims[d];
    const int64_t size = vireo_dtype_bytes(t.dtype, count);
    const auto* const p = static_cast<const uint8_t*>(t.data);
    if (p != nullptr && t.dtype != VIREO_STRING && size > 0) bytes.insert(bytes.end(), p, p + size);
  }
  return bytes;
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
    if (status(vireo_runtime_create(&options, &runtime_, &error_))) trust_test_keys(runtime_);
  }
  ~Program() {
    while (!pipelines_.empty()) release_pipeline(in_.below(static_cast<uint32_t>(pipelines_.size())));
    while (!splits_.empty()) vireo_split_release(take(&splits_));
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
    switch (in_.below(22)) {
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
        else if (!models_.empty() && sessions_.size() + pipelines_.size() + splits_.size() == 0)
          vireo_model_release(take(&models_));
        return;
      case 14:
        return pipeline();
      case 15:
        return drive();
      case 16:
        heap_.fail(in_.chance(128) ? -1 : in_.below(60), true);
        return;
      case 17:
        return split();
      case 18:
        return drive_split();
      case 19:
        if (!pipelines_.empty())
          vireo_pipeline_cancel(pipelines_[in_.below(static_cast<uint32_t>(pipelines_.size()))].p);
        return;
      case 20:
        if (!pipelines_.empty() && in_.chance(128))
          release_pipeline(in_.below(static_cast<uint32_t>(pipelines_.size())));
        else if (!splits_.empty())
          vireo_split_release(take(&splits_));
        return;
      default:
        vireo_session_cancel(some(sessions_));
    }
  }

  // Two or three threads, a session each of one model, and what they do to their own and to each other's.
  void threads() {
    heap_.fail(-1, true);
    while (models_.empty()) {
      load();
      if (in_.left() == 0) return;
    }
    const vireo_model* const model = models_[0];
    struct Thread {
      vireo_session* session = nullptr;
      Bytes calls, right;
      std::unique_ptr<Values> values;
      uint32_t ran = 0, cancelled = 0;
    };
    Thread all[3];
    const uint32_t count = 2 + in_.below(2), open = 1 + in_.below(3);
    vireo_session_options with = VIREO_SESSION_OPTIONS_INIT;
    with.threads = 1 + static_cast<int32_t>(in_.below(2));
    const std::vector<vireo_bound> bounds = bounds_of(model, open);
    with.bounds = bounds.data();
    with.bound_count = static_cast<uint32_t>(bounds.size());
    bool made = true;
    for (uint32_t i = 0; i < count && made; ++i) {
      Thread& t = all[i];
      made = status(vireo_session_create(model, &with, &t.session, &error_));
      if (!made) break;
      t.values = std::make_unique<Values>(model, open, in_.byte());
      // The answer that is expected: of its first run, as all that follow begin from a session that was reset.
      made = status(vireo_session_run(t.session, t.values->in.data(), static_cast<uint32_t>(t.values->in.size()),
                                      t.values->out.data(), static_cast<uint32_t>(t.values->out.size()), &error_));
      if (made) t.right = answer(t.values->out);
      for (uint32_t calls = 4 + in_.below(12); calls > 0; --calls) t.calls.push_back(in_.byte());
    }
    const auto act = [&all, count, model](Thread* t) {
      vireo_error error = VIREO_ERROR_INIT;
      for (const uint8_t call : t->calls) {
        switch (call % 8) {
          case 0:
            vireo_session_cancel(all[call / 8 % count].session);  // of another thread, or its own next run
            break;
          case 1: {
            vireo_model_about about = VIREO_MODEL_ABOUT_INIT;
            VIREO_FUZZ_CHECK(vireo_model_describe(model, &about, &error) == VIREO_OK);
            break;
          }
          case 2: {
            vireo_session* more = nullptr;  // beside those that run
            vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
            if (vireo_session_create(model, &options, &more, &error) != VIREO_OK)
              VIREO_FUZZ_CHECK(error.message[0] != 0 && more == nullptr);
            vireo_session_release(more);
            break;
          }
          case 3:
            (void)vireo_session_selftest(t->session, 0, &error);
            break;
          default: {
            if (vireo_session_reset(t->session, &error) != VIREO_OK) break;
            std::vector<vireo_tensor> out(t->values->out.size());
            const vireo_status s =
                vireo_session_run(t->session, t->values->in.data(), static_cast<uint32_t>(t->values->in.size()),
                                  out.data(), static_cast<uint32_t>(out.size()), &error);
            VIREO_FUZZ_CHECK(s == VIREO_OK || s == VIREO_CANCELLED);
            if (s == VIREO_OK) VIREO_FUZZ_CHECK(answer(out) == t->right);
            ++(s == VIREO_OK ? t->ran : t->cancelled);
          }
        }
      }
    };
    if (made) {
      std::thread others[2];
      for (uint32_t i = 1; i < count; ++i) others[i - 1] = std::thread(act, &all[i]);
      act(&all[0]);
      for (uint32_t i = 1; i < count; ++i) others[i - 1].join();
      reached(kThreads);
    }
    for (Thread& t : all) {
      if (t.cancelled > 0) reached(kCancelled);
      if (t.ran > 0) reached(kRan);
      vireo_session_release(t.session);
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
  T take(std::vector<T>* list) {
    const size_t at = in_.below(static_cast<uint32_t>(list->size()));
    const T one = (*list)[at];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    return one;
  }
  // A failure says what it is.
  bool status(vireo_status s) {
    VIREO_FUZZ_CHECK(s == VIREO_OK || (vireo_status_text(s)[0] != 0 && error_.status == s && error_.message[0] != 0));
    error_ = VIREO_ERROR_INIT;
    return s == VIREO_OK;
  }

  static std::vector<vireo_bound> bounds_of(const vireo_model* model, int64_t most) {
    std::vector<vireo_bound> bounds;
    for (uint32_t i = 0; i < vireo_model_dimension_count(model); ++i) {
      vireo_dimension d = VIREO_DIMENSION_INIT;
      VIREO_FUZZ_CHECK(vireo_model_dimension(model, i, &d, nullptr) == VIREO_OK);
      if (d.max < 0) bounds.push_back({d.name, d.min < most ? d.min : most, most});
    }
    return bounds;
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
    if (in_.chance(12)) {  // an older program's, or one whose size was never set
      const size_t ends[] = {0,
                             3,
                             offsetof(vireo_session_options, device),
                             offsetof(vireo_session_options, bounds),
                             offsetof(vireo_session_options, arena),
                             offsetof(vireo_session_options, cache)};
      options_.struct_size = static_cast<uint32_t>(ends[in_.below(6)]);
    }
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
    output_counts_[session] = vireo_model_output_count(model);
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
    const vireo_tensor* const given = in_.chance(128) || in.empty() ? nullptr : in.data();
    vireo_tensor* const taken = in_.chance(40) ? nullptr : out.data();
    const uint32_t wanted = in_.chance(6) ? in_.below(kMostValues) : output_counts_[session];
    if (status(vireo_session_run(session, given, given == nullptr ? 0 : static_cast<uint32_t>(in.size()), taken,
                                 taken == nullptr ? 0 : wanted, &error_)))
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
    const uint32_t count = output_counts_[session];
    status(vireo_session_reserve(&session, bounds_.data(), static_cast<uint32_t>(bounds_.size()), &error_));
    output_counts_[session] = count;
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
      pipelines_.push_back({made, model, {}});
      reached(kPipeline);
    }
  }

  void release_pipeline(uint32_t at) {
    vireo_pipeline_release(pipelines_[at].p);
    pipelines_.erase(pipelines_.begin() + at);  // no thread reads its inputs any more
  }

  // Submits inputs of the model, or some that are too few and of the wrong kind; waits a moment at most.
  void drive() {
    Pipe* const pipe = pipelines_.empty() || in_.chance(3)
                           ? nullptr
                           : &pipelines_[in_.below(static_cast<uint32_t>(pipelines_.size()))];
    vireo_pipeline* const p = pipe == nullptr ? nullptr : pipe->p;
    if (pipe != nullptr && in_.chance(200)) {
      pipe->values.push_back(std::make_unique<Values>(pipe->model, 1 + in_.below(4), in_.byte()));
      Values& v = *pipe->values.back();
      vireo_tensor* const out = in_.chance(128) ? v.out.data() : nullptr;
      status(vireo_pipeline_submit(p, v.in.data(), static_cast<uint32_t>(v.in.size()), out,
                                   out == nullptr ? 0 : static_cast<uint32_t>(v.out.size()), nullptr,
                                   VIREO_WHEN_FULL_BUSY, &error_));
    } else if (in_.chance(200)) {
      const std::vector<vireo_tensor> in(kMostValues);
      status(vireo_pipeline_submit(p, in.data(), static_cast<uint32_t>(in.size()), nullptr, 0, nullptr,
                                   VIREO_WHEN_FULL_BUSY, &error_));
    }
    vireo_finished done = VIREO_FINISHED_INIT;
    const bool finished = status(vireo_pipeline_wait(p, in_.below(3) * 100000, &done, &error_));
    if (finished && done.status == VIREO_OK) reached(kPipelineRan);
    vireo_estimate estimate = VIREO_ESTIMATE_INIT;
    vireo_load loads[2] = {};
    if (in_.chance(200)) loads[0] = VIREO_LOAD_INIT;
    status(vireo_pipeline_estimate(p, &estimate, loads, in_.below(3), &error_));
    uint32_t count = 0;
    status(vireo_pipeline_loads(p, loads, in_.below(3), &count, &error_));
    VIREO_FUZZ_CHECK(p != nullptr || vireo_pipeline_depth(p) == 0);
  }

  void split() {
    if (splits_.size() >= 2) return;
    const vireo_model* const model = some(models_);
    (void)options(model);
    options_.profile = 0;
    for (const vireo_bound& b : bounds_) {
      if (b.max > 4096) return;
    }
    const char* const devices[] = {"cpu", "null,cpu", "cpu,cpu", "npu", nullptr};
    const char* list[3];
    double weights[3];
    for (const char*& d : list) d = devices[in_.below(in_.chance(200) ? 2 : 5)];
    for (double& w : weights) w = static_cast<double>(in_.number());
    vireo_split_options with = VIREO_SPLIT_OPTIONS_INIT;
    with.devices = list;
    with.device_count = in_.chance(230) ? 1 + in_.below(3) : 0;
    with.weights = in_.chance(60) ? weights : nullptr;
    with.deterministic = in_.below(2);
    with.batch = in_.chance(230) ? 1 + in_.below(9) : in_.number();
    if (with.batch > 4096) return;
    with.session = in_.chance(60) ? &options_ : nullptr;
    vireo_split* made = nullptr;
    if (!status(vireo_split_create(model, &with, &made, &error_))) return;
    splits_.push_back({made, model});
    reached(kSplit);
  }

  void drive_split() {
    if (splits_.empty()) {
      status(vireo_split_run(nullptr, nullptr, 0, nullptr, 0, &error_));
      return;
    }
    const Split& s = splits_[in_.below(static_cast<uint32_t>(splits_.size()))];
    Values v(s.model, 1 + in_.below(10), in_.byte());
    const vireo_tensor* const in = in_.chance(5) ? nullptr : v.in.data();
    vireo_tensor* const out = in_.chance(20) ? nullptr : v.out.data();
    const auto in_count = static_cast<uint32_t>(in_.chance(5) ? in_.below(3) : v.in.size());
    if (status(
            vireo_split_run(s, in, in_count, out, out == nullptr ? 0 : static_cast<uint32_t>(v.out.size()), &error_)))
      reached(kSplitRan);
    vireo_share share = VIREO_SHARE_INIT;
    status(vireo_split_share(s, in_.below(4), &share, &error_));
  }

  struct Pipe {
    vireo_pipeline* p;
    const vireo_model* model;
    std::vector<std::unique_ptr<Values>> values;  // of runs that are submitted
  };
  struct Split {
    vireo_split* s;
    const vireo_model* model;
    operator vireo_split*() const { return s; }
  };

  Reader& in_;
  vireo::faults::Heap heap_;
  vireo_runtime* runtime_ = nullptr;
  std::vector<std::unique_ptr<AlignedCopy>> copies_;
  std::vector<vireo_model*> models_;
  std::vector<vireo_session*> sessions_;
  std::map<const vireo_session*, uint32_t> output_counts_;  // of the models of `sessions_`
  std::vector<Pipe> pipelines_;
  std::vector<Split> splits_;
  vireo_session_options options_ = VIREO_SESSION_OPTIONS_INIT;
  std::vector<vireo_bound> bounds_;
  vireo_error error_ = VIREO_ERROR_INIT;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  Reader in(data, size);
  Program program(&in);
  if (in.chance(40)) program.threads();
  for (int steps = 0; in.left() > 0 && steps < 64; ++steps) program.step();
  return 0;
}

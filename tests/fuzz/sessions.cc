#include "tests/fuzz/sessions.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace vireo::fuzz {
namespace {

// Numbers and none, bytes that are no UTF-8, nothing, more than most have room for.
constexpr char kLong[] =
    "aab a a ab aaab "
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "1";
constexpr vireo_string kTexts[] = {
    {"", 0}, {"-1.5e3", 6}, {"aab c", 5}, {"\xC3\x84\xFF\0x", 5}, {kLong, sizeof(kLong) - 1}};
constexpr int64_t kTextCount = sizeof(kTexts) / sizeof(kTexts[0]);

constexpr uint64_t kMostMemory = 16 << 20;  // of a session: more is allowed, and not worth the time here

bool loops(const vireo_session* session) {
  for (uint32_t i = 0; i < vireo_session_node_count(session); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    VIREO_FUZZ_CHECK(vireo_session_node(session, i, &info, nullptr) == VIREO_OK);
    if (std::strcmp(info.op, "Loop") == 0) return true;
  }
  return false;
}

// A model may go round as often as it likes, and whoever runs it may end that. What goes on then is a hang, which the
// limit of an execution tells.
class Ends {
 public:
  explicit Ends(vireo_session* session) {
    if (!loops(session)) return;
    thread_ = std::thread([this, session] {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!over_.wait_for(lock, std::chrono::milliseconds(30), [this] { return is_over_; }))
        vireo_session_cancel(session);
    });
  }
  ~Ends() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

 private:
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
};

}  // namespace

vireo_runtime* plain_runtime() {
  static vireo_runtime* const one = [] {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    vireo_runtime* made = nullptr;
    VIREO_FUZZ_CHECK(vireo_runtime_create(&options, &made, nullptr) == VIREO_OK);
    return made;
  }();
  return one;
}

void run_model(const vireo_model* model, int64_t open, vireo_packing packing, const char* target, Reached* reached,
               size_t session_stage, size_t run_stage) {
  std::vector<vireo_bound> bounds;
  for (uint32_t i = 0; i < vireo_model_dimension_count(model); ++i) {
    vireo_dimension d = VIREO_DIMENSION_INIT;
    VIREO_FUZZ_CHECK(vireo_model_dimension(model, i, &d, nullptr) == VIREO_OK);
    if (d.max >= 0) continue;
    vireo_bound b = {};
    b.name = d.name;
    b.min = d.min < open ? d.min : open;
    b.max = open;
    bounds.push_back(b);
  }
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.bounds = bounds.data();
  options.bound_count = static_cast<uint32_t>(bounds.size());
  options.packing = packing;
  options.target = target;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  const vireo_status known = vireo_model_memory(model, &options, &memory, &error);
  VIREO_FUZZ_CHECK(known == VIREO_OK || error.message[0] != 0);
  if (known != VIREO_OK || memory.total_bytes > kMostMemory || memory.packed_bytes > kMostMemory) return;
  vireo_session* session = nullptr;
  if (vireo_session_create(model, &options, &session, &error) != VIREO_OK) {
    VIREO_FUZZ_CHECK(error.message[0] != 0 && session == nullptr);
    return;
  }
  (*reached)(session_stage);
  std::vector<vireo_tensor> out(vireo_model_output_count(model));
  // Twice: carried state, and memory that the first run left its values in.
  for (int k = 0; k < 2; ++k) {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {  // zeros, then anything: NaN, indices out of range
      vireo_tensor in = {};
      VIREO_FUZZ_CHECK(vireo_session_input(session, i, &in, &error) == VIREO_OK);
      if (in.dtype == VIREO_STRING) {
        auto* const strings = static_cast<vireo_string*>(in.data);
        for (int64_t s = 0; s < in.capacity / static_cast<int64_t>(sizeof(vireo_string)); ++s)
          strings[s] = kTexts[(k * 3 + s) % kTextCount];
        continue;
      }
      for (int64_t b = 0; b < in.capacity; ++b)
        static_cast<uint8_t*>(in.data)[b] = static_cast<uint8_t>(k * (b * 37 + 11));
    }
    vireo_status status = VIREO_OK;
    {
      const Ends ends(session);
      status = vireo_session_run(session, nullptr, 0, out.data(), static_cast<uint32_t>(out.size()), &error);
    }
    if (status != VIREO_OK) {
      VIREO_FUZZ_CHECK(error.message[0] != 0);
      break;
    }
    (*reached)(run_stage);
    uint64_t sum = 0;  // every byte that is handed out can be read
    for (const vireo_tensor& t : out) {
      if (t.data == nullptr) continue;
      int64_t count = 1;
      for (int32_t d = 0; d < t.rank; ++d) count *= t.dims[d];
      for (int64_t i = 0; t.dtype == VIREO_STRING && i < count; ++i) {
        const vireo_string& s = static_cast<const vireo_string*>(t.data)[i];
        for (size_t b = 0; b < s.size; ++b) sum += static_cast<uint8_t>(s.data[b]);
      }
      if (t.dtype == VIREO_STRING) continue;
      const int64_t bytes = vireo_dtype_bytes(t.dtype, count);
      VIREO_FUZZ_CHECK(bytes >= 0 && bytes <= t.capacity);
      for (int64_t i = 0; i < bytes; ++i) sum += static_cast<const uint8_t*>(t.data)[i];
    }
    static volatile uint64_t sink = 0;
    sink = sum;
    (void)sink;
  }
  for (uint32_t i = 0; i < vireo_session_node_count(session); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    VIREO_FUZZ_CHECK(vireo_session_node(session, i, &info, &error) == VIREO_OK);
  }
  for (uint32_t i = 0; i < std::min<uint32_t>(vireo_model_test_count(model), 4); ++i) {
    const Ends ends(session);
    (void)vireo_session_selftest(session, i, &error);
  }
  vireo_session_release(session);
}

}  // namespace vireo::fuzz

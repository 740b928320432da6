// What a delegate answers: claims, costs, sizes, statuses, texts, telemetry, drawn from the bytes, beside the cpu
// delegate in the place of the build's own list. The runtime refuses it, moves its nodes, or ends with an error; where
// none of its parts ran the answers are the CPU's (what it computes itself is noise). All memory is back at the end.
//
// Names, tables and versions that are wrong are refused where a library is opened: tests/plugin has those. What a
// delegate promises with pointers (that its table lives until release, that it writes no more than the capacity
// it is given) cannot be fuzzed from inside the process: a driver that breaks it is what vireo-probe is for.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/devices/runtime.h"
#include "tests/faults/heap.h"
#include "tests/fuzz/harness.h"
#include "tests/support/roots.h"
#include "vireo/delegate.h"
#include "vireo/telemetry.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace {

using namespace vireo::fuzz;

Reached reached{"a device", "session", "ran", "ran there"};
enum { kDevice, kSession, kRan, kRanThere };

Reader* g_in = nullptr;
bool g_there = false;         // a part of ours ran
volatile uint8_t g_seen = 0;  // of what our claims handed on

vireo_status odd_status(int of_256) {
  return g_in->chance(of_256) ? static_cast<vireo_status>(g_in->below(20)) : vireo_status{VIREO_OK};
}
const char* odd_text(bool may_be_null) {
  static const char long_text[] =
      "a text that is longer than what anybody expects of one: it goes on and on, and says nothing at all, and goes on "
      "and on, and says nothing at all, and goes on and on, and says nothing at all, and goes on and on, and says it";
  const char* const texts[] = {"",    "fuzz",  long_text, "with \"quotes\" and \x1b[31m", "cpu", "auto", "-",
                               "a,b", "x>=1%", nullptr};
  return texts[g_in->below(may_be_null ? 10 : 9)];
}
double odd_real() {
  const double values[] = {0, 1, -1, 1e-300, 1e300, INFINITY, -INFINITY, NAN, 1e9, 5e4};
  return values[g_in->below(10)];
}
uint64_t odd_size(uint64_t usual, int of_256) {
  return g_in->chance(of_256) ? static_cast<uint64_t>(g_in->number()) : usual;
}

// Reads what a claim handed on, wherever the host keeps it.
void look_at(const vireo_part& part) {
  for (uint32_t k = 0; k < part.node_count; ++k) {
    if (part.claimed[k] != nullptr) g_seen = *static_cast<const uint8_t*>(part.claimed[k]);
  }
}

struct Loaded {
  bool waiting = false;
};

vireo_status enumerate(void* self, const vireo_host*, uint32_t index, vireo_device_info* info, void** device) {
  if (index >= 1 + g_in->below(3)) return VIREO_INVALID_ARGUMENT;
  info->name = index == 0 ? "fuzz" : index == 1 ? "fuzz1" : "fuzz2";  // others are refused when a library is opened
  if (g_in->chance(20)) info->delegate = odd_text(true);
  info->detail = odd_text(true);
  info->vendor = odd_text(true);
  info->driver = odd_text(true);
  info->flags = g_in->chance(128) ? 0 : g_in->byte();
  info->types = g_in->word();
  info->memory_bytes = odd_size(1 << 20, 100);
  info->f32_rate = odd_real();
  info->bandwidth = odd_real();
  info->transfer = odd_real();
  info->launch_ns = odd_real();
  info->busy_watts = odd_real();
  *device = self;
  return odd_status(10);
}

vireo_status claim(void*, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  const uint32_t count = host->node_count(graph);
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t node = g_in->chance(4) ? static_cast<uint32_t>(g_in->number()) : n;
    if (g_in->chance(100)) {
      if (!g_in->chance(10)) (void)claims->leave(claims->context, node, odd_text(true));
      continue;
    }
    for (uint32_t ways = 1 + (g_in->chance(20) ? g_in->below(12) : 0); ways > 0; --ways) {
      struct Longer {  // as a newer header has it
        vireo_claim claim;
        uint64_t unknown;
      } longer = {VIREO_CLAIM_INIT, 0};
      vireo_claim& mine = longer.claim;
      if (g_in->chance(4)) {
        mine.struct_size = g_in->chance(128) ? sizeof(longer) : g_in->byte() % 9 * 8;  // between members
        longer.unknown = g_in->chance(128) ? 1 : 0;
      }
      static const uint64_t state[4] = {7, 1, 2, 3};  // a header may end before state_bytes: then the pointer is kept
      mine.node = node;
      mine.flags = g_in->chance(128) ? VIREO_CLAIM_JOINS : g_in->chance(10) ? g_in->byte() : 0;
      mine.kernel = g_in->chance(20) ? odd_text(true) : "k";
      mine.reason = g_in->chance(20) ? odd_text(true) : "";
      mine.cost_ns = g_in->chance(30) ? odd_real() : 0;
      mine.time_ns = g_in->chance(60) ? odd_real() : 100;
      mine.state = state;
      mine.state_bytes = n * 7 % (sizeof(state) + 1);
      const vireo_status s = claims->take(claims->context, &mine);
      if (s != VIREO_OK && g_in->chance(128)) return s;
    }
  }
  return odd_status(6);
}

vireo_status memory(void*, const vireo_host*, const vireo_graph*, const vireo_part* part, const vireo_memory_request*,
                    vireo_part_memory* out) {
  look_at(*part);
  out->state_bytes = static_cast<size_t>(odd_size(sizeof(Loaded), 20));
  out->scratch_bytes = static_cast<size_t>(odd_size(64, 20));
  return odd_status(6);
}

vireo_status pack(void*, const vireo_host*, const vireo_graph*, const vireo_part* part, uint32_t index,
                  const vireo_thread_pool*, vireo_packed* out, void* to) {
  if (index >= g_in->below(3)) return VIREO_INVALID_ARGUMENT;
  if (to != nullptr) std::memset(to, 1, out->bytes);
  out->layout = g_in->below(3);
  out->constant = part;  // of no value of the graph
  out->bytes = static_cast<size_t>(to != nullptr ? out->bytes : odd_size(64, 30));
  return odd_status(10);
}

// with->state may be shorter than anything: what memory() said is drawn anew.
vireo_status load(void*, const vireo_host*, const vireo_graph*, const vireo_part* part, const vireo_load_request*,
                  void** loaded) {
  static Loaded one;
  one = {};
  look_at(*part);
  *loaded = &one;
  return odd_status(6);
}

vireo_status submit(void* loaded, const vireo_tensor* const*, uint32_t, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  g_there = true;
  static_cast<Loaded*>(loaded)->waiting = g_in->chance(60);
  for (uint32_t o = 0; o < output_count; ++o) {
    if (outputs[o] == nullptr || outputs[o]->data == nullptr || outputs[o]->dtype == VIREO_STRING) continue;
    std::memset(outputs[o]->data, g_in->byte(), static_cast<size_t>(outputs[o]->capacity));
  }
  if (g_in->chance(30)) (void)std::snprintf(with->fault->message, with->fault->message_bytes, "%s", odd_text(false));
  if (g_in->chance(30)) with->fault->node = odd_text(true);
  return odd_status(10);
}
void unload(void*) {}
vireo_status health(void*) { return odd_status(10); }
void release(void*) {}

vireo_status compile(void*, const vireo_host*, const vireo_graph*, const vireo_part*, const vireo_blob* blob,
                     vireo_compiled* out) {
  if (g_in->chance(20)) return odd_status(256);
  const auto bytes = static_cast<size_t>(odd_size(64, 30));
  void* const to = blob->reserve(blob->context, bytes);
  if (to == nullptr) return VIREO_OUT_OF_ARENA;
  std::memset(to, 7, bytes);
  out->time_ns = odd_real();
  out->energy_nj = g_in->word();
  return odd_status(6);
}
vireo_status wait_for(void* loaded, uint64_t) {
  auto& l = *static_cast<Loaded*>(loaded);
  if (l.waiting) {
    l.waiting = g_in->chance(128);
    return VIREO_BUSY;
  }
  return odd_status(20);
}
void cancel(void* loaded) { static_cast<Loaded*>(loaded)->waiting = false; }
vireo_status reset(void*) { return odd_status(128); }
vireo_status telemetry(void*, vireo_telemetry* out) {
  out->temperature_c = odd_real();
  out->memory_used = g_in->word();
  out->struct_size = static_cast<uint32_t>(g_in->word());
  out->power = g_in->byte();
  return odd_status(20);
}

vireo_delegate g_table;

using Answers = std::vector<Bytes>;

bool use(const vireo_model* model, const char* device, vireo_failover failover, Answers* out) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = device;
  options.failover = failover;
  options.device_timeout_ns = 2000000;
  vireo_session* session = nullptr;
  if (vireo_session_create(model, &options, &session, &error) != VIREO_OK) {
    VIREO_FUZZ_CHECK(error.message[0] != 0);
    return false;
  }
  reached(kSession);
  bool good = true;
  for (int run = 0; run < 2 && good; ++run) {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_tensor in = {};
      VIREO_FUZZ_CHECK(vireo_session_input(session, i, &in, &error) == VIREO_OK);
      for (int64_t k = 0; k < in.capacity; ++k) static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(k * 7 % 61);
    }
    std::vector<vireo_tensor> results(vireo_model_output_count(model));
    good = vireo_session_run(session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error) ==
           VIREO_OK;
    VIREO_FUZZ_CHECK(good || error.message[0] != 0);
    for (const vireo_tensor& y : results) {
      if (!good || y.data == nullptr) continue;
      const auto* const p = static_cast<const uint8_t*>(y.data);
      out->emplace_back(p, p + y.capacity);
    }
  }
  if (good) reached(kRan);
  vireo_session_release(session);
  return good;
}

}  // namespace

namespace vireo {
Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const rows[] = {&g_table, &vireo_cpu_delegate};
  return rows;
}
}  // namespace vireo

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  Reader in(data, size);
  g_in = &in;
  g_there = false;
  g_table = {};
  g_table.struct_size = sizeof(g_table);
  g_table.abi = VIREO_DELEGATE_ABI;
  g_table.name = "fuzz";
  g_table.self = &g_table;
  g_table.enumerate = enumerate;
  g_table.claim = claim;
  g_table.memory = memory;
  g_table.load = load;
  g_table.submit = submit;
  g_table.unload = unload;
  g_table.health = health;
  g_table.release = release;
  if (in.chance(40)) g_table.pack = pack;
  if (in.chance(200)) g_table.compile = compile;
  if (in.chance(128)) g_table.wait = wait_for, g_table.cancel = cancel;
  if (in.chance(128)) g_table.reset = reset;
  if (in.chance(128)) g_table.telemetry = telemetry;

  static const Bytes file = read_whole(vireo::tests::source_path("tests/golden/integer_golden.vireo"));
  static const AlignedCopy bytes(file.data(), file.size());
  vireo::faults::Heap heap;
  heap.most = 64u << 20;
  const vireo_allocator allocator = heap.allocator();
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = 1;
  options.plugins = "";
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_runtime_create(&options, &runtime, &error) == VIREO_OK) {
    for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      VIREO_FUZZ_CHECK(vireo_runtime_device(runtime, i, &info, &error) == VIREO_OK && info.name != nullptr);
      if (std::strcmp(info.name, "cpu") != 0) reached(kDevice);
      vireo_telemetry now = VIREO_TELEMETRY_INIT;
      error.message[0] = 0;
      const vireo_status told = vireo_runtime_telemetry(runtime, i, &now, &error);
      VIREO_FUZZ_CHECK(told == VIREO_OK || error.message[0] != 0);
      VIREO_FUZZ_CHECK(now.struct_size == sizeof(now));
    }
    VIREO_FUZZ_CHECK(vireo_model_load_memory(runtime, bytes.data(), file.size(), &model, &error) == VIREO_OK);
    const auto failover = static_cast<vireo_failover>(in.below(2));
    Answers there, here;
    const bool named = use(model, in.chance(128) ? "fuzz,cpu" : "auto", failover, &there);
    if (g_there) reached(kRanThere);
    if (in.chance(40)) {
      vireo_memory known = VIREO_MEMORY_INIT;
      (void)vireo_model_memory(model, nullptr, &known, &error);
    }
    const bool alone = !g_there;
    if (use(model, "cpu", VIREO_FAILOVER_DEFAULT, &here) && named && alone) VIREO_FUZZ_CHECK(there == here);
    vireo_model_release(model);
  } else {
    VIREO_FUZZ_CHECK(error.message[0] != 0);
  }
  vireo_runtime_release(runtime);
  VIREO_FUZZ_CHECK(heap.live == 0);
  g_in = nullptr;
  return 0;
}

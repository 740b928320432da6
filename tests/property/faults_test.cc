// 120 runs (with VIREO_FULL=1 a thousand) on the software NPU with faults at random: it is lost, hangs, computes
// wrongly, has no memory left, or the host has none. Each ends with the CPU's bits or with an error that says what
// happened, and gives all memory back. VIREO_FAULT_RUNS is another number.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/heap.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

using Bytes = std::vector<uint8_t>;

using vireo::faults::Heap;

struct Outcome {
  vireo_status status = VIREO_OK;
  std::string message;
  std::vector<Bytes> outputs;  // of all runs
  uint32_t failovers = 0;
  int64_t longest_ms = 0;  // of one call
};

struct Plan {
  std::string device, faults;
  vireo_failover failover = VIREO_FAILOVER_DEFAULT;
  int runs = 1;
  const char* memory = "host";  // where the npu works
};

constexpr uint64_t kTimeoutNs = 100000000;

Outcome go(const Plan& plan, Heap* heap) {
  Outcome out;
  vireo_error error = VIREO_ERROR_INIT;
  const auto timed = [&out](auto&& call) {
    const auto begin = std::chrono::steady_clock::now();
    const vireo_status status = call();
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
    if (ms > out.longest_ms) out.longest_ms = ms;
    return status;
  };
  setenv("VIREO_NPU_FAULT", plan.faults.c_str(), 1);
  setenv("VIREO_NPU_MEMORY", plan.memory, 1);
  const vireo_allocator allocator = heap->allocator();
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = 1;
  static const std::string plugin = vireo::tests::build_path("plugins/libvireo_npu.so");
  options.plugins = plugin.c_str();
  options.probe = VIREO_PROBE_NEVER;  // which would meet the faults
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  out.status = timed([&] { return vireo_runtime_create(&options, &runtime, &error); });
  if (out.status == VIREO_OK)
    out.status = timed([&] {
      return vireo_model_load_file(runtime, vireo::tests::source_path("tests/golden/integer_golden.vireo").c_str(),
                                   &model, &error);
    });
  vireo_session_options made = VIREO_SESSION_OPTIONS_INIT;
  made.device = plan.device.c_str();
  made.failover = plan.failover;
  made.device_timeout_ns = kTimeoutNs;
  if (out.status == VIREO_OK) out.status = timed([&] { return vireo_session_create(model, &made, &session, &error); });
  for (int run = 0; run < plan.runs && out.status == VIREO_OK; ++run) {
    std::mt19937 values(static_cast<uint32_t>(run));
    const uint32_t inputs = vireo_model_input_count(model), outputs = vireo_model_output_count(model);
    for (uint32_t i = 0; i < inputs && out.status == VIREO_OK; ++i) {
      vireo_tensor in = {};
      out.status = vireo_session_input(session, i, &in, &error);
      for (int64_t k = 0; k < in.capacity; ++k) static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(values() % 64);
    }
    std::vector<vireo_tensor> results(outputs);
    if (out.status == VIREO_OK)
      out.status = timed([&] {
        return vireo_session_run(session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error);
      });
    for (const vireo_tensor& y : results) {
      if (out.status != VIREO_OK || y.data == nullptr) continue;
      const auto* const p = static_cast<const uint8_t*>(y.data);
      out.outputs.emplace_back(p, p + y.capacity);
    }
  }
  if (session != nullptr) out.failovers = vireo_session_failover_count(session);
  if (out.status != VIREO_OK) out.message = error.message;
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  unsetenv("VIREO_NPU_FAULT");
  unsetenv("VIREO_NPU_MEMORY");
  return out;
}

TEST(Faults, EveryRunEndsWithTheRightAnswerOrAClearError) {
  const char* const wanted = getenv("VIREO_FAULT_RUNS");
  const int runs = wanted != nullptr ? std::atoi(wanted) : getenv("VIREO_FULL") != nullptr ? 1000 : 120;
  constexpr int kMostRuns = 3;
  Heap plain;
  const Outcome right = go({"cpu", "", VIREO_FAILOVER_DEFAULT, kMostRuns}, &plain);
  ASSERT_EQ(right.status, VIREO_OK) << right.message;
  ASSERT_EQ(plain.live, 0);
  Heap counted;
  const Outcome healthy = go({"npu,cpu", "", VIREO_FAILOVER_DEFAULT, kMostRuns}, &counted);
  ASSERT_EQ(healthy.status, VIREO_OK) << healthy.message;
  ASSERT_EQ(healthy.outputs, right.outputs);
  ASSERT_EQ(healthy.failovers, 0u);
  const int64_t allocations = counted.number;
  const size_t each = right.outputs.size() / kMostRuns;

  std::map<std::string, int> counts;
  int64_t longest_ms = 0;
  for (int seed = 1; seed <= runs; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    Heap heap;
    Plan plan{"npu,cpu", "", random() % 4 == 0 ? VIREO_FAILOVER_NEVER : VIREO_FAILOVER_DEFAULT,
              static_cast<int>(1 + random() % kMostRuns)};
    const std::string at = std::to_string(random() % 12);
    const char* const memories[] = {"host", "own", "import"};
    plan.memory = memories[seed % 3];
    std::string kind;
    switch (random() % 6) {
      case 0:
        kind = "lost";
        plan.faults = "lost@" + at;
        break;
      case 1:
        kind = "hang";
        plan.faults = "hang@" + at;
        break;
      case 2:
        kind = "wrong";
        plan.faults = "wrong";
        plan.failover = VIREO_FAILOVER_DEFAULT;  // without it nothing is compared
        break;
      case 3:
        kind = "device memory";
        plan.faults = "memory@" + at;
        break;
      case 4:
        kind = "host memory";
        heap.fails_at = static_cast<int64_t>(random() % static_cast<uint64_t>(allocations));
        heap.for_good = random() % 2 == 0;
        break;
      default:
        kind = "lost or hangs at random";
        plan.faults = "random=" + std::to_string(seed) + ":20";
        break;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + kind + " " + plan.faults + ", memory " + plan.memory +
                 (plan.failover == VIREO_FAILOVER_NEVER ? ", no failover" : ""));
    const Outcome got = go(plan, &heap);
    EXPECT_EQ(heap.live, 0) << "not given back";
    if (got.longest_ms > longest_ms) longest_ms = got.longest_ms;
    if (got.status == VIREO_OK) {
      ASSERT_EQ(got.outputs.size(), each * static_cast<size_t>(plan.runs));
      for (size_t i = 0; i < got.outputs.size(); ++i) EXPECT_EQ(got.outputs[i], right.outputs[i]) << "output " << i;
      ++counts[kind + (got.failovers != 0 ? ": right, on another device" : ": right")];
    } else {
      // What a policy allows: an error that names the device or the memory; never another one.
      const bool memory = got.status == VIREO_OUT_OF_ARENA;
      const bool lost = got.status == VIREO_DEVICE_LOST;
      // A plug-in that found no memory when it was opened is not there.
      const bool absent = heap.failed && got.status == VIREO_UNSUPPORTED &&
                          got.message.find("there is no device \"npu\" here") != std::string::npos;
      EXPECT_TRUE(memory || lost || absent) << got.status << ": " << got.message;
      if (lost) {
        EXPECT_EQ(plan.failover, VIREO_FAILOVER_NEVER) << got.message;
        EXPECT_NE(got.message.find("npu"), std::string::npos) << got.message;
      }
      EXPECT_TRUE(!memory || heap.failed || kind == "device memory") << got.message;
      EXPECT_FALSE(got.message.empty());
      ++counts[kind + (lost ? ": error, device lost" : absent ? ": error, no such device" : ": error, out of memory")];
    }
    if (::testing::Test::HasFailure()) break;
  }
  for (const auto& [what, n] : counts) std::printf("%5d  %s\n", n, what.c_str());
  std::printf("longest call %lld ms, the timeout is %d ms a part\n", static_cast<long long>(longest_ms),
              static_cast<int>(kTimeoutNs / 1000000));
}

}  // namespace

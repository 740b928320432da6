// Graphs at random on two devices: one (joiner.h) is a delegate that runs neighbouring nodes as one part, which it
// compiles, and whose submits are waited for. Whatever it takes, refuses to compile or loses, the results are those of
// the CPU to the bit, or an error that names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/property/joined_testing.h"
#include "vireo/buffer.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, JoinedTest, testing::Values(Memory::kHosts, Memory::kOwn, Memory::kImported),
                         [](const testing::TestParamInfo<Memory>& mode) {
                           return std::string(mode.param == Memory::kHosts ? "Hosts"
                                              : mode.param == Memory::kOwn ? "Own"
                                                                           : "Imported");
                         });

// Of devices that move values, and of those that have buffers.
class OwnMemoryTest : public JoinedTest {};
class BufferTest : public JoinedTest {};
INSTANTIATE_TEST_SUITE_P(Memory, OwnMemoryTest, testing::Values(Memory::kOwn));
INSTANTIATE_TEST_SUITE_P(Memory, BufferTest, testing::Values(Memory::kOwn, Memory::kImported));

TEST_P(JoinedTest, ComputesWhatTheCpuComputes) {
  uint32_t joined = 0, long_parts = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SetUp();
    std::mt19937_64 rng(seed);
    const FileBytes bytes = random_graph(seed, 3 + static_cast<int>(rng() % 40), false);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    ASSERT_EQ(expected.status, VIREO_OK) << expected.message;
    EXPECT_EQ(expected.on_joiner, 0u);
    device.takes = seed % 3 == 0 ? ~uint64_t{0} : rng() | rng();
    device.busy_looks = seed % 4;
    const Result got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << "seed " << seed << ": " << got.message;
    ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    EXPECT_EQ(got.failovers, 0u);
    joined += got.on_joiner;
    for (const uint32_t size : device.sizes) long_parts += size > 4 ? 1 : 0;
  }
  std::printf("%u nodes joined, %u parts of more than four\n", joined, long_parts);
  EXPECT_GT(joined, 2000u);
  EXPECT_GT(long_parts, 200u);
}

TEST_P(JoinedTest, AutoNeverTakesAnEmulatedDevice) {
  const FileBytes bytes = random_graph(5, 20, false);
  const Loaded loaded(bytes);
  EXPECT_EQ(run(loaded.model, "auto").on_joiner, 0u);
  EXPECT_EQ(device.compiles, 0);
}

TEST_P(JoinedTest, AutoAndItsNamePlaceByCost) {
  uint32_t some = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 30, seed % 2 == 0);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    device.claimed_ns = 1;
    device.compiled_ns = 1;
    const Result cheap = run(loaded.model, "auto,joiner");
    ASSERT_EQ(cheap.status, VIREO_OK) << cheap.message;
    EXPECT_EQ(cheap.outputs, expected.outputs);
    device.claimed_ns = 1e9;
    const Result dear = run(loaded.model, "auto,joiner");
    EXPECT_EQ(dear.outputs, expected.outputs);
    EXPECT_EQ(dear.on_joiner, 0u);
    some += cheap.on_joiner;
    // A compiler that knows better than its claims.
    const Loaded fresh(bytes);
    device.claimed_ns = 1;
    device.compiled_ns = 1e9;
    const Result given_up = run(fresh.model, "auto,joiner");
    ASSERT_EQ(given_up.status, VIREO_OK) << given_up.message;
    EXPECT_EQ(given_up.outputs, expected.outputs);
    EXPECT_EQ(given_up.on_joiner, 0u);
    // Named without auto it is what was asked for.
    EXPECT_GT(run(fresh.model, "joiner,cpu").on_joiner, 0u);
  }
  EXPECT_GT(some, 300u);
}

struct Session {
  vireo_session* handle = nullptr;
  Session(const vireo_model* model, const vireo_session_options& options) {
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_session_create(model, &options, &handle, &error), VIREO_OK) << error.message;
  }
  ~Session() { vireo_session_release(handle); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// What was measured is believed before claims, and a compiler's word before both.
TEST_P(JoinedTest, AutoGoesByMeasuredTimes) {
  struct Times {
    double joiner_ns, cpu_ns;
  };
  const auto ns = [](void* context, const vireo_candidate* c) {
    const auto& times = *static_cast<const Times*>(context);
    return std::strcmp(c->device, "joiner") == 0 ? times.joiner_ns : times.cpu_ns;
  };
  const auto first = [](void*, const vireo_candidate*) { return 0; };
  const FileBytes bytes = random_graph(3, 30, false);
  const Loaded loaded(bytes);
  device.claimed_ns = 1000;
  device.compiled_ns = 0;
  for (const Times& times : {Times{1, 1e9}, Times{1e9, 1}, Times{0, 1}, Times{0, 1e9}}) {
    Times now = times;
    const vireo_preference preference = {sizeof(vireo_preference), &now, first, ns};
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = "auto,joiner";
    options.preference = &preference;
    const Session session(loaded.model, options);
    uint32_t there = 0;
    for (uint32_t i = 0; i < vireo_session_node_count(session.handle); ++i) {
      vireo_node_info info = VIREO_NODE_INFO_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      ASSERT_EQ(vireo_session_node(session.handle, i, &info, &error), VIREO_OK);
      there += std::strcmp(info.device, "joiner") == 0 ? 1 : 0;
    }
    EXPECT_EQ(there > 0, times.cpu_ns > times.joiner_ns && times.cpu_ns > 1) << times.joiner_ns << " " << times.cpu_ns;
    vireo_limits limits = VIREO_LIMITS_INIT;
    limits.emulated = 1;
    vireo_device_choice choices[4] = {};
    for (vireo_device_choice& c : choices) c.struct_size = sizeof(c);
    uint32_t count = 0;
    vireo_error error = VIREO_ERROR_INIT;
    ASSERT_EQ(vireo_model_devices(loaded.model, &options, &limits, choices, 4, &count, &error), VIREO_OK)
        << error.message;
    for (uint32_t i = 0; i < count && i < 4; ++i) {
      if (std::strcmp(choices[i].devices, "cpu") != 0) continue;
      EXPECT_EQ(choices[i].expected_ns, 30 * times.cpu_ns);
      EXPECT_STREQ(choices[i].source, "measured");
    }
  }
}

TEST_P(JoinedTest, WhatDoesNotCompileIsPlacedElsewhereWithItsReason) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 30, false);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    device.longest = 1 + seed % 7;
    device.refuses = {"n3", "n11", "n12"};
    const Result got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << got.message;
    EXPECT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    for (const uint32_t size : device.sizes) EXPECT_LE(size, device.longest);
    const int before = device.compiles;
    EXPECT_EQ(run(loaded.model, "joiner,cpu").outputs, expected.outputs);
    EXPECT_EQ(device.compiles, before) << "compiled again for a second session";
  }
}

TEST_P(JoinedTest, OneDeviceAloneSaysWhatItLeaves) {
  device.refuses = {"n2"};
  const FileBytes bytes = random_graph(7, 12, false);
  const Loaded loaded(bytes);
  const Result got = run(loaded.model, "joiner");
  EXPECT_EQ(got.status, VIREO_UNSUPPORTED);
  EXPECT_TRUE(got.message.find("n2: never compiles") != std::string::npos ||
              got.message.find("not in this test") != std::string::npos)
      << got.message;
}

TEST_P(JoinedTest, ShapesWithinBounds) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 25, true);
    const Loaded loaded(bytes);
    for (const int64_t rows : {1, 3, 40}) {
      const Result expected = run(loaded.model, "cpu", rows);
      const Result got = run(loaded.model, "joiner,cpu", rows);
      ASSERT_EQ(got.status, VIREO_OK) << got.message;
      EXPECT_EQ(got.outputs, expected.outputs);
      EXPECT_GT(got.on_joiner, 0u);
    }
    const int before = device.compiles;
    EXPECT_EQ(run(loaded.model, "joiner,cpu", 2, 8).status, VIREO_OK);  // other bounds, other parts
    EXPECT_GT(device.compiles, before);
  }
}

TEST_P(JoinedTest, LostAndHangingDevicesAreErrorsThatNameThem) {
  const FileBytes bytes = random_graph(9, 20, false);
  const Loaded loaded(bytes);
  device.lost_at = 0;
  Result got = run(loaded.model, "joiner,cpu", 4, 0, 1, 0, VIREO_FAILOVER_NEVER);
  EXPECT_EQ(got.status, VIREO_DEVICE_LOST);
  EXPECT_NE(got.message.find("\"joiner\""), std::string::npos) << got.message;
  device.lost = false;
  device.hangs = true;
  got = run(loaded.model, "joiner,cpu", 4, 0, 1, 20000000, VIREO_FAILOVER_NEVER);
  EXPECT_EQ(got.status, VIREO_DEVICE_LOST);
  EXPECT_NE(got.message.find("did not answer in time"), std::string::npos) << got.message;
  EXPECT_GE(device.cancels, 1);
}

// Whenever it happens, in the trial of a part or in a run: the results are the same, and the nodes say where they ran.
TEST_P(JoinedTest, ALostDeviceIsReplacedInTheMiddleOfARun) {
  uint32_t in_runs = 0;
  for (uint32_t seed = 1; seed <= 80; ++seed) {
    SetUp();
    std::mt19937_64 rng(seed);
    const bool symbolic = seed % 2 == 0;
    const FileBytes bytes = random_graph(seed, 30, symbolic);
    const Loaded loaded(bytes);
    const int64_t rows = symbolic ? 7 : 4;
    const Result expected = run(loaded.model, "cpu", rows);
    device.takes = rng() | rng();
    const Result whole = run(loaded.model, "joiner,cpu", rows, 0, 3);
    const int parts = device.parts, submits = device.submits;
    for (const int at : {0, parts - 1, parts, parts + 1, submits - 1}) {
      if (at < 0 || at >= submits) continue;
      const Loaded fresh(bytes);
      device.lost = false;
      device.submits = 0;
      device.lost_at = at;
      const Result got = run(fresh.model, "joiner,cpu", rows, 0, 3);
      ASSERT_EQ(got.status, VIREO_OK) << "seed " << seed << " at " << at << ": " << got.message;
      ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed << " at " << at;
      EXPECT_GT(got.failovers, 0u);
      EXPECT_LT(got.on_joiner, whole.on_joiner);
      if (at + parts < submits) {  // a whole run came after it
        EXPECT_EQ(got.on_joiner, 0u);
      }
      EXPECT_EQ(got.arena_bytes, whole.arena_bytes);
      EXPECT_EQ(got.reasons.count("its device was lost"), 1u);
      in_runs += at >= parts ? 1 : 0;
    }
    device.hangs = true;
    device.lost = false;
    device.lost_at = -1;
    const Result hung = run(loaded.model, "joiner,cpu", rows, 0, 2, 5000000);
    EXPECT_EQ(hung.status, VIREO_OK) << hung.message;
    EXPECT_EQ(hung.outputs, expected.outputs);
    EXPECT_GE(device.cancels, 1);
    if (GetParam() == Memory::kHosts) {
      EXPECT_EQ(device.cancels, 1) << "one hang says enough";
    }
  }
  EXPECT_GT(in_runs, 100u);
}

// Another device computes the part in that run, and in that run only.
TEST_P(JoinedTest, ExtentsThatTheDeviceDeclinesRunElsewhere) {
  uint32_t declined = 0;
  for (uint32_t seed = 2; seed <= 80; seed += 2) {
    SetUp();
    std::mt19937_64 rng(seed);
    const FileBytes bytes = random_graph(seed, 30, true);
    const Loaded loaded(bytes);
    device.takes = rng() | rng();
    const Result whole = run(loaded.model, "joiner,cpu", 7, 0, 3);
    const int submits = device.submits;
    device.declined_rows = 7;
    const Result got = run(loaded.model, "joiner,cpu", 7, 0, 3);
    ASSERT_EQ(got.status, VIREO_OK) << "seed " << seed << ": " << got.message;
    ASSERT_EQ(got.outputs, whole.outputs) << "seed " << seed;
    EXPECT_EQ(got.outputs, run(loaded.model, "cpu", 7).outputs) << "seed " << seed;
    EXPECT_EQ(got.failovers, 0u);
    EXPECT_EQ(got.on_joiner, whole.on_joiner) << "it is asked again in the next run";
    device.submits = 0;
    EXPECT_EQ(run(loaded.model, "joiner,cpu", 5, 0, 3).outputs, run(loaded.model, "cpu", 5).outputs);
    declined += submits > 0 && device.submits > 0 ? 1 : 0;
    if (whole.on_joiner == 0) continue;
    const Result alone = run(loaded.model, "joiner,cpu", 7, 0, 1, 0, VIREO_FAILOVER_NEVER);
    EXPECT_EQ(alone.status, VIREO_UNSUPPORTED) << "nothing else is there for it";
  }
  EXPECT_GT(declined, 20u);
}

TEST_P(JoinedTest, MemoryForTheSecondDeviceIsReservedAndCounted) {
  const FileBytes bytes = random_graph(17, 40, false);
  const Loaded loaded(bytes);
  const Result with = run(loaded.model, "joiner,cpu");
  const Result without = run(loaded.model, "joiner,cpu", 4, 0, 2, 0, VIREO_FAILOVER_NEVER);
  EXPECT_EQ(with.status, VIREO_OK);
  EXPECT_EQ(without.outputs, with.outputs);
  EXPECT_GT(with.arena_bytes, without.arena_bytes);
}

TEST_P(JoinedTest, NodesThatComputeWronglyArePlacedElsewhere) {
  uint32_t found = 0;  // what nobody reads, or Relu makes 0, is not wrong
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 30, seed % 2 == 0);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    const Result all = run(loaded.model, "joiner,cpu");
    const Loaded fresh(bytes);
    device.wrong = {"n4", "n5", "n17"};
    const Result got = run(fresh.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << got.message;
    ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    EXPECT_GT(got.on_joiner + 8, all.on_joiner) << "more was taken away than what is wrong";
    EXPECT_EQ(got.failovers, 0u);
    if (got.reasons.count("it computed other values there than on cpu") == 0) continue;
    ++found;
    EXPECT_LT(got.on_joiner, all.on_joiner);
  }
  EXPECT_GT(found, 30u);
}

Result run_with(const vireo_model* model, const char* name, vireo_math math) {
  return run(model, name, 4, 0, 2, 0, VIREO_FAILOVER_DEFAULT, math);
}

// What a session lets devices do to its numbers is its own affair, also where sessions share a model.
TEST_P(JoinedTest, MathIsTheSessions) {
  uint32_t other = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SetUp();
    device.coarse = true;
    const FileBytes bytes = random_graph(seed, 12, false);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    const Result exact = run_with(loaded.model, "joiner,cpu", VIREO_MATH_EXACT);
    ASSERT_EQ(exact.outputs, expected.outputs) << "seed " << seed;
    const Result coarse = run_with(loaded.model, "joiner,cpu", VIREO_MATH_F16);
    ASSERT_EQ(coarse.status, VIREO_OK) << coarse.message;
    EXPECT_EQ(coarse.on_joiner, exact.on_joiner) << "it is allowed, and so nothing is refused";
    EXPECT_EQ(device.maths.size(), exact.on_joiner != 0 ? 2u : 0u) << "compiled once for each";
    other += coarse.outputs != expected.outputs ? 1 : 0;
    EXPECT_EQ(run_with(loaded.model, "joiner,cpu", VIREO_MATH_EXACT).outputs, expected.outputs) << "seed " << seed;
    EXPECT_EQ(run_with(loaded.model, "cpu", VIREO_MATH_F16).outputs, expected.outputs) << "the CPU is exact";
  }
  EXPECT_GT(other, 10u);
}

// A device that rounds where nobody allowed it computes wrongly.
TEST_P(JoinedTest, MathThatNobodyAskedForIsWrong) {
  uint32_t found = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SetUp();
    device.coarse_unasked = true;
    const FileBytes bytes = random_graph(seed, 12, false);
    const Loaded loaded(bytes);
    const Result got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << got.message;
    found += got.reasons.count("it computed other values there than on cpu") != 0 ? 1 : 0;
  }
  EXPECT_GT(found, 10u);
}

TEST_P(JoinedTest, PriorityAndSliceAreTheSessions) {
  const FileBytes bytes = random_graph(3, 12, false);
  const Loaded loaded(bytes);
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = "joiner,cpu";
  using Services = std::set<std::pair<vireo_priority, uint64_t>>;
  for (const auto& [priority, slice_ns] : Services{{VIREO_PRIORITY_NORMAL, 0}, {VIREO_PRIORITY_HIGH, 7000000}}) {
    options.priority = priority;
    options.slice_ns = slice_ns;
    device.services.clear();
    vireo_session* session = nullptr;
    ASSERT_EQ(vireo_session_create(loaded.model, &options, &session, nullptr), VIREO_OK);
    EXPECT_EQ(device.services, (Services{{priority, slice_ns}}));
    vireo_session_release(session);
  }
  options.priority = VIREO_PRIORITY_HIGH + 1;
  vireo_session* session = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  EXPECT_EQ(vireo_session_create(loaded.model, &options, &session, &error), VIREO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("priority 3"), std::string::npos) << error.message;
}

// Values, scratch and constants that are more than one buffer takes lie in several, each in one of them. What is said
// of the memory is what was made.
TEST_P(JoinedTest, BuffersAreNoLargerThanTheDeviceTakes) {
  if (GetParam() == Memory::kHosts) return;
  uint32_t there = 0, several = 0;
  for (const uint64_t most : {uint64_t{1024}, uint64_t{3072}, uint64_t{5000}}) {  // a value takes 1,024
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      SetUp();
      device.max_buffer_bytes = most;
      const FileBytes bytes = random_graph(seed, 24, true);
      const Loaded loaded(bytes);
      const Result expected = run(loaded.model, "cpu", 16, 16);
      const Result got = run(loaded.model, "joiner,cpu", 16, 16);
      ASSERT_EQ(got.status, VIREO_OK) << got.message;
      ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed << ", buffers of " << most;
      there += got.on_joiner;
      several += got.buffer_bytes > most ? 1 : 0;
      // A device whose buffers cannot hold the state of all parts gets none of them.
      if (GetParam() == Memory::kOwn && got.on_joiner != 0) {
        EXPECT_EQ(got.buffer_bytes, got.device_bytes);
      }
    }
  }
  EXPECT_GT(there, 300u);
  EXPECT_GT(several, 20u);
}

TEST_P(JoinedTest, NodesWithValuesThatNoBufferTakesRunElsewhere) {
  if (GetParam() == Memory::kHosts) return;
  device.max_buffer_bytes = 768;  // a value takes 1,024
  const FileBytes bytes = random_graph(3, 12, true);
  const Loaded loaded(bytes);
  const Result got = run(loaded.model, "joiner,cpu", 16, 16);
  ASSERT_EQ(got.status, VIREO_OK) << got.message;
  EXPECT_EQ(got.on_joiner, 0u);
  EXPECT_EQ(got.reasons.count("a value that it reads or makes is larger than any buffer of the device"), 1u);
}

// What a device says of each node stands in the profile; where it says nothing, the host's clock does for the part.
TEST_P(JoinedTest, ProfilesHaveTheDevicesTimes) {
  for (const bool tells : {true, false}) {
    device.tells_time = tells;
    const FileBytes bytes = random_graph(3, 12, false);
    const Loaded loaded(bytes);
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = "joiner,cpu";
    options.profile = 1;
    vireo_session* session = nullptr;
    ASSERT_EQ(vireo_session_create(loaded.model, &options, &session, nullptr), VIREO_OK);
    std::vector<float> x(64, 0.5f);
    const int64_t dims[] = {4, 16};
    const vireo_tensor in[] = {vireo_tensor_of(VIREO_FLOAT32, dims, 2, x.data(), 256),
                               vireo_tensor_of(VIREO_FLOAT32, dims, 2, x.data(), 256)};
    vireo_tensor out[2] = {};
    constexpr uint64_t kRuns = 3;
    for (uint64_t k = 0; k < kRuns; ++k) ASSERT_EQ(vireo_session_run(session, in, 2, out, 2, nullptr), VIREO_OK);
    uint32_t counted = 0;
    for (uint32_t n = 0; n < vireo_session_node_count(session); ++n) {
      vireo_node_info info = VIREO_NODE_INFO_INIT;
      ASSERT_EQ(vireo_session_node(session, n, &info, nullptr), VIREO_OK);
      if (std::strcmp(info.device, "joiner") != 0) continue;
      if (tells) {
        EXPECT_EQ(info.calls, kRuns) << info.name;
        EXPECT_EQ(info.total_ns, 500 * kRuns) << info.name;
      }
      counted += info.calls != 0 ? 1 : 0;
    }
    EXPECT_GE(counted, tells ? 2u : 1u);
    vireo_session_release(session);
  }
}

TEST_P(JoinedTest, MathThatThereIsNot) {
  const FileBytes bytes = random_graph(3, 12, false);
  const Loaded loaded(bytes);
  const Result got = run_with(loaded.model, "joiner,cpu", VIREO_MATH_F16 + 1);
  EXPECT_EQ(got.status, VIREO_INVALID_ARGUMENT);
  EXPECT_NE(got.message.find("math 2"), std::string::npos) << got.message;
}

// A node that is wrong in one of ten runs passes one trial nine times in ten, and 66 in one of a thousand.
TEST_P(JoinedTest, NodesThatAreWrongNowAndThenAreFound) {
  const FileBytes bytes = random_graph(21, 24, false);
  const Result right = run(Loaded(bytes).model, "cpu");
  const uint32_t all = run(Loaded(bytes).model, "joiner,cpu").on_joiner;
  int found = 0, with_one = 0;
  for (uint32_t draw = 1; draw <= 40; ++draw) {
    for (const uint32_t runs : {66u, 1u}) {
      SetUp();
      device.trial_runs = runs;
      device.wrong = {"n7"};
      device.wrong_one_in = 10;
      device.draws = draw * 977;
      device.longest = 4;
      const Loaded loaded(bytes);
      const Result got = run(loaded.model, "joiner,cpu", 4, 0, /*runs=*/20);
      ASSERT_EQ(got.status, VIREO_OK) << got.message;
      const bool told = got.reasons.count("it computed different values there from run to run") != 0;
      (runs == 66 ? found : with_one) += told || got.reasons.count("it computed other values there than on cpu") != 0;
      if (runs == 66 && told) {
        EXPECT_EQ(got.outputs, right.outputs);
        EXPECT_EQ(got.on_joiner + 1, all) << "its node only";
      }
    }
  }
  std::printf("%d of 40 found by 66 runs, %d by one\n", found, with_one);
  EXPECT_GE(found, 39);
  EXPECT_LT(with_one, 20);
}

TEST_P(JoinedTest, ARunThatWaitsCanBeCancelled) {
  const FileBytes bytes = random_graph(9, 20, false);
  const Loaded loaded(bytes);
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = "joiner,cpu";
  vireo_session* session = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_session_create(loaded.model, &options, &session, &error), VIREO_OK) << error.message;
  for (uint32_t i = 0; i < 2; ++i) {
    vireo_tensor t = {};
    ASSERT_EQ(vireo_session_input(session, i, &t, &error), VIREO_OK);
    std::memset(t.data, 0, static_cast<size_t>(t.capacity));
  }
  device.hangs = true;
  const int before = device.submits;
  std::thread other([session, before] {
    while (device.submits == before) std::this_thread::yield();
    vireo_session_cancel(session);
  });
  EXPECT_EQ(vireo_session_run(session, nullptr, 0, nullptr, 0, &error), VIREO_CANCELLED) << error.message;
  other.join();
  EXPECT_GE(device.cancels, 1);
  device.hangs = false;
  EXPECT_EQ(vireo_session_run(session, nullptr, 0, nullptr, 0, &error), VIREO_OK) << error.message;
  vireo_session_release(session);
}

struct Seen {
  std::vector<std::string> names, devices, seconds;
  std::vector<uint32_t> parts;
  std::vector<uint32_t> part_nodes;
  size_t joiner_takes = 0;
};
void see(void* context, const vireo_placed_node* n) {
  auto& seen = *static_cast<Seen*>(context);
  seen.names.emplace_back(n->name);
  seen.devices.emplace_back(n->device);
  seen.seconds.emplace_back(n->second == nullptr ? "" : n->second);
  seen.parts.push_back(n->part);
  seen.part_nodes.push_back(n->part_nodes);
  ASSERT_EQ(n->verdict_count, 2u);
  EXPECT_STREQ(n->verdicts[0]->device, "joiner");
  EXPECT_STREQ(n->verdicts[1]->device, "cpu");
  EXPECT_EQ(n->verdicts[1]->takes, 1u);
  if (n->verdicts[0]->takes == 0) {
    EXPECT_STRNE(n->verdicts[0]->reason, "");
  }
  seen.joiner_takes += n->verdicts[0]->takes;
}

TEST_P(JoinedTest, ThePlacementIsToldWithoutASession) {
  const FileBytes bytes = random_graph(21, 40, true);
  const Loaded loaded(bytes);
  device.longest = 6;
  device.refuses = {"n3"};
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = "joiner,cpu";
  vireo_error error = VIREO_ERROR_INIT;
  Seen seen;
  const vireo_placement_visitor visitor = {&seen, see};
  ASSERT_EQ(vireo_model_placement(loaded.model, &options, &visitor, &error), VIREO_OK) << error.message;
  EXPECT_EQ(device.submits, 0);
  vireo_session* session = nullptr;
  ASSERT_EQ(vireo_session_create(loaded.model, &options, &session, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_session_node_count(session), seen.names.size());
  size_t there = 0;
  for (uint32_t i = 0; i < seen.names.size(); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    ASSERT_EQ(vireo_session_node(session, i, &info, &error), VIREO_OK);
    EXPECT_EQ(seen.names[i], info.name);
    EXPECT_EQ(seen.devices[i], info.device);
    const bool joined = seen.devices[i] == "joiner";
    there += joined ? 1 : 0;
    EXPECT_EQ(seen.parts[i] != UINT32_MAX, joined);
    EXPECT_EQ(seen.seconds[i], joined ? "cpu" : "");
    EXPECT_LE(seen.part_nodes[i], 6u);
  }
  EXPECT_EQ(seen.joiner_takes, there);
  EXPECT_LT(there, seen.names.size());
  vireo_session_release(session);

  // What was found can be demanded.
  const auto percent = static_cast<int>(100 * there / seen.names.size());
  for (const int more : {0, 1}) {
    const std::string require = "joiner>=" + std::to_string(percent + more) + "%";
    options.require = require.c_str();
    EXPECT_EQ(vireo_session_create(loaded.model, &options, &session, &error), more == 0 ? VIREO_OK : VIREO_UNSUPPORTED);
    vireo_session_release(session);
    session = nullptr;
  }
  EXPECT_NE(std::string(error.message).find(std::to_string(there) + " of "), std::string::npos) << error.message;
  for (const char* bad :
       {"joiner", "joiner>=", "joiner>=50", "=50%", "joiner>=101%", "joiner>50%", "joiner=99999999999%"}) {
    options.require = bad;
    EXPECT_EQ(vireo_session_create(loaded.model, &options, &session, &error), VIREO_INVALID_ARGUMENT) << bad;
  }
  options.require = "gpu=50%";
  EXPECT_EQ(vireo_session_create(loaded.model, &options, &session, &error), VIREO_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("no such device"), std::string::npos) << error.message;
}

// The n-th allocation fails, for all n: an error, and nothing is left.
TEST_P(JoinedTest, EveryAllocationMayFail) {
  const FileBytes bytes = random_graph(11, 30, true);
  device.longest = 5;
  device.refuses = {"n3"};
  Failing failing;
  const vireo_allocator allocator = {allocate, give_back, &failing};
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = 1;
  int64_t n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, 1000);
    {
      failing.left = -1;
      const Loaded loaded(bytes, &options);
      vireo_session_options how = VIREO_SESSION_OPTIONS_INIT;
      how.device = "joiner,cpu";
      vireo_session* session = nullptr;
      vireo_error error = VIREO_ERROR_INIT;
      failing.left = n;
      const vireo_status status = vireo_session_create(loaded.model, &how, &session, &error);
      failing.left = -1;
      done = status == VIREO_OK;
      if (!done) {
        EXPECT_EQ(status, VIREO_OUT_OF_ARENA) << error.message;
      }
      EXPECT_EQ(session != nullptr, done);
      vireo_session_release(session);
    }
    EXPECT_EQ(failing.held, 0) << "after allocation " << n << " failed";
  }
  EXPECT_GT(n, 8);
}

// What parts of the device alone read stays there: chains of parts move what goes in and what comes out.
TEST_P(OwnMemoryTest, ValuesThatStayOnTheDeviceAreNotMoved) {
  uint64_t at_most = 0, moved = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 40, false);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    device.longest = 1 + seed % 5;  // many parts, one behind the other
    device.takes = ~uint64_t{0};
    const Result got = run(loaded.model, "joiner,cpu", 4, 0, 1, 0, VIREO_FAILOVER_NEVER);
    ASSERT_EQ(got.status, VIREO_OK) << got.message;
    ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    const uint64_t value = 4 * 16 * 4, on_cpu = got.nodes - got.on_joiner;
    // Two inputs go there, two outputs come back, and each node of the CPU reads two at most and makes one.
    EXPECT_LE(device.read, (2 + 2 * on_cpu) * value) << "seed " << seed;
    EXPECT_LE(device.written, (2 + on_cpu) * value) << "seed " << seed;
    moved += device.read + device.written;
    at_most += (4 + 3 * on_cpu) * value;
    // Of a value that only the device sees, the host has nothing.
    const Result with = run(loaded.model, "joiner,cpu");
    EXPECT_LT(got.arena_bytes, with.arena_bytes);
  }
  EXPECT_LT(moved, at_most);
}

TEST_P(JoinedTest, BuffersOfTheCallerAreUsedInPlace) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 12, false);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = "joiner,cpu";
    device.takes = seed % 2 == 0 ? ~uint64_t{0} : 0x5a5a5a;
    vireo_error error = VIREO_ERROR_INIT;
    const Session session(loaded.model, options);
    vireo_buffer* buffer = nullptr;
    const uint32_t joiner = 0;
    if (GetParam() == Memory::kHosts) {
      EXPECT_EQ(vireo_buffer_create(loaded.runtime, joiner, 4096, &buffer, &error), VIREO_UNSUPPORTED);
      return;
    }
    ASSERT_EQ(vireo_buffer_create(loaded.runtime, joiner, 4096, &buffer, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_buffer_bytes(buffer), 4096u);
    EXPECT_EQ(vireo_session_bind_input(session.handle, 0, buffer, 16, &error), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(vireo_session_bind_input(session.handle, 0, buffer, 4096 - 128, &error), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(vireo_session_bind_input(session.handle, 2, buffer, 0, &error), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(vireo_buffer_write(buffer, 4090, &error, 7, &error), VIREO_OUT_OF_ARENA);
    vireo_buffer* unknown = nullptr;
    vireo_handle handle = VIREO_HANDLE_INIT;
    handle.kind = VIREO_HANDLE_CUDA;
    handle.bytes = 256;
    EXPECT_EQ(vireo_buffer_import(loaded.runtime, joiner, &handle, &unknown, &error), VIREO_UNSUPPORTED);
    EXPECT_EQ(vireo_buffer_export(buffer, VIREO_HANDLE_FD, &handle, &error), VIREO_UNSUPPORTED);
    std::vector<float> x(64), z(64), out(64);
    for (size_t i = 0; i < 64; ++i) {
      x[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 8;
      z[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9) / 4;
    }
    ASSERT_EQ(vireo_buffer_write(buffer, 512, x.data(), 256, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_session_bind_input(session.handle, 0, buffer, 512, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_session_bind_output(session.handle, 0, buffer, 1024, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_session_bind_output(session.handle, 1, buffer, 2048, &error), VIREO_OK) << error.message;
    const auto value = [](std::vector<float>& v) {
      vireo_tensor t = {VIREO_FLOAT32, {0}, 2, 0, {4, 16}, v.data(), 256};
      return t;
    };
    std::vector<float> copy(64);
    for (int k = 0; k < 3; ++k) {
      vireo_tensor in[2] = {value(x), value(z)}, outs[2] = {};
      EXPECT_EQ(vireo_session_run(session.handle, in, 2, outs, 2, &error), VIREO_INVALID_ARGUMENT)
          << "bound, and data too";
      in[0].data = nullptr;
      if (k == 2) outs[1] = value(copy);
      ASSERT_EQ(vireo_session_run(session.handle, in, 2, outs, 2, &error), VIREO_OK) << error.message;
      EXPECT_EQ(outs[0].data, nullptr);
      EXPECT_EQ(outs[0].dims[1], 16);
      ASSERT_EQ(vireo_buffer_read(buffer, 1024, out.data(), 256, &error), VIREO_OK) << error.message;
      EXPECT_EQ(out, expected.outputs[0]) << "seed " << seed;
      ASSERT_EQ(vireo_buffer_read(buffer, 2048, out.data(), 256, &error), VIREO_OK) << error.message;
      EXPECT_EQ(out, expected.outputs[1]) << "seed " << seed;
    }
    EXPECT_EQ(copy, expected.outputs[1]);
    // Unbound again: the caller's memory counts.
    ASSERT_EQ(vireo_session_bind_input(session.handle, 0, nullptr, 0, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_session_bind_output(session.handle, 0, nullptr, 0, &error), VIREO_OK) << error.message;
    vireo_tensor in[2] = {value(x), value(z)}, outs[2] = {};
    ASSERT_EQ(vireo_session_run(session.handle, in, 2, outs, 2, &error), VIREO_OK) << error.message;
    ASSERT_NE(outs[0].data, nullptr);
    const auto* const f = static_cast<const float*>(outs[0].data);
    EXPECT_EQ(std::vector<float>(f, f + 64), expected.outputs[0]);
    // What the caller bound goes with the device; what the session keeps there does not matter then.
    ASSERT_EQ(vireo_session_bind_input(session.handle, 0, buffer, 512, &error), VIREO_OK) << error.message;
    in[0].data = nullptr;
    device.lost = true;
    EXPECT_EQ(vireo_session_run(session.handle, in, 2, outs, 2, &error), VIREO_DEVICE_LOST);
    device.lost = false;
    vireo_buffer_release(buffer);
  }
}

TEST_P(BufferTest, ADeviceWithoutMemoryForValuesIsDoneWithout) {
  const FileBytes bytes = random_graph(11, 30, false);
  const Loaded loaded(bytes);
  const Result expected = run(loaded.model, "cpu");
  device.buffers_left = 1;  // for scratch and state
  const Result got = run(loaded.model, "joiner,cpu");
  ASSERT_EQ(got.status, VIREO_OK) << got.message;
  EXPECT_EQ(got.outputs, expected.outputs);
  EXPECT_EQ(got.on_joiner == 0, GetParam() == Memory::kOwn) << "an import takes none of the device's memory";
}

TEST_P(JoinedTest, ADeviceWithoutMemoryIsDoneWithout) {
  const FileBytes bytes = random_graph(13, 20, false);
  const Result right = run(Loaded(bytes).model, "cpu");
  device.no_memory = true;
  const Loaded loaded(bytes);
  const Result got = run(loaded.model, "joiner,cpu");
  EXPECT_EQ(got.status, VIREO_OK) << got.message;
  EXPECT_EQ(got.on_joiner, 0u);
  EXPECT_EQ(got.outputs, right.outputs);
  bool told = false;
  for (const std::string& reason : got.reasons)
    told = told || reason.find("has no memory left to compile it") != std::string::npos;
  EXPECT_TRUE(told);
  EXPECT_EQ(run(loaded.model, "joiner").status, VIREO_UNSUPPORTED);
}

TEST_P(JoinedTest, ADeviceWithoutMemoryToLoadIsDoneWithout) {
  const FileBytes bytes = random_graph(13, 20, false);
  const Result right = run(Loaded(bytes).model, "cpu");
  const Loaded loaded(bytes);
  ASSERT_GT(run(loaded.model, "joiner,cpu").on_joiner, 0u);  // what it compiled stays with the model
  device.no_load = true;
  const Result got = run(loaded.model, "joiner,cpu");
  EXPECT_EQ(got.status, VIREO_OK) << got.message;
  EXPECT_EQ(got.on_joiner, 0u);
  EXPECT_EQ(got.outputs, right.outputs);
  EXPECT_EQ(got.reasons.count("the device had no memory left for it when a session was made"), 1u);
}

}  // namespace
}  // namespace vireo

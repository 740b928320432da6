// Pipelines and splits against one session: the same bits, in order, whatever is lost, cancelled or full. The npu is
// the emulated one; `sleeper` (sleeper_testing.cc) is a device that works beside the host.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/roots.h"
#include "vireo/fleet.h"

namespace {

using Bytes = std::vector<uint8_t>;

struct Heap {
  std::atomic<int64_t> live{0}, calls{0};
  static void* take(void* self, size_t bytes, size_t alignment) {
    auto& heap = *static_cast<Heap*>(self);
    heap.live += static_cast<int64_t>(bytes);
    ++heap.calls;
    if (alignment < sizeof(void*)) alignment = sizeof(void*);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void give(void* self, void* memory, size_t bytes, size_t) {
    if (memory != nullptr) static_cast<Heap*>(self)->live -= static_cast<int64_t>(bytes);
    std::free(memory);
  }
};

const std::string kNpu = vireo::tests::build_path("plugins/libvireo_npu.so");
const std::string kSleeper = vireo::tests::build_path("plugins/libsleeper.so");
const std::string kModels[] = {vireo::tests::source_path("tests/golden/integer_golden.vireo"),
                               vireo::tests::build_path("models/misuse.vireo"),
                               vireo::tests::build_path("models/packing.vireo")};
const std::string kBatched = vireo::tests::build_path("models/fleet_batch.vireo");

// A model with its runtime; environment variables hold for the time in which the plug-ins are opened.
struct Loaded {
  Heap heap;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_allocator allocator = {Heap::take, Heap::give, &heap};

  explicit Loaded(const std::string& path, const std::string& plugins = "",
                  const std::vector<std::pair<const char*, std::string>>& environment = {}) {
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.allocator = &allocator;
    options.threads = 2;
    options.plugins = plugins.c_str();
    options.probe = VIREO_PROBE_NEVER;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_file(runtime, path.c_str(), &model, &error), VIREO_OK) << error.message;
    for (const auto& [name, value] : environment) unsetenv(name);
  }
  ~Loaded() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
    EXPECT_EQ(heap.live, 0) << "not given back";
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

// Inputs and room for outputs of one run; dimension 0 is `rows` where it is symbolic.
struct Call {
  std::vector<Bytes> in_bytes, out_bytes;
  std::vector<vireo_tensor> in, out;

  Call(const vireo_model* model, uint32_t seed, int64_t rows = 1) {
    std::mt19937 random(seed);
    const uint32_t inputs = vireo_model_input_count(model), outputs = vireo_model_output_count(model);
    in_bytes.resize(inputs);
    out_bytes.resize(outputs);
    for (uint32_t i = 0; i < inputs + outputs; ++i) {
      vireo_value_info info = VIREO_VALUE_INFO_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      if (i < inputs) {
        EXPECT_EQ(vireo_model_input(model, i, &info, &error), VIREO_OK);
      } else {
        EXPECT_EQ(vireo_model_output(model, i - inputs, &info, &error), VIREO_OK);
      }
      vireo_tensor t = {};
      t.dtype = info.dtype;
      t.rank = info.rank;
      int64_t count = 1;
      for (int32_t d = 0; d < info.rank; ++d) {
        t.dims[d] = info.dim_names[d] != nullptr ? rows : info.max_dims[d];
        count *= t.dims[d];
      }
      t.capacity = vireo_dtype_bytes(info.dtype, count);
      Bytes& bytes = i < inputs ? in_bytes[i] : out_bytes[i - inputs];
      bytes.assign(static_cast<size_t>(t.capacity), 0);
      t.data = bytes.data();
      if (i < inputs && info.dtype == VIREO_FLOAT32) {
        for (int64_t k = 0; k < count; ++k)
          static_cast<float*>(t.data)[k] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500;
      } else if (i < inputs) {
        for (uint8_t& b : bytes) b = static_cast<uint8_t>(random() % 64);
      }
      (i < inputs ? in : out).push_back(t);
    }
  }
};

// What one session computes for calls 0 .. n - 1.
std::vector<std::vector<Bytes>> expected(const vireo_model* model, int n, const char* device = "cpu",
                                         int64_t rows = 1) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = device;
  const vireo_bound bound = {"batch", 1, rows};
  vireo_value_info info = VIREO_VALUE_INFO_INIT;
  EXPECT_EQ(vireo_model_input(model, 0, &info, &error), VIREO_OK);
  if (info.dim_names[0] != nullptr) {
    options.bounds = &bound;
    options.bound_count = 1;
  }
  vireo_session* session = nullptr;
  EXPECT_EQ(vireo_session_create(model, &options, &session, &error), VIREO_OK) << error.message;
  std::vector<std::vector<Bytes>> all;
  for (int i = 0; i < n; ++i) {
    Call call(model, static_cast<uint32_t>(i), rows);
    EXPECT_EQ(vireo_session_run(session, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                                static_cast<uint32_t>(call.out.size()), &error),
              VIREO_OK)
        << error.message;
    all.push_back(call.out_bytes);
  }
  vireo_session_release(session);
  return all;
}

struct Pipeline {
  vireo_pipeline* p = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  Pipeline(Loaded& from, const char* device, uint32_t depth, uint32_t capacity = 0,
           vireo_failover failover = VIREO_FAILOVER_DEFAULT, uint32_t profile = 0) {
    vireo_session_options session = VIREO_SESSION_OPTIONS_INIT;
    session.device = device;
    session.failover = failover;
    session.profile = profile;
    vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
    options.session = &session;
    options.depth = depth;
    options.capacity = capacity;
    options.allocator = &from.allocator;
    EXPECT_EQ(vireo_pipeline_create(from.model, &options, &p, &error), VIREO_OK) << error.message;
  }
  ~Pipeline() { vireo_pipeline_release(p); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  vireo_status submit(Call& call, void* user = nullptr, vireo_when_full full = VIREO_WHEN_FULL_WAIT) {
    return vireo_pipeline_submit(p, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                                 static_cast<uint32_t>(call.out.size()), user, full, &error);
  }
  vireo_finished wait(uint64_t timeout_ns = UINT64_MAX) {
    vireo_finished f = VIREO_FINISHED_INIT;
    EXPECT_EQ(vireo_pipeline_wait(p, timeout_ns, &f, &error), VIREO_OK) << error.message;
    return f;
  }
};

void same_as_one_session(Loaded& loaded, const char* device, uint32_t depth, int runs) {
  const auto right = expected(loaded.model, runs);
  std::vector<Call> calls;
  for (int i = 0; i < runs; ++i) calls.emplace_back(loaded.model, static_cast<uint32_t>(i));
  Pipeline pipeline(loaded, device, depth, static_cast<uint32_t>(runs));
  const int64_t before = loaded.heap.calls;
  for (Call& call : calls) ASSERT_EQ(pipeline.submit(call, &call), VIREO_OK) << pipeline.error.message;
  for (int i = 0; i < runs; ++i) {
    const vireo_finished f = pipeline.wait();
    ASSERT_EQ(f.status, VIREO_OK) << pipeline.error.message;
    EXPECT_EQ(f.number, static_cast<uint64_t>(i));
    ASSERT_EQ(f.user, &calls[static_cast<size_t>(i)]);
    EXPECT_EQ(calls[static_cast<size_t>(i)].out_bytes, right[static_cast<size_t>(i)]) << "run " << i;
  }
  EXPECT_EQ(loaded.heap.calls, before) << "allocated after creation";
}

TEST(Pipeline, SameBitsInOrder) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Loaded loaded(model);
    for (const uint32_t depth : {0u, 1u, 2u, 4u}) same_as_one_session(loaded, "cpu", depth, 12);
  }
}

TEST(Pipeline, SameBitsOverTwoDevices) {
  Loaded npu(kModels[0], kNpu);
  same_as_one_session(npu, "npu,cpu", 3, 12);
  Loaded sleeper(kModels[1], kSleeper, {{"SLEEPER_US", "200"}, {"SLEEPER_NODES", "2-6"}});
  same_as_one_session(sleeper, "sleeper,cpu", 3, 12);
}

// A device lost in the middle: with failover every result is right; without it each run says what happened.
TEST(Pipeline, DeviceLostInTheMiddle) {
  const int runs = 10;
  for (const bool failover : {true, false}) {
    Loaded loaded(kModels[0], kNpu, {{"VIREO_NPU_FAULT", "lost@6"}});
    const auto right = expected(loaded.model, runs);
    Pipeline pipeline(loaded, "npu,cpu", 2, runs, failover ? VIREO_FAILOVER_DEFAULT : VIREO_FAILOVER_NEVER);
    std::vector<Call> calls;
    for (int i = 0; i < runs; ++i) calls.emplace_back(loaded.model, static_cast<uint32_t>(i));
    for (Call& call : calls) ASSERT_EQ(pipeline.submit(call), VIREO_OK);
    int lost = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      const vireo_finished f = pipeline.wait();
      EXPECT_EQ(f.number, i);
      if (f.status == VIREO_OK) {
        EXPECT_EQ(calls[i].out_bytes, right[i]) << "run " << i;
      } else {
        ++lost;
        EXPECT_EQ(f.status, VIREO_DEVICE_LOST);
        EXPECT_NE(std::string(pipeline.error.message).find("npu"), std::string::npos) << pipeline.error.message;
      }
    }
    EXPECT_EQ(lost > 0, !failover);
  }
}

TEST(Pipeline, FullQueue) {
  Loaded loaded(kModels[1], kSleeper, {{"SLEEPER_US", "20000"}, {"SLEEPER_NODES", "2-3"}});
  Pipeline pipeline(loaded, "sleeper,cpu", 1, 2);
  Call a(loaded.model, 0), b(loaded.model, 1), c(loaded.model, 2);
  ASSERT_EQ(pipeline.submit(a), VIREO_OK);
  ASSERT_EQ(pipeline.submit(b), VIREO_OK);
  EXPECT_EQ(pipeline.submit(c, nullptr, VIREO_WHEN_FULL_BUSY), VIREO_BUSY);
  EXPECT_NE(std::string(pipeline.error.message).find("vireo_pipeline_wait"), std::string::npos);
  vireo_finished f = VIREO_FINISHED_INIT;
  EXPECT_EQ(vireo_pipeline_wait(pipeline.p, 0, &f, &pipeline.error), VIREO_BUSY);
  std::thread other([&pipeline] {  // with an error of its own
    vireo_error error = VIREO_ERROR_INIT;
    vireo_finished first = VIREO_FINISHED_INIT;
    EXPECT_EQ(vireo_pipeline_wait(pipeline.p, UINT64_MAX, &first, &error), VIREO_OK);
    EXPECT_EQ(first.number, 0u);
  });
  EXPECT_EQ(pipeline.submit(c), VIREO_OK);  // waits for the other thread's wait
  other.join();
  EXPECT_EQ(pipeline.wait().number, 1u);
  EXPECT_EQ(pipeline.wait().number, 2u);
  EXPECT_EQ(vireo_pipeline_wait(pipeline.p, UINT64_MAX, &f, &pipeline.error), VIREO_INVALID_ARGUMENT);
}

TEST(Pipeline, CancelEndsWhatWasSubmittedAndNothingElse) {
  Loaded loaded(kModels[1], kSleeper, {{"SLEEPER_US", "20000"}, {"SLEEPER_NODES", "2-5"}});
  const auto right = expected(loaded.model, 8);
  Pipeline pipeline(loaded, "sleeper,cpu", 2, 16);
  for (int round = 0; round < 4; ++round) {
    std::vector<Call> calls;
    for (uint32_t i = 0; i < 8; ++i) calls.emplace_back(loaded.model, i);
    for (size_t i = 0; i < 4; ++i) ASSERT_EQ(pipeline.submit(calls[i]), VIREO_OK);
    vireo_pipeline_cancel(pipeline.p);
    for (size_t i = 4; i < 6; ++i) ASSERT_EQ(pipeline.submit(calls[i]), VIREO_OK);
    for (size_t i = 0; i < 6; ++i) {
      const vireo_finished f = pipeline.wait();
      if (i < 4) {
        EXPECT_EQ(f.status, VIREO_CANCELLED) << i;
        EXPECT_EQ(calls[i].out_bytes, Call(loaded.model, 0).out_bytes) << "untouched";
      } else {
        ASSERT_EQ(f.status, VIREO_OK) << pipeline.error.message;
        EXPECT_EQ(calls[i].out_bytes, right[i]);
      }
    }
  }
}

TEST(Pipeline, ReleaseWithRunsUnderWay) {
  Loaded loaded(kModels[1], kSleeper, {{"SLEEPER_US", "10000"}, {"SLEEPER_NODES", "2-5"}});
  for (int round = 0; round < 4; ++round) {
    std::vector<Call> calls;
    for (uint32_t i = 0; i < 6; ++i) calls.emplace_back(loaded.model, i);
    Pipeline pipeline(loaded, "sleeper,cpu", 3, 6);
    for (Call& call : calls) ASSERT_EQ(pipeline.submit(call), VIREO_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * round));
  }  // released first, then the tensors
}

TEST(Pipeline, TwoThreadsSubmitAndTwoTake) {
  Loaded loaded(kModels[1]);
  const int each = 20;
  const auto right = expected(loaded.model, 2 * each);
  std::vector<Call> calls;
  for (int i = 0; i < 2 * each; ++i) calls.emplace_back(loaded.model, static_cast<uint32_t>(i));
  Pipeline pipeline(loaded, "cpu", 2, 3);
  const auto feed = [&](int first) {
    vireo_error error = VIREO_ERROR_INIT;
    for (int i = first; i < first + each; ++i) {
      Call& call = calls[static_cast<size_t>(i)];
      EXPECT_EQ(
          vireo_pipeline_submit(pipeline.p, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                                static_cast<uint32_t>(call.out.size()), &call, VIREO_WHEN_FULL_WAIT, &error),
          VIREO_OK);
    }
  };
  std::atomic<int> taken{0};
  const auto take = [&] {
    vireo_error error = VIREO_ERROR_INIT;
    while (taken < 2 * each) {
      vireo_finished f = VIREO_FINISHED_INIT;
      const vireo_status status = vireo_pipeline_wait(pipeline.p, 1000000, &f, &error);
      if (status != VIREO_OK) continue;
      EXPECT_EQ(f.status, VIREO_OK) << error.message;
      ++taken;
    }
  };
  std::thread a(feed, 0), b(feed, each), c(take), d(take);
  for (std::thread* t : {&a, &b, &c, &d}) t->join();
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i].out_bytes, right[i]) << i;
}

TEST(Pipeline, ARunsOwnFaultIsItsOwn) {
  Loaded loaded(kModels[1]);
  const auto right = expected(loaded.model, 3);
  Pipeline pipeline(loaded, "cpu", 2, 4);
  std::vector<Call> calls;
  for (uint32_t i = 0; i < 3; ++i) calls.emplace_back(loaded.model, i);
  calls[1].in[0].dims[0] = 7;
  for (Call& call : calls) ASSERT_EQ(pipeline.submit(call), VIREO_OK);
  EXPECT_EQ(pipeline.wait().status, VIREO_OK);
  EXPECT_EQ(pipeline.wait().status, VIREO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(pipeline.error.message).find("features"), std::string::npos) << pipeline.error.message;
  EXPECT_EQ(pipeline.wait().status, VIREO_OK);
  EXPECT_EQ(calls[2].out_bytes, right[2]);
  Call none(loaded.model, 0);
  none.in[0].data = nullptr;
  EXPECT_EQ(pipeline.submit(none), VIREO_INVALID_ARGUMENT);
}

TEST(Pipeline, ADeviceThatCancelsByItselfEndsTheRun) {
  Loaded loaded(kModels[1], kSleeper, {{"SLEEPER_CANCELS", "1"}, {"SLEEPER_NODES", "2-5"}});
  Pipeline pipeline(loaded, "sleeper,cpu", 2, 4);
  Call call(loaded.model, 0);
  ASSERT_EQ(pipeline.submit(call), VIREO_OK);
  EXPECT_EQ(pipeline.wait().status, VIREO_CANCELLED);
}

TEST(Pipeline, RefusesBadOptions) {
  Loaded loaded(kModels[1]);
  vireo_error error = VIREO_ERROR_INIT;
  vireo_pipeline* p = nullptr;
  const auto refused = [&](const vireo_pipeline_options& options) {
    const vireo_status status = vireo_pipeline_create(loaded.model, &options, &p, &error);
    EXPECT_EQ(p, nullptr);
    EXPECT_NE(error.message[0], 0);
    return status;
  };
  vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
  options.depth = 65;
  EXPECT_EQ(refused(options), VIREO_INVALID_ARGUMENT);
  options.depth = 3;
  options.capacity = 2;
  EXPECT_EQ(refused(options), VIREO_INVALID_ARGUMENT);
  options = VIREO_PIPELINE_OPTIONS_INIT;
  options.struct_size = 0;
  EXPECT_EQ(refused(options), VIREO_INVALID_ARGUMENT);
  vireo_session_options session = VIREO_SESSION_OPTIONS_INIT;
  session.device = "moon";
  options = VIREO_PIPELINE_OPTIONS_INIT;
  options.session = &session;
  EXPECT_EQ(refused(options), VIREO_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("moon"), std::string::npos) << error.message;
  EXPECT_EQ(vireo_pipeline_create(nullptr, nullptr, &p, &error), VIREO_INVALID_ARGUMENT);
}

// The device's part and the host's overlap: two runs' parts never take their sum.
TEST(Pipeline, EstimateNamesTheBottleneck) {
  Loaded loaded(kModels[1], kSleeper, {{"SLEEPER_US", "5000"}, {"SLEEPER_NODES", "2-6"}});
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = "sleeper,cpu";
  vireo_estimate named = VIREO_ESTIMATE_INIT, chosen = VIREO_ESTIMATE_INIT;
  vireo_load loads[2] = {VIREO_LOAD_INIT, VIREO_LOAD_INIT};
  ASSERT_EQ(vireo_fleet_estimate(loaded.model, &options, 0, &named, loads, 2, &error), VIREO_OK) << error.message;
  ASSERT_LT(named.bottleneck, named.load_count);
  ASSERT_LE(named.load_count, 2u);
  EXPECT_STREQ(loads[named.bottleneck].device, "sleeper");
  EXPECT_NEAR(named.bottleneck_ns, 20e6, 1);
  EXPECT_GE(named.latency_ns, named.bottleneck_ns);
  // Its nodes take longer than the host's, so the host alone is better, and an emulated device is not asked unless
  // said.
  ASSERT_EQ(vireo_fleet_estimate(loaded.model, nullptr, 1, &chosen, nullptr, 0, &error), VIREO_OK) << error.message;
  EXPECT_NE(chosen.reason[0], 0);
  EXPECT_EQ(std::string(chosen.devices).find("sleeper"), std::string::npos) << chosen.devices << ": " << chosen.reason;
}

// Its threads are the parent's: calls say so, and the release waits for none of them.
TEST(Fleet, InAForkedChildIsRefusedAndReleased) {
  Loaded loaded(kBatched);
  vireo_pipeline* pipeline = nullptr;
  vireo_split* split = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_bound bound = {"batch", 1, 4};
  vireo_value_info first = VIREO_VALUE_INFO_INIT;
  ASSERT_EQ(vireo_model_input(loaded.model, 0, &first, &error), VIREO_OK);
  bound.name = first.dim_names[0];
  vireo_session_options session = VIREO_SESSION_OPTIONS_INIT;
  session.device = "cpu";
  session.bounds = &bound;
  session.bound_count = 1;
  vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
  options.session = &session;
  options.depth = 2;
  ASSERT_EQ(vireo_pipeline_create(loaded.model, &options, &pipeline, &error), VIREO_OK) << error.message;
  const char* const devices[] = {"cpu", "cpu"};
  vireo_split_options shares = VIREO_SPLIT_OPTIONS_INIT;
  shares.devices = devices;
  shares.device_count = 2;
  shares.batch = 4;
  ASSERT_EQ(vireo_split_create(loaded.model, &shares, &split, &error), VIREO_OK) << error.message;
  Call call(loaded.model, 0, 4);
  usleep(50000);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    vireo_finished done = VIREO_FINISHED_INIT;
    uint32_t wrong = 0;
    const auto refused = [&](vireo_status status) {
      wrong += status != VIREO_INVALID_ARGUMENT || std::strstr(error.message, "forked") == nullptr ? 1 : 0;
    };
    refused(vireo_pipeline_submit(pipeline, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                                  static_cast<uint32_t>(call.out.size()), nullptr, VIREO_WHEN_FULL_WAIT, &error));
    refused(vireo_pipeline_wait(pipeline, UINT64_MAX, &done, &error));
    refused(vireo_split_run(split, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                            static_cast<uint32_t>(call.out.size()), &error));
    vireo_pipeline_cancel(pipeline);
    vireo_pipeline_release(pipeline);
    vireo_split_release(split);
    _exit(static_cast<int>(wrong));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(vireo_split_run(split, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                            static_cast<uint32_t>(call.out.size()), &error),
            VIREO_OK)
      << error.message;
  vireo_pipeline_release(pipeline);
  vireo_split_release(split);
}

// ---- Splits

struct Split {
  vireo_split* s = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  Split(Loaded& from, const std::vector<const char*>& devices, int64_t batch, const std::vector<double>& weights = {},
        bool deterministic = false) {
    vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
    options.devices = devices.data();
    options.device_count = static_cast<uint32_t>(devices.size());
    options.batch = batch;
    options.weights = weights.empty() ? nullptr : weights.data();
    options.deterministic = deterministic ? 1 : 0;
    options.allocator = &from.allocator;
    EXPECT_EQ(vireo_split_create(from.model, &options, &s, &error), VIREO_OK) << error.message;
  }
  ~Split() { vireo_split_release(s); }
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;
  vireo_share share(uint32_t i) {
    vireo_share out = VIREO_SHARE_INIT;
    EXPECT_EQ(vireo_split_share(s, i, &out, &error), VIREO_OK);
    return out;
  }
};

void split_is_one_session(Loaded& loaded, Split& split, uint32_t shares, int64_t rows) {
  SCOPED_TRACE(std::to_string(rows) + " rows");
  const auto right = expected(loaded.model, 2, "cpu", rows);
  for (uint32_t i = 0; i < 2; ++i) {
    Call call(loaded.model, i, rows);
    const int64_t before = loaded.heap.calls;
    ASSERT_EQ(vireo_split_run(split.s, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                              static_cast<uint32_t>(call.out.size()), &split.error),
              VIREO_OK)
        << split.error.message;
    EXPECT_EQ(loaded.heap.calls, before) << "allocated after creation";
    // Sums of a float product may be taken in another order for another number of rows; integers:
    // tests/property/fleet_models_test.cc.
    ASSERT_EQ(call.out[0].dtype, VIREO_FLOAT32);
    const auto* const got = reinterpret_cast<const float*>(call.out_bytes[0].data());
    const auto* const want = reinterpret_cast<const float*>(right[i][0].data());
    for (size_t k = 0; k < call.out_bytes[0].size() / sizeof(float); ++k) EXPECT_NEAR(got[k], want[k], 1e-5) << k;
    EXPECT_EQ(call.out[0].dims[0], rows);
    int64_t sum = 0;
    for (uint32_t k = 0; k < shares; ++k) sum += split.share(k).rows;
    EXPECT_EQ(sum, rows);
  }
}

TEST(Split, SharesOfEveryKind) {
  Loaded loaded(kBatched, kSleeper);
  for (const std::vector<double>& weights : {std::vector<double>{1, 1}, {1, 0}, {0, 1}, {5, 2}, {1, 1000}, {}}) {
    Split split(loaded, {"cpu", "sleeper"}, 9, weights);
    for (const int64_t rows : {1, 2, 9}) split_is_one_session(loaded, split, 2, rows);
  }
  Split four(loaded, {"cpu", "sleeper", "cpu", "sleeper"}, 3);
  for (const int64_t rows : {1, 2, 3}) split_is_one_session(loaded, four, 4, rows);
  Split one(loaded, {"cpu"}, 4);
  split_is_one_session(loaded, one, 1, 4);
}

TEST(Split, RowsOfALostDeviceRunOnAnother) {
  for (const char* at : {"0", "5", "17"}) {
    Loaded loaded(kBatched, kSleeper, {{"SLEEPER_LOST", at}});
    Split split(loaded, {"cpu", "sleeper"}, 8, {1, 1});
    for (int i = 0; i < 3; ++i) split_is_one_session(loaded, split, 2, 8);
    EXPECT_EQ(split.share(1).lost, 1u);
    EXPECT_EQ(split.share(0).rows, 8);
  }
  Loaded loaded(kBatched, kSleeper, {{"SLEEPER_LOST", "0"}});
  Split split(loaded, {"sleeper"}, 4);
  for (int i = 0; i < 2; ++i) {
    Call call(loaded.model, 0, 4);
    EXPECT_EQ(vireo_split_run(split.s, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                              static_cast<uint32_t>(call.out.size()), &split.error),
              VIREO_DEVICE_LOST);
    EXPECT_NE(split.error.message[0], 0);
  }
}

TEST(Split, MeasuredTimesMoveSharesUnlessDeterministic) {
  for (const bool deterministic : {true, false}) {
    Loaded loaded(kBatched, kSleeper, {{"SLEEPER_US", "3000"}});
    Split split(loaded, {"cpu", "sleeper"}, 16, {}, deterministic);
    const double before = split.share(1).weight;
    Call call(loaded.model, 0, 16);
    for (int i = 0; i < 6; ++i)
      ASSERT_EQ(vireo_split_run(split.s, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                                static_cast<uint32_t>(call.out.size()), &split.error),
                VIREO_OK);
    EXPECT_TRUE(!deterministic || split.share(1).weight == before);
    EXPECT_NEAR(split.share(0).weight + split.share(1).weight, 1, 1e-9);
  }
}

TEST(Split, RefusesWhatIsNoBatch) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_split* s = nullptr;
  const char* const devices[] = {"cpu", "cpu"};
  vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
  options.devices = devices;
  options.device_count = 2;
  options.batch = 4;
  Loaded fixed(kModels[1]);
  EXPECT_EQ(vireo_split_create(fixed.model, &options, &s, &error), VIREO_INVALID_ARGUMENT);
  EXPECT_STREQ(error.tensor, "features");
  Loaded loaded(kBatched);
  options.batch = 0;
  EXPECT_EQ(vireo_split_create(loaded.model, &options, &s, &error), VIREO_INVALID_ARGUMENT);
  options.batch = 4;
  const double bad[] = {0, 0};
  options.weights = bad;
  EXPECT_EQ(vireo_split_create(loaded.model, &options, &s, &error), VIREO_INVALID_ARGUMENT);
  Split split(loaded, {"cpu", "cpu"}, 4);
  Call call(loaded.model, 0, 5);
  EXPECT_EQ(vireo_split_run(split.s, call.in.data(), static_cast<uint32_t>(call.in.size()), call.out.data(),
                            static_cast<uint32_t>(call.out.size()), &split.error),
            VIREO_INVALID_ARGUMENT);
  Call small(loaded.model, 0, 4);
  small.out[0].capacity -= 1;
  EXPECT_EQ(vireo_split_run(split.s, small.in.data(), static_cast<uint32_t>(small.in.size()), small.out.data(),
                            static_cast<uint32_t>(small.out.size()), &split.error),
            VIREO_OUT_OF_ARENA);
}

}  // namespace

// How devices are, asked while they work: the software NPU idle, at work, hanging and lost; the cpu, which tells
// nothing.
#include "vireo/telemetry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

struct Opened {
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  uint32_t npu = 0, cpu = 0;

  explicit Opened(const char* faults = "") {
    setenv("VIREO_NPU_FAULT", faults, 1);
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    static const std::string plugin = vireo::tests::build_path("plugins/libvireo_npu.so");
    options.plugins = plugin.c_str();
    options.probe = VIREO_PROBE_NEVER;  // which would meet the faults
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    unsetenv("VIREO_NPU_FAULT");
    for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      EXPECT_EQ(vireo_runtime_device(runtime, i, &info, nullptr), VIREO_OK);
      if (std::strcmp(info.name, "npu") == 0) npu = i;
      if (std::strcmp(info.name, "cpu") == 0) cpu = i;
    }
    EXPECT_EQ(vireo_model_load_file(runtime, vireo::tests::source_path("tests/golden/integer_golden.vireo").c_str(),
                                    &model, &error),
              VIREO_OK)
        << error.message;
    vireo_session_options made = VIREO_SESSION_OPTIONS_INIT;
    made.device = "npu,cpu";
    made.failover = VIREO_FAILOVER_NEVER;
    made.device_timeout_ns = 100000000;
    EXPECT_EQ(vireo_session_create(model, &made, &session, &error), VIREO_OK) << error.message;
  }
  ~Opened() {
    vireo_session_release(session);
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  vireo_status run() const {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_tensor in = {};
      EXPECT_EQ(vireo_session_input(session, i, &in, nullptr), VIREO_OK);
      std::memset(in.data, 1, static_cast<size_t>(in.capacity));
    }
    std::vector<vireo_tensor> results(vireo_model_output_count(model));
    return vireo_session_run(session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), nullptr);
  }
  vireo_status ask(vireo_telemetry* out) const { return vireo_runtime_telemetry(runtime, npu, out, nullptr); }
};

TEST(Telemetry, CountsWork) {
  const Opened o;
  vireo_telemetry before = VIREO_TELEMETRY_INIT, after = VIREO_TELEMETRY_INIT;
  ASSERT_EQ(o.ask(&before), VIREO_OK);
  EXPECT_EQ(before.power, uint32_t{VIREO_POWER_IDLE});
  EXPECT_EQ(before.submits, 0u);
  ASSERT_EQ(o.run(), VIREO_OK);
  ASSERT_EQ(o.ask(&after), VIREO_OK);
  EXPECT_EQ(after.power, uint32_t{VIREO_POWER_IDLE});
  EXPECT_GT(after.submits, 0u);
  EXPECT_GT(after.busy_ns, 0u);
  EXPECT_GT(after.energy_nj, 0u);
  EXPECT_GT(after.clock_mhz, 0);
  EXPECT_EQ(after.resets, 0u);
}

TEST(Telemetry, IsAskedFromOtherThreadsWhileTheDeviceWorks) {
  const Opened o;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread asker([&] {
    uint64_t submits = 0;
    while (!stop) {
      vireo_telemetry now = VIREO_TELEMETRY_INIT;
      if (o.ask(&now) != VIREO_OK || now.submits < submits || now.power == VIREO_POWER_UNKNOWN) ++wrong;
      submits = now.submits;
    }
  });
  for (int i = 0; i < 30; ++i) EXPECT_EQ(o.run(), VIREO_OK);
  stop = true;
  asker.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Telemetry, ShowsADeviceAtWorkThatHangs) {
  const Opened o("hang@0");
  std::thread runner([&] { (void)o.run(); });
  bool busy = false;
  for (int i = 0; i < 100000 && !busy; ++i) {  // the run gives up after a tenth of a second
    vireo_telemetry now = VIREO_TELEMETRY_INIT;
    (void)o.ask(&now);
    busy = now.power == VIREO_POWER_BUSY;
    std::this_thread::yield();
  }
  runner.join();
  EXPECT_TRUE(busy);
}

TEST(Telemetry, SaysThatADeviceIsLostAndWhatItsDriverStillKnows) {
  const Opened o("lost@0");
  EXPECT_NE(o.run(), VIREO_OK);
  vireo_telemetry now = VIREO_TELEMETRY_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_runtime_telemetry(o.runtime, o.npu, &now, &error), VIREO_DEVICE_LOST);
  EXPECT_NE(error.message[0], 0);
  EXPECT_EQ(now.power, uint32_t{VIREO_POWER_UNKNOWN});
  EXPECT_EQ(now.submits, 1u);
}

TEST(Telemetry, OfADeviceThatTellsNothing) {
  const Opened o;
  vireo_telemetry now = VIREO_TELEMETRY_INIT;
  now.submits = 7;
  vireo_error error = VIREO_ERROR_INIT;
  EXPECT_EQ(vireo_runtime_telemetry(o.runtime, o.cpu, &now, &error), VIREO_UNSUPPORTED);
  EXPECT_NE(error.message[0], 0);
  EXPECT_EQ(now.submits, 0u);
}

TEST(Telemetry, FillsWhatTheCallersStructHolds) {
  const Opened o;
  vireo_telemetry now = VIREO_TELEMETRY_INIT;
  now.struct_size = offsetof(vireo_telemetry, power);
  now.power = 99;
  ASSERT_EQ(o.ask(&now), VIREO_OK);
  EXPECT_GT(now.clock_mhz, 0);
  EXPECT_EQ(now.power, 99u);
  EXPECT_EQ(now.struct_size, offsetof(vireo_telemetry, power));
  now.struct_size = 0;
  EXPECT_EQ(o.ask(&now), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(o.ask(nullptr), VIREO_INVALID_ARGUMENT);
  now.struct_size = sizeof(now);
  EXPECT_EQ(vireo_runtime_telemetry(o.runtime, 99, &now, nullptr), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_runtime_telemetry(nullptr, 0, &now, nullptr), VIREO_INVALID_ARGUMENT);
}

}  // namespace

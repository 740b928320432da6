// `vireo devices --measure` on a device with memory of its own: one of this file, which is the CPU behind a slow bus.
// Figures are only held to the side on which the waiting makes them certain.
#include "c_api/cli/measure.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/speeds.h"
#include "runtime/devices/runtime.h"
#include "vireo/delegate.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo::cli {
namespace {

constexpr double kLaunchNs = 300e3, kTransfer = 1e9;
bool lost = false;

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  using Clock = std::chrono::steady_clock;
  if (lost) return VIREO_DEVICE_LOST;
  double moved = 0;
  for (const vireo_tensor* t : {inputs[0], static_cast<const vireo_tensor*>(outputs[0])}) {
    int64_t count = 1;
    for (int32_t d = 0; d < t->rank; ++d) count *= t->dims[d];
    moved += static_cast<double>(vireo_dtype_bytes(t->dtype, count));
  }
  const Clock::time_point begin = Clock::now();
  const std::chrono::duration<double, std::nano> wait(kLaunchNs + moved / kTransfer * 1e9);
  while (Clock::now() - begin < wait) {
  }
  return vireo_cpu_delegate.submit(loaded, inputs, input_count, outputs, output_count, with);
}

class Measure : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const before = getenv("XDG_CACHE_HOME");
    if (before != nullptr) before_ = before;
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, nullptr), VIREO_OK);
    delegate_ = vireo_cpu_delegate;
    delegate_.name = "far";
    delegate_.submit = submit;
    lost = false;
    all_.assign(runtime_->devices, runtime_->devices + runtime_->device_count);
    runtime_->device_count = 0;  // the others have their turn in speeds_test
    for (const Device& d : all_) {
      if (d.info.name == std::string("cpu")) runtime_->devices[runtime_->device_count++] = d;
    }
    ASSERT_EQ(runtime_->device_count, 1u);
    add("far", 0);
    add("made up", VIREO_DEVICE_EMULATED);
  }
  void add(const char* name, uint32_t flags) {
    Device device = runtime_->devices[0];
    device.delegate = &delegate_;
    device.info.name = name;
    device.info.delegate = "far";
    device.info.flags = flags;
    device.info.transfer = 1e9;
    runtime_->devices[runtime_->device_count++] = device;
  }
  void TearDown() override {
    std::copy(all_.begin(), all_.end(), runtime_->devices);  // each is released
    runtime_->device_count = static_cast<uint32_t>(all_.size());
    vireo_runtime_release(runtime_);
    before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

  vireo_delegate delegate_ = {};
  vireo_runtime* runtime_ = nullptr;
  std::vector<Device> all_;
  std::optional<std::string> before_;
  TemporaryFile file_{".cache"};
  const std::string folder_ = file_.path() + ".folder";
};

TEST_F(Measure, TellsLaunchAndTransferFromWork) {
  std::optional<Speeds> cpu, far;
  // On a busy machine the time of a transfer may drown in that of a launch, and none is reported.
  for (int attempt = 0; attempt < 5 && !(far.has_value() && far->transfer > 0); ++attempt) {
    measure_devices(runtime_);
    cpu = measured_speeds(runtime_->devices[0].info);
    far = measured_speeds(runtime_->devices[1].info);
  }
  ASSERT_TRUE(cpu.has_value());
  ASSERT_TRUE(far.has_value());
  printf("%s", speeds_table(runtime_).c_str());
  EXPECT_EQ(cpu->launch_ns, 0);
  EXPECT_EQ(cpu->transfer, 0);
  EXPECT_GT(far->launch_ns, kLaunchNs / 2);
  EXPECT_GT(far->transfer, 0);
  EXPECT_LT(far->transfer, 10 * kTransfer);  // of the right order, however busy the machine is
  EXPECT_GT(far->bandwidth, 0);
  EXPECT_GT(far->f32_rate, 0);
  EXPECT_FALSE(measured_speeds(runtime_->devices[2].info).has_value());
}

TEST_F(Measure, ALostDeviceIsNamedAndNothingIsKept) {
  lost = true;
  try {
    measure_devices(runtime_);
    FAIL() << "the device was lost";
  } catch (const Failure& e) {
    EXPECT_NE(std::string(e.what()).find("measure device far"), std::string::npos) << e.what();
  }
  for (uint32_t d = 0; d < 3; ++d) EXPECT_FALSE(measured_speeds(runtime_->devices[d].info).has_value());
}

}  // namespace
}  // namespace vireo::cli

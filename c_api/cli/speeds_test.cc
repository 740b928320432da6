#include "c_api/cli/speeds.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "c_api/cli/file.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/machine.h"
#include "c_api/cli/measure.h"

namespace vireo::cli::speeds_test {
namespace {

class SpeedsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const before = getenv("XDG_CACHE_HOME");
    if (before != nullptr) before_ = before;
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    info_.name = "accelerator";
    info_.delegate = "vendor";
    info_.f32_rate = 500e9;
  }
  void TearDown() override {
    before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return cache_file("devices", device_fingerprint(info_)); }

  std::optional<std::string> before_;
  TemporaryFile file_{".cache"};
  const std::string folder_ = file_.path() + ".folder";
  vireo_device_info info_ = VIREO_DEVICE_INFO_INIT;
};

TEST_F(SpeedsFile, KeepsWhatWasMeasured) {
  EXPECT_FALSE(measured_speeds(info_).has_value());
  keep_speeds(info_, {400e9, 0, 1.6e12, 80e9, 12e9, 7500, 900});
  const std::optional<Speeds> again = measured_speeds(info_);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->f32_rate, 400e9);
  EXPECT_EQ(again->f16_rate, 0);
  EXPECT_EQ(again->transfer, 12e9);
  EXPECT_EQ(again->launch_ns, 7500);
  EXPECT_EQ(again->transfer_ns, 900);
}

TEST_F(SpeedsFile, RuntimesGoByThem) {
  vireo_runtime* made = nullptr;
  ASSERT_EQ(vireo_runtime_create(nullptr, &made, nullptr), VIREO_OK);
  const Runtime runtime(made);
  vireo_device_info before = VIREO_DEVICE_INFO_INIT, after = VIREO_DEVICE_INFO_INIT;
  ASSERT_EQ(vireo_runtime_device(made, 0, &before, nullptr), VIREO_OK);
  use_measured_speeds(made);
  ASSERT_EQ(vireo_runtime_device(made, 0, &after, nullptr), VIREO_OK);
  EXPECT_EQ(after.flags & VIREO_DEVICE_MEASURED, 0u);
  keep_speeds(before, {400e9, 0, 1.6e12, 80e9, 9e9, 0, 700});
  const std::string kept = cache_file("devices", device_fingerprint(before));
  use_measured_speeds(made);
  std::filesystem::remove(kept);
  ASSERT_EQ(vireo_runtime_device(made, 0, &after, nullptr), VIREO_OK);
  EXPECT_NE(after.flags & VIREO_DEVICE_MEASURED, 0u);
  EXPECT_EQ(after.f32_rate, 400e9);
  EXPECT_EQ(after.f16_rate, before.f16_rate);  // not measured: as declared
  EXPECT_EQ(after.i8_rate, 1.6e12);
  EXPECT_EQ(after.bandwidth, 80e9);
  EXPECT_EQ(after.launch_ns, 0);
  EXPECT_EQ(after.transfer_ns, 700);
  vireo_rates old = VIREO_RATES_INIT;
  old.struct_size = 0;
  EXPECT_EQ(vireo_runtime_set_rates(made, 0, &old, nullptr), VIREO_INVALID_ARGUMENT);
  const vireo_rates none = VIREO_RATES_INIT;
  EXPECT_EQ(vireo_runtime_set_rates(made, 99, &none, nullptr), VIREO_INVALID_ARGUMENT);
}

TEST_F(SpeedsFile, IsOfOneDeviceAndDriver) {
  keep_speeds(info_, {400e9, 0, 0, 0, 0, 0, 0});
  vireo_device_info other = info_;
  other.driver = "1.2";
  EXPECT_FALSE(measured_speeds(other).has_value());
  other = info_;
  other.detail = "twice the units";
  EXPECT_FALSE(measured_speeds(other).has_value());
}

TEST_F(SpeedsFile, DamagedFilesAreNotUsed) {
  keep_speeds(info_, {400e9, 1, 1, 1, 1, 1, 0});
  const std::vector<uint8_t> bytes = read_file(path());
  const std::string whole(bytes.begin(), bytes.end());
  const auto refused = [&](const std::string& text) {
    write_file(path(), text);
    return !measured_speeds(info_).has_value();
  };
  for (size_t cut = 0; cut + 3 < whole.size(); cut += whole.size() / 5)
    EXPECT_TRUE(refused(whole.substr(0, cut))) << cut;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_TRUE(refused(with("\"vireo_device\": 2", "\"vireo_device\": 1")));
  EXPECT_TRUE(refused(with("accelerator", "another one")));
  EXPECT_TRUE(refused(with("400000000000.0", "-1")));
  EXPECT_TRUE(refused(with("400000000000.0", "1e999")));
  EXPECT_TRUE(refused(with("400000000000.0", "\"fast\"")));
  EXPECT_TRUE(refused(with("\"f32_rate\"", "\"f32\"")));
  EXPECT_TRUE(refused("[]"));
  EXPECT_FALSE(refused(whole));
}

// As in a folder of another user, whose files may not even be looked at.
TEST_F(SpeedsFile, AFolderThatCannotBeReadHoldsNothing) {
  const std::string loop = folder_ + "/loop";
  std::filesystem::create_symlink("loop", loop);
  setenv("XDG_CACHE_HOME", loop.c_str(), 1);
  EXPECT_FALSE(measured_speeds(info_).has_value());
}

// The CPU of this machine: how fast it is does not matter here, but that everything is measured and kept.
TEST_F(SpeedsFile, MeasuresThisMachine) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  vireo_runtime* runtime = nullptr;
  ASSERT_EQ(vireo_runtime_create(&options, &runtime, nullptr), VIREO_OK);
  measure_devices(runtime);
  bool cpu = false;
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    ASSERT_EQ(vireo_runtime_device(runtime, i, &info, nullptr), VIREO_OK);
    Json json = Json::object();
    add_speeds(info, &json);
    EXPECT_TRUE(json.contains("declared"));
    if (info.name != std::string("cpu")) continue;
    cpu = true;
    const std::optional<Speeds> speeds = measured_speeds(info);
    ASSERT_TRUE(speeds.has_value());
    EXPECT_GT(speeds->f32_rate, 0);
    EXPECT_GT(speeds->i8_rate, 0);
    EXPECT_GT(speeds->bandwidth, 0);
    EXPECT_EQ(speeds->transfer, 0);  // works in the host's memory
    EXPECT_GE(speeds->launch_ns, 0);
    EXPECT_EQ(json["measured"]["f32_rate"], speeds->f32_rate);
  }
  EXPECT_TRUE(cpu);
  const std::string table = speeds_table(runtime);
  printf("%s", table.c_str());
  EXPECT_NE(table.find("cpu"), std::string::npos);
  vireo_runtime_release(runtime);
}

}  // namespace
}  // namespace vireo::cli::speeds_test

// Whatever is wrong with a plug-in, the runtime says so and goes on without it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/roots.h"
#include "vireo/delegate.h"
#include "vireo/vireo.h"

namespace {

namespace fs = std::filesystem;
const std::string kHostile = vireo::tests::build_path("test/hostile/");

struct Opened {
  vireo_runtime* runtime = nullptr;
  vireo_status status;
  std::string log;
  // Without a probe unless a folder for what it finds is given.
  explicit Opened(const std::string& list, const vireo_allocator* allocator = nullptr, const char* cache = nullptr,
                  uint32_t timeout_ms = 0) {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.plugins = list.c_str();
    options.threads = 1;
    options.plugin_cache = cache;
    options.probe = cache == nullptr ? VIREO_PROBE_NEVER : VIREO_PROBE_ALWAYS;
    options.probe_timeout_ms = timeout_ms;
    options.allocator = allocator;
    options.log_context = &log;
    options.log = [](void* context, vireo_log_level, const char* text) {
      *static_cast<std::string*>(context) += std::string(text) + "\n";
    };
    status = vireo_runtime_create(&options, &runtime, nullptr);
  }
  ~Opened() { vireo_runtime_release(runtime); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  vireo_plugin_info plugin(uint32_t i) const {
    vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
    EXPECT_EQ(vireo_runtime_plugin(runtime, i, &info, nullptr), VIREO_OK);
    return info;
  }
  bool has(const std::string& name) const {
    for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      EXPECT_EQ(vireo_runtime_device(runtime, i, &info, nullptr), VIREO_OK);
      if (name == info.name) return true;
    }
    return false;
  }
};

TEST(Plugin, EachFaultHasItsReason) {
  const std::string known = std::to_string(sizeof(vireo_delegate));
  const std::map<std::string, std::string> reasons = {
      {"missing", "it does not export vireo_delegate_open"},
      {"refuses", "it was built for another delegate ABI: open(6) gave status 3"},
      {"no_table", "it could not open its driver"},
      {"other_abi", "its table is of another delegate ABI"},
      {"short", "enumerate, claim, memory, load, submit, unload, health or release is missing"},
      {"long", "its table: the field at byte " + known + " is set, and this library knows the first " + known +
                   " bytes. Leave it 0, or use the library that its header came with"},
      {"nameless", "it has no name"},
      {"holes", "enumerate, claim, memory, load, submit, unload, health or release is missing"},
      {"deaf", "it has wait without cancel, or cancel without wait"},
      {"no_device", "its devices are not there: no card is plugged in"},
      {"endless", "it enumerates more devices than a runtime has room for"},
      {"taken_name", "another delegate has a device of the same name"},
      {"bad_name", "a device's name is too long, has a comma, or is \"auto\""},
      {"fails", "it could not open its driver: open(6) gave status 6"},
  };
  const uint32_t alone = vireo_runtime_device_count(Opened("").runtime);
  for (const auto& [kind, reason] : reasons) {
    SCOPED_TRACE(kind);
    const std::string path = kHostile + "hostile_" + kind + ".so";
    const Opened opened(path);
    ASSERT_EQ(opened.status, VIREO_OK);
    ASSERT_EQ(vireo_runtime_plugin_count(opened.runtime), 1u);
    EXPECT_EQ(opened.plugin(0).reason, reason);
    EXPECT_EQ(opened.plugin(0).path, path);
    EXPECT_EQ(opened.plugin(0).device_count, 0u);
    EXPECT_EQ(vireo_runtime_device_count(opened.runtime), alone);
    EXPECT_NE(opened.log.find(reason), std::string::npos) << opened.log;
    EXPECT_NE(opened.log.find(path), std::string::npos) << opened.log;
  }
}

TEST(Plugin, AFolderIsReadByName) {
  const Opened opened(kHostile);
  ASSERT_EQ(opened.status, VIREO_OK);
  const uint32_t count = vireo_runtime_plugin_count(opened.runtime);
  EXPECT_EQ(count, 14u);
  for (uint32_t i = 1; i < count; ++i) EXPECT_LT(std::string(opened.plugin(i - 1).path), opened.plugin(i).path);
  EXPECT_TRUE(opened.has("cpu"));
}

TEST(Plugin, FilesThatAreNoLibraries) {
  const fs::path folder = fs::temp_directory_path() / ("vireo_plugin_test_" + std::to_string(getpid()));
  fs::create_directories(folder / "folder.so");
  std::ofstream(folder / "empty.so");
  std::ofstream(folder / "text.so") << "not a library\n";
  std::ofstream(folder / "readme.txt") << "no library either, and not looked at in a folder\n";
  fs::create_symlink("nowhere.so", folder / "dangling.so");
  {
    const Opened opened(folder.string() + ":" + (folder / "absent.so").string() + "::");
    ASSERT_EQ(opened.status, VIREO_OK);
    ASSERT_EQ(vireo_runtime_plugin_count(opened.runtime), 5u);
    for (uint32_t i = 0; i < 5; ++i) {
      EXPECT_EQ(std::string(opened.plugin(i).reason).rfind("it cannot be loaded", 0), 0u) << opened.plugin(i).reason;
    }
    EXPECT_TRUE(opened.has("cpu"));
  }
  {
    const Opened opened(std::string(5000, 'x'));
    EXPECT_EQ(opened.status, VIREO_INVALID_ARGUMENT);
  }
  vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
  const Opened none("");
  EXPECT_EQ(vireo_runtime_plugin_count(none.runtime), 0u);
  EXPECT_EQ(vireo_runtime_plugin(none.runtime, 0, &info, nullptr), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_runtime_plugin(nullptr, 0, &info, nullptr), VIREO_INVALID_ARGUMENT);
  fs::remove_all(folder);
}

TEST(Plugin, TheEnvironmentIsAskedWhereNobodySays) {
  ASSERT_EQ(setenv("VIREO_PLUGINS", (kHostile + "hostile_missing.so").c_str(), 1), 0);
  vireo_runtime* runtime = nullptr;
  ASSERT_EQ(vireo_runtime_create(nullptr, &runtime, nullptr), VIREO_OK);
  EXPECT_EQ(vireo_runtime_plugin_count(runtime), 1u);
  vireo_runtime_release(runtime);
  EXPECT_EQ(vireo_runtime_plugin_count(Opened("").runtime), 0u);
  ASSERT_EQ(unsetenv("VIREO_PLUGINS"), 0);
}

struct Counted {
  int64_t left = -1, held = 0;
};

TEST(Plugin, EveryAllocationMayFail) {
  const std::string npu = vireo::tests::build_path("plugins/libvireo_npu.so");
  if (!fs::exists(npu)) GTEST_SKIP() << "built without VIREO_NPU";
  Counted counted;
  const vireo_allocator allocator = {[](void* context, size_t bytes, size_t alignment) -> void* {
                                       auto& c = *static_cast<Counted*>(context);
                                       if (c.left == 0) return nullptr;
                                       if (c.left > 0) --c.left;
                                       void* memory = std::aligned_alloc(
                                           alignment, (bytes + alignment - 1) / alignment * alignment);
                                       if (memory != nullptr) c.held += static_cast<int64_t>(bytes);
                                       return memory;
                                     },
                                     [](void* context, void* memory, size_t bytes, size_t) {
                                       static_cast<Counted*>(context)->held -= static_cast<int64_t>(bytes);
                                       std::free(memory);
                                     },
                                     &counted};
  bool whole = false;
  for (int64_t n = 0; !whole; ++n) {
    ASSERT_LT(n, 50);
    counted.left = n;
    {
      const Opened opened(kHostile + ":" + npu, &allocator);
      whole = opened.status == VIREO_OK && opened.has("npu");
      EXPECT_TRUE(opened.status == VIREO_OK || opened.status == VIREO_OUT_OF_ARENA) << opened.status;
      counted.left = -1;
    }
    EXPECT_EQ(counted.held, 0) << "after allocation " << n << " failed";
  }
}

TEST(Plugin, OneProcessMayHaveManyRuntimes) {
  const std::string npu = vireo::tests::build_path("plugins/libvireo_npu.so");
  if (!fs::exists(npu)) GTEST_SKIP() << "built without VIREO_NPU";
  for (int round = 0; round < 20; ++round) {
    const Opened a(npu), b(npu);
    EXPECT_TRUE(a.has("npu"));
    EXPECT_TRUE(b.has("npu"));
    const Opened twice(npu + ":" + npu);
    EXPECT_EQ(std::string(twice.plugin(1).reason), "another delegate has a device of the same name");
  }
}

class Probe : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  size_t records() const {
    return fs::exists(folder_) ? static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})) : 0;
  }
  const std::string folder_ = (fs::temp_directory_path() / ("vireo_probe_test_" + std::to_string(getpid()))).string();
};

TEST_F(Probe, DeadlyPluginsAreQuarantined) {
  const std::map<std::string, std::string> reasons = {
      {"crash_open", "quarantined: it crashed (signal 6) while it was opened"},
      {"hang_open", "quarantined: its probe had no answer in 1500 ms while it was opened"},
      {"exit_open", "quarantined: it ended its process (status 3) while it was opened"},
      {"crash_enumerate", "quarantined: it crashed (signal 6) while it was opened"},
      {"hang_enumerate", "quarantined: its probe had no answer in 1500 ms while it was opened"},
      {"crash_claim", "quarantined: it crashed (signal 6) while it ran integer operators on \"daaa\""},
      {"hang_claim", "quarantined: its probe had no answer in 1500 ms while it ran integer operators on \"daaa\""},
      {"crash_load", "quarantined: it crashed (signal 6) while it ran integer operators on \"daaa\""},
      {"crash_submit", "quarantined: it crashed (signal 6) while it ran integer operators on \"daaa\""},
      {"hang_submit", "quarantined: its probe had no answer in 1500 ms while it ran integer operators on \"daaa\""},
      {"wrong", "quarantined: device \"daaa\" computed wrong values in integer operators (output "},
  };
  for (const auto& [kind, reason] : reasons) {
    SCOPED_TRACE(kind);
    const std::string path = vireo::tests::build_path("test/deadly/hostile_") + kind + ".so";
    for (int round = 0; round < 2; ++round) {  // the second is told by what is kept
      const auto begin = std::chrono::steady_clock::now();
      const Opened opened(path, nullptr, folder_.c_str(), 1500);
      ASSERT_EQ(opened.status, VIREO_OK);
      EXPECT_EQ(std::string(opened.plugin(0).reason).rfind(reason, 0), 0u) << opened.plugin(0).reason;
      EXPECT_EQ(opened.plugin(0).device_count, 0u);
      EXPECT_NE(opened.log.find(reason), std::string::npos) << opened.log;
      EXPECT_TRUE(opened.has("cpu"));
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      if (kind.rfind("hang", 0) == 0 && round == 1) {
        EXPECT_LT(ms.count(), 1400) << "probed again";
      }
    }
  }
  EXPECT_EQ(records(), reasons.size());
  const Opened lies(vireo::tests::build_path("test/deadly/hostile_lies.so"), nullptr, folder_.c_str());
  EXPECT_EQ(std::string(lies.plugin(0).reason).rfind("quarantined: it claimed integer operators and then failed", 0),
            0u)
      << lies.plugin(0).reason;
}

TEST_F(Probe, GoodPluginsAreProbedOnceForEachContent) {
  const std::string npu = vireo::tests::build_path("plugins/libvireo_npu.so");
  if (!fs::exists(npu)) GTEST_SKIP() << "built without VIREO_NPU";
  EXPECT_TRUE(Opened(npu, nullptr, folder_.c_str()).has("npu"));
  ASSERT_EQ(records(), 1u);
  const fs::path record = fs::directory_iterator(folder_)->path();
  // What is kept is believed: another word in it, another answer.
  std::string text;
  {
    std::ifstream in(record);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_EQ(text.substr(text.size() - 3), "ok\n");
  std::ofstream(record) << text.substr(0, text.size() - 3) << "quarantined: by this test\n";
  EXPECT_STREQ(Opened(npu, nullptr, folder_.c_str()).plugin(0).reason, "quarantined: by this test");
  for (const std::string& damaged :
       {std::string(), std::string("vireo probe"), text.substr(0, text.size() - 1),
        std::string("vireo probe 0, of another version\nquarantined: by a file of old\n")}) {
    std::ofstream(record) << damaged;
    EXPECT_TRUE(Opened(npu, nullptr, folder_.c_str()).has("npu")) << damaged;  // asked anew
  }
  // A file that changed is another one.
  const fs::path copy = folder_ + "_copy.so";
  fs::copy_file(npu, copy, fs::copy_options::overwrite_existing);
  EXPECT_TRUE(Opened(copy.string(), nullptr, folder_.c_str()).has("npu"));
  EXPECT_EQ(records(), 1u);
  std::ofstream(copy, std::ios::app) << "more";
  EXPECT_TRUE(Opened(copy.string(), nullptr, folder_.c_str()).has("npu"));
  EXPECT_EQ(records(), 2u);
  fs::remove(copy);
  EXPECT_TRUE(Opened(npu, nullptr, "").has("npu"));  // nothing is kept
}

// What it prints is not taken for what its probe says, however much it is.
TEST_F(Probe, PluginsMayPrint) {
  const Opened opened(vireo::tests::build_path("test/deadly/hostile_talks.so"), nullptr, folder_.c_str());
  EXPECT_STREQ(opened.plugin(0).reason, "");
  EXPECT_TRUE(opened.has("daaa"));
}

TEST_F(Probe, WhatCannotBeReadIsNotOpened) {
  const Opened opened(folder_ + "/absent.so", nullptr, folder_.c_str());
  EXPECT_EQ(std::string(opened.plugin(0).reason).rfind("it cannot be loaded: ", 0), 0u) << opened.plugin(0).reason;
  EXPECT_EQ(records(), 0u);
}

TEST_F(Probe, RefusalsAreNotKept) {
  const Opened opened(kHostile + "hostile_missing.so", nullptr, folder_.c_str());
  EXPECT_STREQ(opened.plugin(0).reason, "it does not export vireo_delegate_open");
  EXPECT_EQ(records(), 0u);
}

TEST_F(Probe, WithoutAProgramNothingIsOpened) {
  ASSERT_EQ(setenv("VIREO_PROBE", "/nowhere/vireo-probe", 1), 0);
  const Opened opened(kHostile + "hostile_no_device.so", nullptr, folder_.c_str());
  EXPECT_NE(std::string(opened.plugin(0).reason).find("it could not be probed"), std::string::npos)
      << opened.plugin(0).reason;
  ASSERT_EQ(setenv("VIREO_PROBE", "off", 1), 0);
  EXPECT_STREQ(Opened(kHostile + "hostile_no_device.so", nullptr, folder_.c_str()).plugin(0).reason,
               "its devices are not there: no card is plugged in");
  ASSERT_EQ(unsetenv("VIREO_PROBE"), 0);
}

TEST_F(Probe, ManyAtOnce) {
  const std::string npu = vireo::tests::build_path("plugins/libvireo_npu.so");
  if (!fs::exists(npu)) GTEST_SKIP() << "built without VIREO_NPU";
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { good += Opened(npu, nullptr, folder_.c_str()).has("npu") ? 1 : 0; });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(records(), 1u);
}

}  // namespace

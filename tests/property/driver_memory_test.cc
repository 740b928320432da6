// What a driver of Vulkan gave, against what vireo_model_memory says: on a card that counts (delegates/vulkan/fake).
#include <dlfcn.h>

#include <cstdlib>

#include "delegates/vulkan/fake/control.h"
#include "tests/property/joined_testing.h"
#include "tests/support/roots.h"

namespace vireo {
namespace {

class DriverMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string fake = tests::build_path("test/libvireo_fake_vulkan.so");
    ASSERT_EQ(setenv("VIREO_VULKAN_LIBRARY", fake.c_str(), 1), 0);
    ASSERT_EQ(setenv("VIREO_PROBE", "off", 1), 0);  // the card is one of this process
    ASSERT_EQ(setenv("VIREO_PLUGINS", tests::build_path("plugins/libvireo_vulkan.so").c_str(), 1), 0);
    void* const library = dlopen(fake.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    control_ = reinterpret_cast<vulkan::fake::ControlFunction>(dlsym(library, VIREO_FAKE_CONTROL))();
    // The card computes nothing but sums with a constant: nobody may compare.
    options_.device = "vulkan";
    options_.failover = VIREO_FAILOVER_NEVER;
  }

  vireo_session* session(const vireo_model* model) {
    vireo_session* s = nullptr;
    EXPECT_EQ(vireo_session_create(model, &options_, &s, &error_), VIREO_OK) << error_.message;
    return s;
  }

  vulkan::fake::Control* control_ = nullptr;
  vireo_session_options options_ = VIREO_SESSION_OPTIONS_INIT;
  vireo_error error_ = VIREO_ERROR_INIT;
};

TEST_F(DriverMemoryTest, ItGaveWhatTheModelSays) {
  std::set<int64_t> besides;  // of the device's own: the block that copies go through
  for (const uint32_t seed : {3u, 12u, 29u}) {
    const bool open = seed == 29;
    const FileBytes bytes = random_graph(seed, 60, open, open ? 0 : 20);
    const Loaded loaded(bytes);
    const vireo_bound bounds[] = {{"n", 1, 40}};
    options_.bounds = bounds;
    options_.bound_count = open ? 1 : 0;
    vireo_memory memory = VIREO_MEMORY_INIT;
    ASSERT_EQ(vireo_model_memory(loaded.model, &options_, &memory, &error_), VIREO_OK) << error_.message;
    EXPECT_GT(memory.device_bytes, 0u);
    EXPECT_EQ(memory.device_packed_bytes != 0, !open);
    vireo_session* const first = session(loaded.model);
    const int64_t one = control_->taken;
    besides.insert(one - static_cast<int64_t>(memory.device_bytes + memory.device_packed_bytes));
    vireo_session* const second = session(loaded.model);
    EXPECT_EQ(control_->taken - one, static_cast<int64_t>(memory.device_bytes)) << "weights are there once";
    vireo_session_release(second);
    EXPECT_EQ(control_->taken, one);
    vireo_session_release(first);
  }
  EXPECT_EQ(besides.size(), 1u);
  EXPECT_EQ(control_->alive, 0);
  EXPECT_EQ(control_->taken, 0);
}

TEST_F(DriverMemoryTest, AHundredLoadsEndWhereTheyBegan) {
  const FileBytes bytes = random_graph(12, 60, false, 20);
  vireo_runtime* runtime = nullptr;
  ASSERT_EQ(vireo_runtime_create(nullptr, &runtime, &error_), VIREO_OK) << error_.message;
  int64_t taken = -1, alive = -1, most = 0;
  for (int k = 0; k < 100; ++k) {
    vireo_model* model = nullptr;
    ASSERT_EQ(vireo_model_load_memory(runtime, bytes.data(), bytes.size(), &model, &error_), VIREO_OK);
    vireo_session* const s = session(model);
    most = std::max<int64_t>(most, control_->taken);
    vireo_session_release(s);
    vireo_model_release(model);
    if (k == 0) {
      taken = control_->taken;
      alive = control_->alive;
    }
    ASSERT_EQ(control_->taken, taken) << k;
    ASSERT_EQ(control_->alive, alive) << k;
  }
  EXPECT_GT(most, taken);
  vireo_runtime_release(runtime);
  EXPECT_EQ(control_->alive, 0);
  EXPECT_EQ(control_->taken, 0);
}

}  // namespace
}  // namespace vireo

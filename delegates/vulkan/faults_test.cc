// The delegate on a Vulkan that fails on demand (fake/control.h), through its table.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "delegates/gpu/device/faults_testing.h"
#include "delegates/vulkan/fake/control.h"
#include "delegates/vulkan/vulkan.h"

namespace vireo::vulkan::faults_test {
namespace {

using gpu::testing::kCount;
using gpu::testing::kDepth;
using gpu::testing::kRoom;

struct Api {
  using Control = fake::Control;
  static constexpr const char *kVariable = "VIREO_VULKAN_LIBRARY", *kLibrary = "test/libvireo_fake_vulkan.so",
                              *kControl = VIREO_FAKE_CONTROL;
  static vireo_status open(const vireo_host* host, const vireo_delegate** out) {
    return vireo_vulkan_open(VIREO_DELEGATE_ABI, host, out);
  }
  static gpu::Target target() {
    gpu::Target t;
    t.subgroup = 32;
    t.workgroup = t.workgroup_x = 128;
    t.workgroup_y = t.workgroup_z = 64;
    t.bindings = 8;
    return t;
  }
  static constexpr uint64_t kStepNs = 70;
  static constexpr uint32_t kParts = 13;  // workgroups of a step
  static int64_t submits(const Control& control, vireo_priority priority) { return control.submits[priority]; }
  static void have_priorities(Control* control, bool have) { control->queues = have ? 4 : 1; }
  static vireo_priority served(const Control& control, vireo_priority priority) {
    return control.queues > 1 && priority <= VIREO_PRIORITY_HIGH ? priority : vireo_priority{VIREO_PRIORITY_NORMAL};
  }
  static int64_t compiled(const Control& control) { return control.pipelines; }
  static void expect_no_misuse(const Control& control) { EXPECT_EQ(control.misuse, 0); }
  static void expect_left_after_loss(const Control& control) { EXPECT_EQ(control.instances, 1); }
};

using FaultsTest = gpu::testing::GpuFaults<Api>;

TEST_F(FaultsTest, WhatIsMissingIsSaid) {
  setenv("VIREO_VULKAN_LIBRARY", "/nowhere/libvulkan.so.1", 1);
  EXPECT_NE(devices().find("vulkan: Vulkan's loader is not installed"), std::string::npos);
  setenv("VIREO_VULKAN_LIBRARY", fake_path().c_str(), 1);
  const auto says = [this](const char* text) {
    const std::string found = devices();
    EXPECT_NE(found.find(text), std::string::npos) << found;
    SetUp();
  };
  control_->loader_version = VK_API_VERSION_1_0;
  says("is of Vulkan 1.0, and 1.1 is needed");
  control_->cards = 0;
  says("no driver of Vulkan has a device here");
  control_->version = VK_API_VERSION_1_0;
  says("Fake GPU has Vulkan 1.0, and 1.1 is needed");
  control_->queue = false;
  says("Fake GPU has no queue for compute");
  control_->timeline = false;
  says("Fake GPU has no timeline semaphores");
  control_->fail_at = 0;
  control_->result = VK_ERROR_INCOMPATIBLE_DRIVER;
  says("no driver for Vulkan is installed");
  EXPECT_EQ(devices(), "vulkan ");
}

TEST_F(FaultsTest, CardsWithoutTimestampsTellNoTimes) {
  control_->time_bits = 0;
  start();
  {
    Session s(d_, device_, host_.table);
    s.profile = 1;
    ASSERT_EQ(s.run(5), VIREO_OK) << s.fault.text;
    EXPECT_EQ(s.times(), std::vector<uint64_t>());
  }
  end();
}

// What the driver compiled goes to the host's cache once, and from there to the driver of the next process. What is not
// of this very driver, or no such thing at all, is not shown to it.
TEST_F(FaultsTest, CompiledKernelsAreKeptForOtherProcesses) {
  struct Kept {
    std::vector<uint8_t> code;
    int puts = 0;
  } kept;
  vireo_cache cache = VIREO_CACHE_INIT;
  cache.context = &kept;
  cache.get = [](void* self, const char*, size_t* bytes) -> const void* {
    const auto& k = *static_cast<Kept*>(self);
    *bytes = k.code.size();
    return k.code.empty() ? nullptr : k.code.data();
  };
  cache.put = [](void* self, const char*, const void* data, size_t bytes) {
    auto& k = *static_cast<Kept*>(self);
    k.code.assign(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + bytes);
    ++k.puts;
  };
  const auto process = [&] {
    control_->caches_taken = 0;
    start();
    for (uint32_t i = 0; i < 2; ++i) {
      Session s(d_, device_, host_.table);
      s.cache = &cache;
      EXPECT_EQ(s.run(i), VIREO_OK) << s.fault.text;
      Session beside(d_, device_, host_.table);  // has its kernels there
      beside.cache = &cache;
      EXPECT_EQ(beside.run(i), VIREO_OK) << beside.fault.text;
    }
    end();
    return control_->caches_taken.load();
  };
  EXPECT_EQ(process(), 0);
  EXPECT_EQ(kept.puts, 2);  // the second session compiles anew: nobody had the kernel any more
  const std::vector<uint8_t> good = kept.code;
  EXPECT_EQ(process(), 1);
  control_->cache_uuid = 8;  // the driver was updated
  kept.code = good;
  EXPECT_EQ(process(), 0);
  control_->cache_uuid = 7;
  for (const size_t byte : {0, 4, 8, 12, 16, 31}) {
    kept.code = good;
    kept.code[byte] ^= 1;
    EXPECT_EQ(process(), 0) << "byte " << byte;
  }
  kept.code.assign(good.begin(), good.begin() + 20);
  EXPECT_EQ(process(), 0);
}

TEST_F(FaultsTest, EachCardIsOneDevice) {
  control_->cards = 3;
  EXPECT_EQ(devices(), "vulkan vulkan1 vulkan2 ");
  control_->same_uuid = true;  // three drivers of one card
  EXPECT_EQ(devices(), "vulkan ");
}

// Products of halves are taken where the session allows them and the card has matrices. A part that was compiled for
// other numbers is refused.
TEST_F(FaultsTest, MathIsTheSessions) {
  for (const bool matrices : {false, true}) {
    control_->matrices = matrices;
    start();
    gpu::Target exact = Api::target();
    exact.float16 = matrices;
    if (matrices) exact.units = {{16, 16, 16}};
    gpu::Target halves = exact;
    halves.half_products = matrices;
    for (const vireo_math math : {VIREO_MATH_EXACT, VIREO_MATH_F16}) {
      for (const gpu::Target& compiled : {exact, halves}) {
        Session s(d_, device_, host_.table, compiled);
        s.math = math;
        ASSERT_EQ(s.create(), VIREO_OK);
        const bool fits = compiled == (math == VIREO_MATH_F16 ? halves : exact);
        EXPECT_EQ(s.load(), fits ? VIREO_OK : VIREO_INVALID_MODEL) << math << " " << s.fault.text;
      }
    }
    end();
  }
  EXPECT_NE(host_.log.find("compiled for another device"), std::string::npos) << host_.log;
}

TEST_F(FaultsTest, RunsThroughStagingAndThroughMappedMemory) {
  for (const bool shares : {false, true}) {
    control_->shares_memory = shares;
    control_->uploads = 0;
    start();
    {
      Session s(d_, device_, host_.table);
      ASSERT_EQ(s.run(5), VIREO_OK) << s.fault.text;
      EXPECT_EQ(control_->uploads != 0, !shares);
      ASSERT_EQ(s.run(77), VIREO_OK);
      vireo_telemetry now = VIREO_TELEMETRY_INIT;
      ASSERT_EQ(d_->telemetry(device_, &now), VIREO_OK);
      EXPECT_GE(now.submits, 2u);
      EXPECT_GE(now.memory_used, 4 * kRoom);
    }
    end();
  }
}

// Each call of Vulkan fails once, or from then on: then the run is right or says what it lacks, and nothing is left.
TEST_F(FaultsTest, AnyCallMayFail) {
  for (const auto& [shares, in_pieces] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    for (const auto& [result, for_ever] : {std::pair{VK_ERROR_OUT_OF_DEVICE_MEMORY, false},
                                           {VK_ERROR_OUT_OF_HOST_MEMORY, false},
                                           {VK_ERROR_DEVICE_LOST, true}}) {
      int64_t calls = 0;
      for (int64_t n = -1; n < calls; ++n) {
        SCOPED_TRACE("call " + std::to_string(n) + " gives " + std::to_string(result));
        SetUp();
        control_->shares_memory = shares;
        control_->queues = in_pieces ? 2 : 1;
        start();
        control_->calls = 0;
        control_->result = result;
        control_->for_ever = for_ever;
        control_->fail_at = n;
        {
          Session s(d_, device_, host_.table);
          s.slice_ns = in_pieces ? 1 : 0;
          s.profile = in_pieces ? 1 : 0;
          s.priority = in_pieces ? VIREO_PRIORITY_HIGH : VIREO_PRIORITY_NORMAL;
          const vireo_status status = s.run(9);
          if (n < 0) {
            ASSERT_EQ(status, VIREO_OK);
            calls = control_->calls;
            ASSERT_GT(calls, 20);
          } else if (for_ever) {
            EXPECT_EQ(status, VIREO_DEVICE_LOST);
            control_->fail_at = -1;
            // Whoever holds the lost device keeps it; a session that is made after a reset has another one.
            ASSERT_EQ(d_->reset(device_), VIREO_OK);
            EXPECT_EQ(d_->health(device_), VIREO_OK);
            Session next(d_, device_, host_.table);
            EXPECT_EQ(next.run(1000), VIREO_OK) << next.fault.text;
          } else {
            EXPECT_TRUE(status == VIREO_OK || status == VIREO_OUT_OF_ARENA) << status;
            control_->fail_at = -1;
            EXPECT_EQ(d_->health(device_), VIREO_OK);
            EXPECT_EQ(s.run(1000), VIREO_OK) << s.fault.text;  // the next attempt goes well
          }
        }
        end();
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(FaultsTest, AnInstanceOutlivesADeviceThatHangs) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
  }
  d_->release(d_->self);  // TearDown asks whether anything was destroyed under its work
  EXPECT_EQ(control_->instances, 1);
}

// Its threads are the process's: they end before anything that they use does, however long it takes.
TEST_F(FaultsTest, ADriverOnTheCpuIsWaitedFor) {
  control_->cpu = control_->shares_memory = control_->imports = true;
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(1'000'000), VIREO_BUSY);
    std::thread later = goes_on_after(std::chrono::milliseconds(2500));  // longer than a card is waited for
    d_->cancel(s.loaded);
    EXPECT_FALSE(control_->hangs);
    later.join();
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(d_->health(device_), VIREO_OK);
    EXPECT_EQ(s.run(4), VIREO_OK);
  }
  end();
}

TEST_F(FaultsTest, AForkDestroysNothingOfItsParents) {
  start();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    d_->release(d_->self);
    _exit(control_->instances == 1 ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
  end();
}

TEST_F(FaultsTest, MappedMemoryIsNotWrittenUnderWork) {
  control_->shares_memory = true;
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.write(s.buffer, 9), VIREO_BUSY);
    control_->hangs = false;
    EXPECT_EQ(s.wait(), VIREO_OK);
    EXPECT_EQ(s.write(s.buffer, 9), VIREO_OK);
  }
  end();
}

TEST_F(FaultsTest, HostMemoryIsImportedWhereItCanBe) {
  alignas(4096) static uint8_t arena[4096];
  vireo_handle handle = VIREO_HANDLE_INIT;
  handle.kind = VIREO_HANDLE_HOST;
  handle.value = reinterpret_cast<uintptr_t>(arena);
  handle.bytes = sizeof(arena);
  void* buffer = nullptr;
  start();
  EXPECT_EQ(d_->buffer_import(device_, &host_.table, &handle, &buffer), VIREO_UNSUPPORTED);
  end();
  control_->imports = control_->shares_memory = true;
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    ASSERT_EQ(d_->buffer_import(device_, &host_.table, &handle, &buffer), VIREO_OK);
    for (uint32_t i = 0; i < kCount; ++i) std::memcpy(arena + i * 4, &i, 4);
    ASSERT_EQ(s.bind(buffer), VIREO_OK);
    ASSERT_EQ(s.submit(), VIREO_OK);
    ASSERT_EQ(s.wait(), VIREO_OK);
    uint32_t last = 0;
    std::memcpy(&last, arena + kRoom + (kCount - 1) * 4, 4);
    EXPECT_EQ(last, kCount - 1 + kDepth);
    d_->buffer_release(device_, buffer);
    handle.bytes = 100;
    EXPECT_EQ(d_->buffer_import(device_, &host_.table, &handle, &buffer), VIREO_UNSUPPORTED);
    handle.bytes = 4096;
    handle.kind = VIREO_HANDLE_FD;
    EXPECT_EQ(d_->buffer_import(device_, &host_.table, &handle, &buffer), VIREO_UNSUPPORTED);
  }
  end();
}

}  // namespace
}  // namespace vireo::vulkan::faults_test

namespace vireo::gpu::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Vulkan, GpuFaults, vulkan::faults_test::Api);
}  // namespace vireo::gpu::testing

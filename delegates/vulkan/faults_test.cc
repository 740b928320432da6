// The delegate on a Vulkan that fails on demand (fake/control.h), through its table.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "delegates/gpu/device/table_testing.h"
#include "delegates/vulkan/fake/control.h"
#include "delegates/vulkan/vulkan.h"
#include "tests/support/roots.h"

namespace vireo::vulkan::faults_test {
namespace {

using fake::Control;

std::string fake_path() { return tests::build_path("test/libvireo_fake_vulkan.so"); }

using gpu::testing::Fault;
using gpu::testing::Host;
using gpu::testing::kBytes;
using gpu::testing::kCount;
using gpu::testing::kDepth;
using gpu::testing::kRoom;

class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("VIREO_VULKAN_LIBRARY", fake_path().c_str(), 1), 0);
    void* const library = dlopen(fake_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    control_ = reinterpret_cast<fake::ControlFunction>(dlsym(library, VIREO_FAKE_CONTROL))();
    control_->~Control();
    new (control_) Control();
  }
  void TearDown() override {
    unsetenv("VIREO_VULKAN_LIBRARY");
    EXPECT_EQ(host_.lent, 0);
    EXPECT_EQ(control_->misuse, 0);
  }

  const vireo_delegate* open() {
    const vireo_delegate* d = nullptr;
    EXPECT_EQ(vireo_vulkan_open(VIREO_DELEGATE_ABI, &host_.table, &d), VIREO_OK);
    return d;
  }
  static void* device_of(const vireo_delegate* d, uint32_t index, vireo_device_info* info) {
    void* device = nullptr;
    return d->enumerate(d->self, nullptr, index, info, &device) == VIREO_OK ? device : nullptr;
  }
  // The devices' names, and what was logged.
  std::string devices() {
    const vireo_delegate* const d = open();
    if (d == nullptr) return "";
    std::string names;
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    for (uint32_t i = 0; device_of(d, i, &info) != nullptr; ++i) (names += info.name) += " ";
    d->release(d->self);
    EXPECT_EQ(control_->alive, 0);
    return names + host_.log;
  }

  Control* control_ = nullptr;
  Host host_;
};

TEST_F(FaultsTest, WhatIsMissingIsSaid) {
  setenv("VIREO_VULKAN_LIBRARY", "/nowhere/libvulkan.so.1", 1);
  EXPECT_NE(devices().find("vulkan: Vulkan's loader is not installed"), std::string::npos);
  setenv("VIREO_VULKAN_LIBRARY", fake_path().c_str(), 1);
  const auto says = [this](const char* text) {
    host_.log.clear();
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
  EXPECT_EQ(devices(), "vulkan " + host_.log);
}

TEST_F(FaultsTest, EachCardIsOneDevice) {
  control_->cards = 3;
  EXPECT_EQ(devices(), "vulkan vulkan1 vulkan2 ");
  control_->same_uuid = true;  // three drivers of one card
  EXPECT_EQ(devices(), "vulkan ");
}

// What the fake card is.
gpu::Target fake_target() {
  gpu::Target t;
  t.subgroup = 32;
  t.workgroup = t.workgroup_x = 128;
  t.workgroup_y = t.workgroup_z = 64;
  t.bindings = 8;
  return t;
}

struct Session : gpu::testing::Session {
  Session(const vireo_delegate* delegate, void* on, const vireo_host& with, const gpu::Target& target = fake_target())
      : gpu::testing::Session(delegate, on, with, target) {}
};

class OneFaultyDevice : public FaultsTest {
 protected:
  void start() {
    d_ = open();
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    device_ = device_of(d_, 0, &info);
    ASSERT_NE(device_, nullptr) << host_.log;
  }
  void end() {
    d_->release(d_->self);
    EXPECT_EQ(control_->alive, 0);
    EXPECT_EQ(control_->taken, 0);
  }
  const vireo_delegate* d_ = nullptr;
  void* device_ = nullptr;
};

// Products of halves are taken where the session allows them and the card has matrices. A part that was compiled for
// other numbers is refused.
TEST_F(OneFaultyDevice, MathIsTheSessions) {
  for (const bool matrices : {false, true}) {
    control_->matrices = matrices;
    start();
    gpu::Target exact = fake_target();
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

TEST_F(OneFaultyDevice, RunsThroughStagingAndThroughMappedMemory) {
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

TEST_F(OneFaultyDevice, LargeCopiesGoInPieces) {
  start();
  void* buffer = nullptr;
  constexpr uint64_t kSize = (13u << 20) + 5;
  ASSERT_EQ(d_->buffer_create(device_, &host_.table, kSize, &buffer), VIREO_OK);
  std::vector<uint8_t> there(kSize), back(kSize);
  uint32_t state = 1;
  for (uint8_t& b : there) b = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  ASSERT_EQ(d_->buffer_write(device_, buffer, 0, there.data(), kSize), VIREO_OK);
  ASSERT_EQ(d_->buffer_read(device_, buffer, 0, back.data(), kSize), VIREO_OK);
  EXPECT_TRUE(there == back);
  EXPECT_EQ(d_->buffer_write(device_, buffer, kSize, there.data(), 8), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(d_->buffer_read(device_, buffer, UINT64_MAX, back.data(), 8), VIREO_INVALID_ARGUMENT);
  d_->buffer_release(device_, buffer);
  end();
}

// Each call of Vulkan fails once, or from then on: then the run is right or says what it lacks, and nothing is left.
TEST_F(OneFaultyDevice, AnyCallMayFail) {
  for (const bool shares : {false, true}) {
    for (const auto& [result, for_ever] : {std::pair{VK_ERROR_OUT_OF_DEVICE_MEMORY, false},
                                           {VK_ERROR_OUT_OF_HOST_MEMORY, false},
                                           {VK_ERROR_DEVICE_LOST, true}}) {
      int64_t calls = 0;
      for (int64_t n = -1; n < calls; ++n) {
        SCOPED_TRACE("call " + std::to_string(n) + " gives " + std::to_string(result));
        SetUp();
        control_->shares_memory = shares;
        start();
        control_->calls = 0;
        control_->result = result;
        control_->for_ever = for_ever;
        control_->fail_at = n;
        {
          Session s(d_, device_, host_.table);
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

TEST_F(OneFaultyDevice, WantOfDeviceMemoryIsSaid) {
  start();
  void* buffer = nullptr;
  EXPECT_EQ(d_->buffer_create(device_, &host_.table, 65u << 20, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(d_->buffer_create(device_, &host_.table, uint64_t{1} << 40, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(d_->health(device_), VIREO_OK);
  end();
}

TEST_F(OneFaultyDevice, CancelWaitsForWhatEnds) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(0), VIREO_BUSY);
    EXPECT_EQ(s.wait(1'000'000), VIREO_BUSY);
    std::thread later([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      control_->hangs = false;
    });
    d_->cancel(s.loaded);
    later.join();
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(d_->health(device_), VIREO_OK);
    EXPECT_EQ(s.run(4), VIREO_OK);
  }
  end();
}

TEST_F(OneFaultyDevice, WhatDoesNotEndIsLostAndKeepsItsMemory) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    d_->cancel(s.loaded);
    EXPECT_EQ(s.wait(0), VIREO_DEVICE_LOST);
    EXPECT_EQ(d_->health(device_), VIREO_DEVICE_LOST);
    EXPECT_EQ(s.submit(), VIREO_DEVICE_LOST);
    EXPECT_EQ(s.write(s.buffer, 0), VIREO_DEVICE_LOST);
  }
  EXPECT_GT(control_->taken, 0);  // the card may still write there
  EXPECT_EQ(d_->reset(device_), VIREO_OK);
  control_->hangs = false;
  {
    Session s(d_, device_, host_.table);
    EXPECT_EQ(s.run(50), VIREO_OK);
  }
  d_->release(d_->self);
  EXPECT_EQ(control_->instances, 1);
}

TEST_F(OneFaultyDevice, AnInstanceOutlivesADeviceThatHangs) {
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
TEST_F(OneFaultyDevice, ADriverOnTheCpuIsWaitedFor) {
  control_->cpu = control_->shares_memory = control_->imports = true;
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(1'000'000), VIREO_BUSY);
    std::thread later([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // longer than a card is waited for
      control_->hangs = false;
    });
    d_->cancel(s.loaded);
    EXPECT_FALSE(control_->hangs);
    later.join();
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(d_->health(device_), VIREO_OK);
    EXPECT_EQ(s.run(4), VIREO_OK);
  }
  end();
}

TEST_F(OneFaultyDevice, ABufferStaysUntilItsCopiesAreDone) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    void* buffer = nullptr;
    ASSERT_EQ(d_->buffer_create(device_, &host_.table, kRoom, &buffer), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.write(buffer, 7), VIREO_OK);  // on its way
    std::thread later([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      control_->hangs = false;
    });
    d_->buffer_release(device_, buffer);
    later.join();
    EXPECT_EQ(d_->health(device_), VIREO_OK);
  }
  end();
}

TEST_F(OneFaultyDevice, AForkDestroysNothingOfItsParents) {
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

TEST_F(OneFaultyDevice, MappedMemoryIsNotWrittenUnderWork) {
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

TEST_F(OneFaultyDevice, RecordingsFollowTheirPlaces) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    // More sets of places than recordings; then a new buffer, which may have an old one's address.
    std::vector<void*> buffers(6);
    for (void*& b : buffers) ASSERT_EQ(d_->buffer_create(device_, &host_.table, 2 * kRoom, &b), VIREO_OK);
    for (uint32_t round = 0; round < 20; ++round) {
      void*& b = buffers[round * 5 % buffers.size()];
      ASSERT_EQ(s.write(b, round), VIREO_OK);
      ASSERT_EQ(s.bind(b), VIREO_OK);
      ASSERT_EQ(s.submit(), VIREO_OK);
      ASSERT_EQ(s.wait(), VIREO_OK);
      ASSERT_EQ(s.check(b, round), VIREO_OK);
      if (round % 3 != 0) continue;
      d_->buffer_release(device_, b);
      ASSERT_EQ(d_->buffer_create(device_, &host_.table, 2 * kRoom, &b), VIREO_OK);
    }
    // Where they are unchanged nothing is recorded again.
    ASSERT_EQ(s.bind(buffers[0]), VIREO_OK);
    const int64_t calls = control_->calls;
    ASSERT_EQ(s.bind(buffers[0]), VIREO_OK);
    EXPECT_EQ(control_->calls, calls);
    void* small = nullptr;
    ASSERT_EQ(d_->buffer_create(device_, &host_.table, kRoom, &small), VIREO_OK);
    EXPECT_EQ(s.bind(small), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(s.bind(nullptr), VIREO_INVALID_ARGUMENT);
    d_->buffer_release(device_, small);
    for (void* b : buffers) d_->buffer_release(device_, b);
  }
  end();
}

TEST_F(OneFaultyDevice, OneKernelIsCompiledOnce) {
  start();
  {
    Session first(d_, device_, host_.table), second(d_, device_, host_.table);
    ASSERT_EQ(first.run(1), VIREO_OK);
    const int64_t made = control_->pipelines;
    ASSERT_EQ(second.run(1), VIREO_OK);
    EXPECT_EQ(control_->pipelines, made);
  }
  end();
}

TEST_F(OneFaultyDevice, HostMemoryIsImportedWhereItCanBe) {
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

TEST_F(OneFaultyDevice, SessionsRunSideBySide) {
  start();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      Session s(d_, device_, host_.table);
      for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(s.run(t * 1000 + i), VIREO_OK) << s.fault.text;
    });
  }
  for (std::thread& t : threads) t.join();
  end();
}

TEST_F(OneFaultyDevice, BlobsAreChecked) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.create(), VIREO_OK);
    s.blob_bytes -= 9;
    EXPECT_EQ(s.load(), VIREO_INVALID_MODEL);
    s.blob_bytes = 0;
    EXPECT_EQ(s.load(), VIREO_INVALID_MODEL);
  }
  end();
}

}  // namespace
}  // namespace vireo::vulkan::faults_test

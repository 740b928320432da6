// What goes wrong in a driver, and what the delegate makes of it: with a CUDA that fails on demand.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/cuda/fake/control.h"
#include "delegates/cuda/system.h"
#include "delegates/gpu/device/table_testing.h"
#include "sdk/ops/unary/unary_generated.h"
#include "tests/support/roots.h"

namespace vireo::cuda::faults_test {
namespace {

using fake::Control;
using gpu::testing::Host;
using gpu::testing::kRoom;

constexpr Result kIllegalAddress = 700, kUncorrectable = 214, kNotSupported = 801;

std::string fake_path() { return tests::build_path("test/libvireo_fake_cuda.so"); }

class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("VIREO_CUDA_LIBRARY", fake_path().c_str(), 1), 0);
    void* const library = dlopen(fake_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    control_ = reinterpret_cast<fake::ControlFunction>(dlsym(library, VIREO_FAKE_CUDA_CONTROL))();
    control_->~Control();
    new (control_) Control();
  }
  void TearDown() override {
    unsetenv("VIREO_CUDA_LIBRARY");
    EXPECT_EQ(host_.lent, 0);
    EXPECT_EQ(control_->contexts_left, 0);
  }

  const vireo_delegate* open() {
    const vireo_delegate* d = nullptr;
    EXPECT_EQ(gpu::open_table("cuda", find_cards, VIREO_DELEGATE_ABI, &host_.table, &d), VIREO_OK);
    return d;
  }
  // The devices' names, and what was logged.
  std::string devices() {
    host_.log.clear();
    const vireo_delegate* const d = open();
    std::string names;
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* device = nullptr;
    for (uint32_t i = 0; d->enumerate(d->self, nullptr, i, &info, &device) == VIREO_OK; ++i)
      (names += info.name) += " ";
    d->release(d->self);
    EXPECT_EQ(control_->alive, 0);
    return names + host_.log;
  }

  void start() {
    d_ = open();
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    ASSERT_EQ(d_->enumerate(d_->self, nullptr, 0, &info, &device_), VIREO_OK) << host_.log;
  }
  void end() {
    d_->release(d_->self);
    EXPECT_EQ(control_->alive, 0);
    EXPECT_EQ(control_->taken, 0);
  }

  Control* control_ = nullptr;
  Host host_;
  const vireo_delegate* d_ = nullptr;
  void* device_ = nullptr;
};

// What the fake card is.
gpu::Target fake_target() {
  std::string why;
  return find_cards(&why)->facts(0).target;
}

struct Session : gpu::testing::Session {
  Session(const vireo_delegate* delegate, void* on, const vireo_host& with)
      : gpu::testing::Session(delegate, on, with, fake_target()) {}
};

TEST_F(FaultsTest, WhatIsMissingIsSaid) {
  const auto says = [this](const char* text) {
    const std::string found = devices();
    EXPECT_NE(found.find(text), std::string::npos) << found;
    SetUp();
  };
  setenv("VIREO_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  says("cuda: no CUDA driver: /nowhere/libcuda.so.1");
  setenv("VIREO_CUDA_LIBRARY", "libdl.so.2", 1);
  says("the CUDA driver is too old: it lacks cuInit");
  control_->version = 11020;
  says("the driver has CUDA 11.2, 11.4 or newer is needed");
  control_->cards = 0;
  says("CUDA lists no card");
  control_->major = 7;
  control_->minor = 0;
  says("Fake GPU: compute capability 7.0, 7.5 or newer is needed");
  control_->prohibited = true;
  says("its compute mode lets no process use it");
  control_->fail_at = 0;
  control_->result = 100;
  says("the CUDA driver does not start: CUresult 100");
  control_->cards = 3;
  EXPECT_EQ(devices(), "cuda cuda1 cuda2 ");
}

TEST_F(FaultsTest, CodeIsOfTheCardsFamily) {
  for (const auto& [capability, ptx] : {std::pair{75, 75u}, {80, 80u}, {86, 80u}, {89, 80u}, {90, 90u}, {120, 90u}}) {
    control_->major = capability / 10;
    control_->minor = capability % 10;
    EXPECT_EQ(fake_target().ptx, ptx) << capability;
  }
}

TEST_F(FaultsTest, RunsGoThroughStaging) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(5), VIREO_OK) << s.fault.text;
    ASSERT_EQ(s.run(77), VIREO_OK);
    vireo_telemetry now = VIREO_TELEMETRY_INIT;
    ASSERT_EQ(d_->telemetry(device_, &now), VIREO_OK);
    EXPECT_GE(now.submits, 2u);
    EXPECT_GE(now.memory_used, 4 * kRoom);
  }
  end();
}

// More submits than there are events between them and the card.
TEST_F(FaultsTest, ManySubmits) {
  start();
  {
    Session s(d_, device_, host_.table);
    for (uint32_t i = 0; i < 300; ++i) ASSERT_EQ(s.run(i), VIREO_OK) << s.fault.text;
  }
  end();
}

// Each call of the driver fails once, or from then on: then the run is right or says what it lacks, and nothing stays.
TEST_F(FaultsTest, AnyCallMayFail) {
  for (const auto& [result, for_ever] :
       {std::pair{kOutOfMemory, false}, {kNotSupported, false}, {kIllegalAddress, true}, {kUncorrectable, true}}) {
    int64_t calls = 0;
    for (int64_t n = -1; n < calls; ++n) {
      SCOPED_TRACE("call " + std::to_string(n) + " gives " + std::to_string(result));
      SetUp();
      start();
      control_->calls = 0;
      control_->result = result;
      control_->for_ever = for_ever;
      {
        Session s(d_, device_, host_.table);
        control_->calls = 0;
        control_->fail_at = n;
        const vireo_status status = s.run(9);
        control_->fail_at = -1;
        if (n < 0) {
          ASSERT_EQ(status, VIREO_OK);
          calls = control_->calls;
          ASSERT_GT(calls, 20);
        } else if (for_ever) {
          EXPECT_EQ(status, VIREO_DEVICE_LOST);
          // Whoever holds the lost device keeps it; a session that is made after a reset has another one.
          ASSERT_EQ(d_->reset(device_), VIREO_OK);
          EXPECT_EQ(d_->health(device_), VIREO_OK);
          Session next(d_, device_, host_.table);
          EXPECT_EQ(next.run(1000), VIREO_OK) << next.fault.text;
        } else {
          EXPECT_TRUE(status == VIREO_OK || status == (result == kOutOfMemory ? VIREO_OUT_OF_ARENA : VIREO_UNSUPPORTED))
              << status;
          EXPECT_EQ(d_->health(device_), VIREO_OK);
          EXPECT_EQ(s.run(1000), VIREO_OK) << s.fault.text;  // the next attempt goes well
        }
      }
      end();
      if (HasFailure()) return;
    }
  }
}

TEST_F(FaultsTest, WantOfDeviceMemoryIsSaid) {
  start();
  void* buffer = nullptr;
  EXPECT_EQ(d_->buffer_create(device_, &host_.table, 65u << 20, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(d_->buffer_create(device_, &host_.table, UINT64_MAX, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(d_->health(device_), VIREO_OK);
  end();
}

TEST_F(FaultsTest, CancelWaitsForWhatEnds) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(0), VIREO_BUSY);
    EXPECT_EQ(s.wait(5'000'000), VIREO_BUSY);
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

TEST_F(FaultsTest, WhatDoesNotEndIsLostAndKeepsItsMemory) {
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
}

TEST_F(FaultsTest, OneKernelIsCompiledOnce) {
  start();
  {
    Session first(d_, device_, host_.table), second(d_, device_, host_.table);
    ASSERT_EQ(first.run(1), VIREO_OK);
    const int64_t made = control_->modules;
    ASSERT_EQ(second.run(1), VIREO_OK);
    EXPECT_EQ(control_->modules, made);
  }
  end();
}

TEST_F(FaultsTest, SessionsRunSideBySide) {
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

// A model's file may hold kernels that are valid and write where they like. A card that lets them is not shown them.
// The other tests load without a graph, so there is nothing to compare with.
TEST_F(FaultsTest, OnlyWhatCompileMakesOfTheNodesIsLoaded) {
  start();
  flatbuffers::FlatBufferBuilder attrs;
  attrs.Finish(attrs::CreateUnary(attrs));
  TestNode negate;
  negate.name = "negate";
  negate.op = static_cast<uint16_t>(Op::kNeg);
  negate.attrs_size = attrs.GetSize();
  negate.attrs.assign(attrs.GetSize() / 8 + 1, 0);
  std::memcpy(negate.attrs.data(), attrs.GetBufferPointer(), attrs.GetSize());
  negate.inputs = {0};
  negate.outputs = {1};
  vireo_graph graph;
  graph.values.resize(2);
  for (TestValue& v : graph.values) {
    v.type.dtype = DType::kF32;
    v.type.shape = make_shape({100});
  }
  graph.nodes.push_back(std::move(negate));

  const vireo_host host = test_host();
  const uint32_t node = 0;
  const int32_t input = 0, output = 1;
  vireo_part part = VIREO_PART_INIT;
  part.nodes = &node;
  part.inputs = &input;
  part.outputs = &output;
  part.node_count = part.input_count = part.output_count = 1;
  gpu::testing::Fault fault;
  struct Blob {
    std::vector<uint64_t> words;
    size_t bytes = 0;
  } blob;
  vireo_blob to = VIREO_BLOB_INIT;
  to.context = &blob;
  to.reserve = [](void* made, size_t bytes) -> void* {
    auto& b = *static_cast<Blob*>(made);
    b.bytes = bytes;
    b.words.assign(bytes / 8 + 1, 0);
    return b.words.data();
  };
  to.fault = &fault;
  vireo_compiled found = VIREO_COMPILED_INIT;
  ASSERT_EQ(d_->compile(device_, &host, &graph, &part, &to, &found), VIREO_OK) << fault.text;

  const auto load = [&](const vireo_graph* shown) {
    vireo_memory_request request = VIREO_MEMORY_REQUEST_INIT;
    request.blob = blob.words.data();
    request.blob_bytes = blob.bytes;
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    EXPECT_EQ(d_->memory(device_, &host, shown, &part, &request, &memory), VIREO_OK);
    std::vector<std::max_align_t> state(memory.state_bytes / sizeof(std::max_align_t) + 1);
    vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
    with.blob = blob.words.data();
    with.blob_bytes = blob.bytes;
    with.state = state.data();
    with.fault = &fault;
    void* loaded = nullptr;
    const vireo_status status = d_->load(device_, &host, shown, &part, &with, &loaded);
    if (status == VIREO_OK) d_->unload(loaded);
    return status;
  };
  EXPECT_EQ(load(&graph), VIREO_OK) << fault.text;

  auto* const text = reinterpret_cast<char*>(blob.words.data());
  constexpr std::string_view kStore = "st.global.b32 [%a7+12]", kElsewhere = "st.global.b32 [%a7+92]";
  char* const at = std::search(text, text + blob.bytes, kStore.begin(), kStore.end());
  ASSERT_NE(at, text + blob.bytes);
  std::copy(kElsewhere.begin(), kElsewhere.end(), at);
  EXPECT_EQ(load(nullptr), VIREO_OK) << fault.text;  // nothing but the comparison refuses it
  EXPECT_EQ(load(&graph), VIREO_INVALID_MODEL);
  EXPECT_NE(std::string(fault.text).find("not what this version makes of its nodes"), std::string::npos) << fault.text;
  end();
}

TEST_F(FaultsTest, AForkDestroysNothingOfItsParents) {
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    const int64_t alive = control_->alive;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool lost = s.submit() == VIREO_DEVICE_LOST;
      d_->unload(s.loaded);
      d_->buffer_release(device_, s.buffer);
      d_->release(d_->self);
      _exit(lost && control_->alive == alive ? 0 : 1);
    }
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
  }
  end();
}

}  // namespace
}  // namespace vireo::cuda::faults_test

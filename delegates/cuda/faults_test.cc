// What goes wrong in a driver, and what the delegate makes of it: with a CUDA that fails on demand.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/cuda/fake/control.h"
#include "delegates/cuda/system.h"
#include "delegates/gpu/device/faults_testing.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::cuda::faults_test {
namespace {

using gpu::testing::kRoom;

constexpr Result kIllegalAddress = 700, kUncorrectable = 214, kNotSupported = 801;

struct Api {
  using Control = fake::Control;
  static constexpr const char *kVariable = "VIREO_CUDA_LIBRARY", *kLibrary = "test/libvireo_fake_cuda.so",
                              *kControl = VIREO_FAKE_CUDA_CONTROL;
  static vireo_status open(const vireo_host* host, const vireo_delegate** out) {
    return gpu::open_table("cuda", find_cards, VIREO_DELEGATE_ABI, host, out);
  }
  static gpu::Target target() {
    std::string why;
    return find_cards(&why)->facts(0).target;
  }
  static constexpr uint64_t kStepNs = 10000;
  static int64_t submits(const Control& control, vireo_priority priority) { return control.launches[priority]; }
  static void have_priorities(Control*, bool) {}  // all cards have
  static vireo_priority served(const Control&, vireo_priority priority) {
    return priority <= VIREO_PRIORITY_HIGH ? priority : vireo_priority{VIREO_PRIORITY_NORMAL};
  }
  static int64_t compiled(const Control& control) { return control.modules; }
  static void expect_no_misuse(const Control& control) { EXPECT_EQ(control.contexts_left, 0); }
  static void expect_left_after_loss(const Control&) {}  // CUDA has no instance that a lost device holds
};

using FaultsTest = gpu::testing::GpuFaults<Api>;

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
    EXPECT_EQ(Api::target().ptx, ptx) << capability;
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
  struct Way {
    Result result;
    bool for_ever, in_pieces;
  };
  for (const auto& [result, for_ever, in_pieces] : {Way{kOutOfMemory, false, false},
                                                    {kNotSupported, false, false},
                                                    {kIllegalAddress, true, false},
                                                    {kUncorrectable, true, false},
                                                    {kOutOfMemory, false, true},
                                                    {kIllegalAddress, true, true}}) {
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
        s.slice_ns = in_pieces ? 1 : 0;
        s.profile = in_pieces ? 1 : 0;
        s.priority = in_pieces ? VIREO_PRIORITY_LOW : VIREO_PRIORITY_NORMAL;
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

namespace vireo::gpu::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, GpuFaults, cuda::faults_test::Api);
}  // namespace vireo::gpu::testing

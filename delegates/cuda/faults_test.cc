// What goes wrong in a driver, and what the delegate makes of it: with a CUDA that fails on demand.
#include <utility>

#include "delegates/cuda/fake/control.h"
#include "delegates/cuda/system.h"
#include "delegates/gpu/stream/faults_testing.h"

namespace vireo::cuda::faults_test {
namespace {

struct Api {
  using Control = fake::Control;
  static constexpr const char *kVariable = "VIREO_CUDA_LIBRARY", *kLibrary = "test/libvireo_fake_cuda.so",
                              *kControl = VIREO_FAKE_CUDA_CONTROL;
  static constexpr const char *kStore = "st.global.b32 [%a7+12]", *kElsewhere = "st.global.b32 [%a7+92]";
  static vireo_status open(const vireo_host* host, const vireo_delegate** out) {
    return gpu::open_table("cuda", find_cards, VIREO_DELEGATE_ABI, host, out);
  }
  static gpu::Target target() {
    std::string why;
    return find_cards(&why)->facts(0).target;
  }
  static constexpr uint64_t kStepNs = 10000;
  static constexpr uint32_t kParts = 1;
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

// Where the driver does not link, each process compiles the text as it loads it, and there is nothing to keep.
TEST_F(FaultsTest, CodeThatIsKeptIsLinked) {
  vireo_cache cache = VIREO_CACHE_INIT;
  int puts = 0;
  cache.context = &puts;
  cache.get = [](void*, const char*, size_t*) -> const void* { return nullptr; };
  cache.put = [](void* self, const char*, const void*, size_t) { ++*static_cast<int*>(self); };
  for (const int result : {0, 218}) {
    control_->link_result = result;
    control_->compiled = control_->linked = 0;
    puts = 0;
    start();
    {
      Session s(d_, device_, host_.table);
      s.cache = &cache;
      EXPECT_EQ(s.run(1), VIREO_OK) << s.fault.text;
    }
    end();
    EXPECT_EQ(control_->compiled, 1);
    EXPECT_EQ(control_->linked, result == 0 ? 1 : 0);
    EXPECT_EQ(puts, result == 0 ? 1 : 0);
  }
}

TEST_F(FaultsTest, CodeIsOfTheCardsFamily) {
  for (const auto& [capability, ptx] : {std::pair{75, 75u}, {80, 80u}, {86, 80u}, {89, 80u}, {90, 90u}, {120, 90u}}) {
    control_->major = capability / 10;
    control_->minor = capability % 10;
    EXPECT_EQ(Api::target().ptx, ptx) << capability;
  }
}

}  // namespace
}  // namespace vireo::cuda::faults_test

namespace vireo::gpu::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, GpuFaults, cuda::faults_test::Api);
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, StreamFaults, cuda::faults_test::Api);
}  // namespace vireo::gpu::testing

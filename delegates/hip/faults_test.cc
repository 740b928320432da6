// What goes wrong in HIP, and what the delegate makes of it: with a HIP that fails on demand.
#include <utility>

#include "delegates/gpu/device/gpu.h"
#include "delegates/gpu/stream/faults_testing.h"
#include "delegates/hip/fake/control.h"
#include "delegates/hip/system.h"

namespace vireo::hip::faults_test {
namespace {

struct Api {
  using Control = fake::Control;
  static constexpr const char *kVariable = "VIREO_HIP_LIBRARY", *kLibrary = "test/libvireo_fake_hip.so",
                              *kControl = VIREO_FAKE_HIP_CONTROL;
  static constexpr const char *kStore = "store_word(b1, ", *kElsewhere = "store_word(b0, ";
  static vireo_status open(const vireo_host* host, const vireo_delegate** out) {
    return gpu::open_table("hip", find_cards, VIREO_DELEGATE_ABI, host, out);
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
  static void expect_left_after_loss(const Control&) {}  // HIP has no instance that a lost device holds
};

class FaultsTest : public gpu::testing::GpuFaults<Api> {
 protected:
  void SetUp() override {
    GpuFaults::SetUp();
    ASSERT_EQ(setenv("VIREO_HIPRTC_LIBRARY", fake_path().c_str(), 1), 0);
  }
  void TearDown() override {
    unsetenv("VIREO_HIPRTC_LIBRARY");
    GpuFaults::TearDown();
  }
};

TEST_F(FaultsTest, WhatIsMissingIsSaid) {
  const auto says = [this](const char* text) {
    const std::string found = devices();
    EXPECT_NE(found.find(text), std::string::npos) << found;
    SetUp();
  };
  setenv("VIREO_HIP_LIBRARY", "/nowhere/libamdhip64.so", 1);
  says("hip: no HIP: /nowhere/libamdhip64.so");
  setenv("VIREO_HIP_LIBRARY", "libdl.so.2", 1);
  says("HIP is too old: it lacks hipInit");
  setenv("VIREO_HIPRTC_LIBRARY", "/nowhere/libhiprtc.so", 1);
  says("HIP is here, and no compiler for kernels: /nowhere/libhiprtc.so");
  setenv("VIREO_HIPRTC_LIBRARY", "libdl.so.2", 1);
  says("HIP is here, and no compiler for kernels: libdl.so.2 is no hiprtc");
  control_->version = 40500000;
  says("HIP is of version 4.5, 5.2 or newer is needed");
  control_->cards = 0;
  says("HIP lists no card");
  control_->fail_at = 0;
  control_->result = 100;
  says("HIP lists no card: hipError_t 100");
  control_->chip = "gfx803";
  says("Fake gfx card: there are no kernels for gfx803");
  control_->chip = "";
  says("Fake gfx card: HIP does not tell its chip");
  control_->lanes = 64;
  says("Fake gfx card: waves of 64 lanes, gfx1100 has 32");
  control_->cards = 3;
  EXPECT_EQ(devices(), "hip hip1 hip2 ");
}

// Older libraries have hiprtc's functions among their own.
TEST_F(FaultsTest, TheCompilerMayLieInTheDriver) {
  unsetenv("VIREO_HIPRTC_LIBRARY");
  EXPECT_EQ(devices(), "hip ");
}

TEST_F(FaultsTest, TheChipIsReadFromBothLayouts) {
  for (const bool old : {false, true}) {
    control_->old_properties = old;
    control_->chip = "gfx90a:sramecc+:xnack-";
    control_->lanes = 64;
    std::string why;
    const auto cards = find_cards(&why);
    ASSERT_NE(cards, nullptr) << why;
    const gpu::Facts& facts = cards->facts(0);
    EXPECT_EQ(facts.target.subgroup, 64u);
    EXPECT_EQ(facts.target.hip, 9u);
    EXPECT_TRUE(facts.units_flush);
    EXPECT_FALSE(facts.checks_access);
    EXPECT_EQ(facts.driver, "HIP 6.2, hiprtc 6.2");
    EXPECT_EQ(facts.detail, "Fake gfx card, gfx90a, 4 processors, float16, matrix units");
  }
}

// MI200's unit takes subnormal halves for 0.
TEST_F(FaultsTest, AUnitThatFlushesIsForProductsOfHalves) {
  for (const auto& [chip, exact] : {std::pair{"gfx90a", false}, {"gfx942", true}}) {
    control_->chip = chip;
    control_->lanes = 64;
    std::string why;
    const auto cards = find_cards(&why);
    ASSERT_NE(cards, nullptr) << why;
    const gpu::Gpu gpu("hip", cards->facts(0), nullptr, host_.table);
    EXPECT_NE(gpu.target(VIREO_MATH_EXACT).units.empty(), exact) << chip;
    EXPECT_FALSE(gpu.target(VIREO_MATH_F16).units.empty()) << chip;
    EXPECT_TRUE(gpu.target(VIREO_MATH_F16).half_products) << chip;
  }
}

TEST_F(FaultsTest, WhatTheCompilerSaysIsPassedOn) {
  control_->compile_result = 6;
  start();
  {
    Session s(d_, device_, host_.table);
    ASSERT_EQ(s.create(), VIREO_OK);
    EXPECT_EQ(s.load(), VIREO_UNSUPPORTED);
    EXPECT_NE(std::string(s.fault.text).find("hiprtc 6.2 gives 6: error: no such thing"), std::string::npos)
        << s.fault.text;
    EXPECT_EQ(d_->health(device_), VIREO_OK);
    control_->compile_result = 0;
    EXPECT_EQ(s.run(3), VIREO_OK) << s.fault.text;
  }
  end();
}

}  // namespace
}  // namespace vireo::hip::faults_test

namespace vireo::gpu::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Hip, GpuFaults, hip::faults_test::Api);
INSTANTIATE_TYPED_TEST_SUITE_P(Hip, StreamFaults, hip::faults_test::Api);
}  // namespace vireo::gpu::testing

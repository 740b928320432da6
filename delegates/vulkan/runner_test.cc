#include "delegates/gpu/device/runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "delegates/gpu/device/testing.h"
#include "delegates/vulkan/system.h"

namespace vireo::vulkan::runner_test {
namespace {

using gpu::testing::add_kernel;
using gpu::testing::add_schedule;

gpu::Runner::Bytes bytes_of(const std::vector<uint32_t>& values) {
  gpu::Runner::Bytes bytes(values.size() * 4);
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::vector<uint32_t> counted(uint32_t count, uint32_t first) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!runner_.why().empty()) GTEST_SKIP() << runner_.why();
  }
  gpu::Runner runner_{find_cards};
};

TEST_F(RunnerTest, KernelWritesItsBindingOnly) {
  std::vector<gpu::Runner::Bytes> bindings = {bytes_of(counted(21, 5)), gpu::Runner::Bytes(21 * 4 + 8, 0x11)};
  ASSERT_EQ(runner_.run(add_kernel(runner_.target()), {3, 1, 1}, {21, 1000}, &bindings), "");
  EXPECT_EQ(bindings[0], bytes_of(counted(21, 5)));
  gpu::Runner::Bytes expected = bytes_of(counted(21, 1005));
  expected.resize(expected.size() + 8, 0x11);
  EXPECT_EQ(bindings[1], expected);
}

TEST_F(RunnerTest, StepsSeeEachOthersResults) {
  std::vector<gpu::Runner::Bytes> y;
  ASSERT_EQ(runner_.run(add_schedule(runner_.target(), 1000, 33), {bytes_of(counted(1000, 7))}, {}, &y), "");
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0], bytes_of(counted(1000, 40)));
}

// Each step is longer than a slice: from the third run on the workgroups of the first come in many pieces.
TEST_F(RunnerTest, PartsOfAStepAreTheStep) {
  runner_.slice_ns = 1;
  runner_.repeats = 4;
  std::vector<gpu::Runner::Bytes> y;
  ASSERT_EQ(runner_.run(add_schedule(runner_.target(), 1000, 3), {bytes_of(counted(1000, 7))}, {}, &y), "");
  EXPECT_EQ(y[0], bytes_of(counted(1000, 10)));
  EXPECT_GE(runner_.device()->submits(), 3u * 2 + 2 * (3 + 64));
}

TEST_F(RunnerTest, WeightsAreUploaded) {
  gpu::Schedule s = add_schedule(runner_.target(), 64, 1);
  s.weights = {{128, -1, 4}, {256, -1, 5}};
  const std::vector<gpu::Runner::Bytes> constants = {bytes_of(counted(32, 900)), bytes_of(counted(64, 50))};
  s.steps[0].bindings[0] = {gpu::Where::kWeights, 1, 0, 256};
  std::vector<gpu::Runner::Bytes> y;
  ASSERT_EQ(runner_.run(s, {bytes_of(counted(64, 0))}, constants, &y), "");
  EXPECT_EQ(y[0], bytes_of(counted(64, 51)));
  s.steps[0].bindings[0] = {gpu::Where::kWeights, 0, 0, 128};
  s.steps[0].push = {32, 3};
  ASSERT_EQ(runner_.run(s, {bytes_of(counted(64, 0))}, constants, &y), "");
  gpu::Runner::Bytes expected = bytes_of(counted(32, 903));
  expected.resize(256, 0xA5);  // what nobody wrote
  EXPECT_EQ(y[0], expected);
}

// As the host has it where a device has memory of its own.
TEST_F(RunnerTest, EmptyValuesHaveNoPlace) {
  gpu::Schedule s = add_schedule(runner_.target(), 64, 1);
  s.inputs.push_back(0);
  s.outputs.insert(s.outputs.begin(), 0);
  s.steps.back().bindings.back().index = 1;
  std::vector<gpu::Runner::Bytes> y;
  ASSERT_EQ(runner_.run(s, {bytes_of(counted(64, 3)), {}}, {}, &y), "");
  ASSERT_EQ(y.size(), 2u);
  EXPECT_TRUE(y[0].empty());
  EXPECT_EQ(y[1], bytes_of(counted(64, 4)));
}

// A schedule that lacks a barrier, for validation_test.py: layers that do not see it would see nothing else.
TEST_F(RunnerTest, DISABLED_BarrierIsMissing) {
  gpu::Schedule s = add_schedule(runner_.target(), 1000, 3);
  s.steps[1].barrier = false;
  std::vector<gpu::Runner::Bytes> y;
  ASSERT_EQ(runner_.run(s, {bytes_of(counted(1000, 7))}, {}, &y), "");
}

}  // namespace
}  // namespace vireo::vulkan::runner_test

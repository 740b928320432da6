// Which values take 16 bits near outputs that are put together in float.
#include "quant/int8/wide.h"

#include <gtest/gtest.h>

#include "quant/int8/testing.h"

namespace vireo::quant::wide_test {
namespace {

using testing::parsed;
using testing::plan_of;

std::string exit_names(const std::string& text) {
  const auto g = parsed(text);
  const Plan plan = plan_of(*g);
  std::string out;
  for (const size_t i : joined_exits(plan)) out += plan.values[i].value->name + " ";
  return out;
}

TEST(WideExits, ResultsThatMeetInFloatBehindTheLastProduct) {
  EXPECT_EQ(exit_names("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Conv(%x, w[3,2,1,1])\n%e = Exp(%a)\n"
                       "%y = Concat(%e, %b) {axis:1}\noutput %y"),
            "a b ");
}

TEST(WideExits, AnOutputByItselfIsNone) {
  EXPECT_EQ(exit_names("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%y = Exp(%a)\noutput %y"), "");
}

TEST(WideExits, BeforeAnotherProductIsNone) {
  EXPECT_EQ(exit_names("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Conv(%x, w[3,2,1,1])\n%c = Exp(%a)\n"
                       "%d = Concat(%c, %b) {axis:1}\n%y = Conv(%d, w[2,6,1,1])\noutput %y"),
            "");
}

// Forty joins in a row make 2^40 ways from a product to the output.
TEST(WideExits, WaysThatMultiplyAreWalkedOnce) {
  std::string text = "input %x f32[1,2,4,4]\n%a0 = Conv(%x, w[3,2,1,1])\n";
  for (int i = 0; i < 40; ++i) {
    const std::string from = "%a" + std::to_string(i), to = std::to_string(i + 1);
    text += "%b" + to + " = Exp(" + from + ")\n%a" + to + " = Add(" + from + ", %b" + to + ")\n";
  }
  EXPECT_EQ(exit_names(text + "output %a40"), "a0 ");
}

TEST(WideValues, OfFewElementsThatMakeMuchOfTheNoise) {
  // The third makes little noise, the fourth no more than its part of the elements.
  EXPECT_EQ(worth_16_bits({{0, 0.05, 0.2}, {1, 0.01, 0.1}, {2, 0.001, 0.009}, {3, 0.1, 0.15}}),
            (std::vector<size_t>{1, 0}));
  EXPECT_TRUE(worth_16_bits({}).empty());
}

TEST(WideValues, AThirdOfTheElementsAtMost) {
  EXPECT_EQ(worth_16_bits({{0, 0.2, 0.7}, {1, 0.2, 0.6}, {2, 0.1, 0.29}}), (std::vector<size_t>{0, 2}));
}

TEST(WideValues, OfTheTrunkThoseNearestToTheOutputs) {
  // A third of the elements is 0.15 more than the last one has; the fourth is none of the trunk, the third is not seen.
  EXPECT_EQ(nearest_of_trunk({0.3, 0.1, 0, 0.2, 0.1, 0.05, 0.18}, {true, true, true, false, true, true, false}, {6}),
            (std::vector<size_t>{5, 4}));
  EXPECT_TRUE(nearest_of_trunk({0.2, 0.34}, {true, true}, {}).empty());
}

}  // namespace
}  // namespace vireo::quant::wide_test

// How many multiply-adds compute on integers.
#include "quant/int8/share.h"

#include <gtest/gtest.h>

#include "quant/int8/testing.h"

namespace vireo::quant::share_test {
namespace {

using testing::parsed;
using testing::plan_of;

TEST(MultiplyAdds, AProductOfTwoValuesOnCodes) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%y = MatMul(%a, %a)\noutput %y");
  const MultiplyAdds m = count_multiply_adds(*g, plan_of(*g), {});
  EXPECT_EQ(m.integer, 3 * 16 * 2 + 3 * 16 * 4);
  EXPECT_EQ(m.all, 3 * 16 * 2 + 3 * 16 * 4);
}

TEST(MultiplyAdds, AProductOfAValueInFloat) {
  const auto g =
      parsed("input %x f32[1,2,4,4]\ninput %z f32[4,4]\n%a = Conv(%x, w[3,2,1,1])\n%y = MatMul(%a, %z)\noutput %y");
  const MultiplyAdds m = count_multiply_adds(*g, plan_of(*g), {});
  EXPECT_EQ(m.integer, 3 * 16 * 2);
  EXPECT_EQ(m.all, 3 * 16 * 2 + 3 * 16 * 4);
}

TEST(MultiplyAdds, OfExtentsAsTheSampleHasThem) {
  const auto g = parsed("input %x f32[N,8]\n%a = MatMul(%x, w[8,4])\n%y = Relu(%a)\noutput %y");
  HostTensor sample;
  sample.dims = {5, 8};
  EXPECT_EQ(count_multiply_adds(*g, plan_of(*g), {sample}).integer, 5 * 8 * 4);
}

}  // namespace
}  // namespace vireo::quant::share_test

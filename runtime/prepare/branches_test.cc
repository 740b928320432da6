#include "runtime/prepare/branches.h"

#include <gtest/gtest.h>

namespace vireo {
namespace {

TEST(FillLanes, LongestFirstToTheLaneThatIsFree) {
  const double costs[] = {2, 9, 4, 5};
  uint8_t lane[4];
  EXPECT_EQ(fill_lanes(costs, 4, 2, lane), 11);  // 9 + 2 and 5 + 4
  EXPECT_EQ(lane[1], 0);
  EXPECT_EQ(lane[3], 1);
  EXPECT_EQ(lane[2], 1);
  EXPECT_EQ(lane[0], 0);
}

TEST(FillLanes, EqualOnesInOrder) {
  const double costs[] = {3, 3, 3};
  uint8_t lane[3];
  EXPECT_EQ(fill_lanes(costs, 3, 3, lane), 3);
  for (uint8_t k = 0; k < 3; ++k) EXPECT_EQ(lane[k], k);
  EXPECT_EQ(fill_lanes(costs, 3, 1, lane), 9);
}

TEST(SpreadNs, SmallNodesStayWhole) {
  EXPECT_EQ(spread_ns(2 * kSpreadNs, 2), 2 * kSpreadNs);
  EXPECT_EQ(spread_ns(1000, 8), 1000);
  EXPECT_EQ(spread_ns(100000, 2), 50000 + kSpreadNs);
}

}  // namespace
}  // namespace vireo

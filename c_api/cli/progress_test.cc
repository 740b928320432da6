#include "c_api/cli/progress.h"

#include <gtest/gtest.h>

namespace vireo::cli::progress_test {
namespace {

TEST(Progress, TimeLeftFollowsFromTimeSpent) {
  EXPECT_EQ(share_text(0.25, 15), "25 %, 45 s left");
  EXPECT_EQ(share_text(0.5, 125), "50 %, 2 min 5 s left");
  EXPECT_EQ(share_text(0.1, 1000), "10 %, 2 h 30 min left");
}

TEST(Progress, NothingIsSaidOfTimeBeforeItIsKnown) {
  EXPECT_EQ(share_text(0, 10), "0 %");
  EXPECT_EQ(share_text(0.001, 10), "0 %");
  EXPECT_EQ(share_text(0.5, 0.1), "50 %");
  EXPECT_EQ(share_text(1, 10), "100 %");
}

}  // namespace
}  // namespace vireo::cli::progress_test

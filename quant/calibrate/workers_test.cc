#include "quant/calibrate/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace vireo::quant {
namespace {

TEST(Workers, EachPartIsDoneOnceInEveryRound) {
  Workers workers;
  for (size_t count : {0, 1, 2, 100}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> seen(count);
      workers.share(count, [&](size_t i) { ++seen[i]; });
      for (const auto& n : seen) ASSERT_EQ(n, 1);
    }
  }
}

TEST(Workers, AnExceptionReachesTheCallerAndTheNextRoundIsWhole) {
  Workers workers;
  const auto fails = [](size_t i) {
    if (i == 3) throw std::runtime_error("part 3");
  };
  EXPECT_THROW(workers.share(10, fails), std::runtime_error);
  std::atomic<int> done = 0;
  workers.share(10, [&](size_t) { ++done; });
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace vireo::quant

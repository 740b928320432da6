#include "delegates/cpu/kernels/reduce/reduce.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

constexpr Reduce kKinds[] = {Reduce::kSum,       Reduce::kMean,   Reduce::kMax,    Reduce::kMin,
                             Reduce::kSumSquare, Reduce::kSumAbs, Reduce::kProduct};

void check(Reduce kind, int64_t outer, int64_t axis, int64_t inner, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << ": " << outer << " x " << axis << " x " << inner);
  Floats x(static_cast<size_t>(outer * axis * inner)), y(static_cast<size_t>(outer * inner));
  testing::fill_uniform(x, 1, kind == Reduce::kProduct ? 0.9f : -2, kind == Reduce::kProduct ? 1.1f : 2);
  testing::Threads threads(slots);
  reduce_f32(kind, x.data(), y.data(), outer, axis, inner, threads.parallel());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0, magnitude = 0, squares = 0, most = -INFINITY, least = INFINITY, product = 1;
      for (int64_t a = 0; a < axis; ++a) {
        const double v = x[static_cast<size_t>((o * axis + a) * inner + i)];
        sum += v;
        magnitude += std::abs(v);
        squares += v * v;
        most = std::max(most, v);
        least = std::min(least, v);
        product *= v;
      }
      const double count = static_cast<double>(axis);
      const double all[] = {sum, sum / count, most, least, squares, magnitude, product};
      const double sizes[] = {magnitude, magnitude / count, 0, 0, squares, magnitude, product};
      const float got = y[static_cast<size_t>(o * inner + i)];
      const size_t at = static_cast<size_t>(kind);
      if (axis == 0 && kind == Reduce::kMean) {
        ASSERT_TRUE(std::isnan(got));
      } else if (sizes[at] == 0) {
        ASSERT_EQ(got, static_cast<float>(all[at]));
      } else {
        ASSERT_NEAR(got, all[at], testing::sum_bound(axis, sizes[at]));
      }
    }
  }
}

TEST(Reduce, AllKinds) {
  for_each_level([](const char*) {
    for (Reduce kind : kKinds) {
      for (int64_t axis : {0, 1, 3, 15, 16, 17, 64, 65, 130}) {
        check(kind, 3, axis, 1, 1);
        for (int64_t inner : {2, 15, 16, 17, 63, 64, 65, 100}) check(kind, 2, axis, inner, 1);
      }
      check(kind, 300, 1000, 1, 3);
      check(kind, 5, 100, 700, 3);
      check(kind, 0, 3, 3, 1);
    }
  });
}

TEST(Reduce, NotANumber) {
  for_each_level([](const char*) {
    for (Reduce kind : kKinds) {
      for (int at = 0; at < 40; ++at) {
        std::vector<float> x(80, 1.0f);
        x[static_cast<size_t>(at)] = NAN;
        float y[2];
        reduce_f32(kind, x.data(), y, 2, 40, 1, Parallel{});
        EXPECT_TRUE(std::isnan(y[0])) << at;
        EXPECT_FALSE(std::isnan(y[1])) << at;
        reduce_f32(kind, x.data(), y, 1, 40, 2, Parallel{});
        EXPECT_EQ(std::isnan(y[0]), at % 2 == 0);
        EXPECT_EQ(std::isnan(y[1]), at % 2 == 1);
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

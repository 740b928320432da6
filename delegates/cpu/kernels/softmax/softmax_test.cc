#include "delegates/cpu/kernels/softmax/softmax.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t outer, int64_t axis, int64_t inner, bool log, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << outer << " x " << axis << " x " << inner << " log " << log);
  const size_t count = static_cast<size_t>(outer * axis * inner);
  Floats x(count), y(count);
  testing::fill_uniform(x, 1, -9, 9);
  testing::Threads threads(slots);
  softmax_f32(x.data(), y.data(), outer, axis, inner, log, threads.parallel());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t k) { return static_cast<size_t>((o * axis + k) * inner + i); };
      double most = -1e30, sum = 0;
      for (int64_t k = 0; k < axis; ++k) most = std::max(most, double{x[at(k)]});
      for (int64_t k = 0; k < axis; ++k) sum += std::exp(x[at(k)] - most);
      for (int64_t k = 0; k < axis; ++k) {
        const double shifted = x[at(k)] - most;
        // u = 2^-24. The shift loses |shifted| u; the sum (axis + 3) u of itself (additions, and 1.5 ulp of each
        // exponential). Then an exponential (3 u), a quotient and a product; or a logarithm (2 ulp) and a difference.
        const double u = 0x1p-24, shift = (std::abs(shifted) + 9) * u, total = static_cast<double>(axis + 3) * u;
        if (log) {
          const double want = shifted - std::log(sum);
          ASSERT_NEAR(y[at(k)], want, shift + total + 4 * u * std::log(sum) + 2 * u * std::abs(want));
        } else {
          const double want = std::exp(shifted) / sum;
          ASSERT_NEAR(y[at(k)], want, want * (shift + total + 5 * u));
        }
      }
    }
  }
  softmax_f32(x.data(), x.data(), outer, axis, inner, log, Parallel{});
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(x[i], y[i]) << "in place";
}

TEST(Softmax, AxesOfAllLengths) {
  for_each_level([](const char*) {
    for (bool log : {false, true}) {
      for (int64_t axis : {1, 2, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 100}) {
        check(3, axis, 1, log, 1);
        check(37, axis, 1, log, 1);
        check(2, axis, 5, log, 1);
        check(2, axis, 17, log, 1);
      }
      check(0, 5, 5, log, 1);
      check(100, 1000, 1, log, 3);
      check(20011, 3, 1, log, 3);
      check(3, 100, 300, log, 3);
    }
  });
}

TEST(Softmax, SpecialValues) {
  for_each_level([](const char*) {
    for (int64_t inner : {1, 2}) {
      std::vector<float> x(static_cast<size_t>(20 * inner), 0.0f), y(x.size());
      x[0] = -INFINITY;
      softmax_f32(x.data(), y.data(), 1, 20, inner, false, Parallel{});
      EXPECT_EQ(y[0], 0.0f);
      EXPECT_NEAR(y[static_cast<size_t>(inner)], 1.0 / 19, 1e-8);
      x[0] = 1000;
      softmax_f32(x.data(), y.data(), 1, 20, inner, false, Parallel{});
      EXPECT_EQ(y[0], 1.0f);
      EXPECT_EQ(y[static_cast<size_t>(inner)], 0.0f);
      x[0] = NAN;
      softmax_f32(x.data(), y.data(), 1, 20, inner, false, Parallel{});
      for (size_t i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(y[i * static_cast<size_t>(inner)]));
    }
    std::vector<float> pairs(80, 0.0f), halves(80);
    pairs[6] = -INFINITY;
    pairs[9] = 1000;
    pairs[40] = NAN;
    softmax_f32(pairs.data(), halves.data(), 40, 2, 1, false, Parallel{});
    for (size_t i = 0; i < 80; ++i) {
      if (i / 2 == 20) {
        EXPECT_TRUE(std::isnan(halves[i])) << i;
      } else {
        EXPECT_EQ(halves[i], i == 6 || i == 8 ? 0.0f : i == 7 || i == 9 ? 1.0f : 0.5f) << i;
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

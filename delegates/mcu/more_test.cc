// Kernels of picks.h, integers.h and reals_more.h beside plain loops, in float64 where they are of float32: whole, and
// unit by unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/numbers_testing.h"

namespace vireo::more_test {
namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();
constexpr vireo_mcu_units kAll = {0, VIREO_MCU_ALL_UNITS};
std::mt19937 numbers(48);

int32_t pick(int32_t low, int32_t high) { return mcu_testing::pick(numbers, low, high); }
std::vector<float> noise(int64_t count) { return mcu_testing::noise(numbers, count, 2); }
size_t at(int32_t i) { return static_cast<size_t>(i); }

// Runs all at once, then unit by unit: the same bits.
template <class T>
std::vector<T> in_both_ways(size_t count, uint32_t units, const std::function<void(T*, vireo_mcu_units)>& run) {
  std::vector<T> whole(count, T(77)), parts(count, T(77));
  run(whole.data(), kAll);
  for (uint32_t u = 0; u < units; ++u) run(parts.data(), {u, u + 1});
  EXPECT_EQ(std::memcmp(whole.data(), parts.data(), count * sizeof(T)), 0);
  return whole;
}

TEST(McuPicks, RowsByATable) {
  for (int i = 0; i < 60; ++i) {
    const vireo_mcu_pick p = {pick(1, 3), pick(1, 7), pick(1, 6), 4 * pick(1, 3), {0x01020304, 0}, 4, 1, 1, 0};
    const int32_t words = p.row_bytes / 4;
    std::vector<int32_t> x(at(p.outer * p.axis * words)), table(at(p.count));
    for (int32_t& v : x) v = pick(-1000, 1000);
    for (int32_t& v : table) v = pick(-p.axis - 1, p.axis);
    const auto y = in_both_ways<int32_t>(
        at(p.outer * p.count * words), static_cast<uint32_t>(p.outer * p.count),
        [&](int32_t* to, vireo_mcu_units u) { vireo_mcu_pick_run(&p, x.data(), table.data(), to, u); });
    for (int32_t o = 0; o < p.outer; ++o) {
      for (int32_t c = 0; c < p.count; ++c) {
        int32_t row = table[at(c)] < 0 ? table[at(c)] + p.axis : table[at(c)];
        for (int32_t k = 0; k < words; ++k)
          ASSERT_EQ(y[at((o * p.count + c) * words + k)],
                    row < 0 || row >= p.axis ? 0x01020304 : x[at((o * p.axis + row) * words + k)]);
      }
    }
  }
  // Indices of 64 bits: what is beyond 32 is outside.
  const vireo_mcu_pick p = {1, 4, 3, 1, {9, 0}, 1, 2, 0, 0};
  const uint8_t x[] = {5, 6, 7};
  const int64_t table[] = {2, int64_t{1} << 32, -1, 0};
  uint8_t y[4];
  vireo_mcu_pick_run(&p, x, reinterpret_cast<const int32_t*>(table), y, kAll);
  EXPECT_EQ(std::vector<uint8_t>(y, y + 4), (std::vector<uint8_t>{7, 9, 9, 5}));
}

TEST(McuPicks, OneOfTwo) {
  const int32_t rows = 3, columns = 150;
  const vireo_mcu_choose c = {rows, columns, {columns, 1, 0}, {1, 0, 1}, 2};
  std::vector<uint8_t> condition(at(rows * columns));
  std::vector<uint16_t> a = {1, 2, 3}, b(at(columns), 9);
  for (uint8_t& v : condition) v = static_cast<uint8_t>(pick(0, 1) * pick(1, 255));
  const auto y = in_both_ways<uint16_t>(at(rows * columns), 9, [&](uint16_t* to, vireo_mcu_units u) {
    vireo_mcu_choose_run(&c, condition.data(), a.data(), b.data(), to, u);
  });
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], condition[i] != 0 ? i / at(columns) + 1 : 9);
}

template <class T>
void check_integers(uint8_t type) {
  using Wide = int64_t;
  constexpr int kWidth = 8 * sizeof(T);
  for (uint8_t what = 0; what < VIREO_MCU_INT_OPERATIONS; ++what) {
    const vireo_mcu_integers f = {1, 400, 0, 1, 0, 1, what, type, {}};
    std::vector<T> a(400), b(400);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<T>(numbers()), b[i] = static_cast<T>(numbers());
      if (i % 4 == 0) b[i] = static_cast<T>(pick(-9, 40));
      if (i % 16 == 5) a[i] = std::numeric_limits<T>::min(), b[i] = static_cast<T>(-1);
      if (i % 16 == 7) a[i] = b[i];
    }
    std::vector<uint8_t> y(400 * sizeof(T));
    vireo_mcu_integers_run(&f, a.data(), b.data(), y.data(), kAll);
    for (size_t i = 0; i < a.size(); ++i) {
      const Wide p = a[i], q = b[i], rest = q == 0 ? 0 : p % q;
      const bool outside = q < 0 || q >= kWidth;
      const Wide wanted[] = {p + q,
                             p - q,
                             static_cast<Wide>(static_cast<uint64_t>(p) * static_cast<uint64_t>(q)),
                             q == 0 ? 0 : p / q,
                             rest,
                             rest != 0 && (rest < 0) != (q < 0) ? rest + q : rest,
                             std::min(p, q),
                             std::max(p, q),
                             p & q,
                             p | q,
                             p ^ q,
                             outside ? 0 : static_cast<Wide>(static_cast<uint64_t>(p) << q),
                             outside ? (p < 0 ? -1 : 0) : p >> q,
                             p == q,
                             p < q,
                             p <= q};
      if (what >= VIREO_MCU_INT_EQUAL) {
        ASSERT_EQ(y[i], wanted[what]) << int(what) << " of " << p << " and " << q;
      } else {
        T got;
        std::memcpy(&got, y.data() + i * sizeof(T), sizeof(T));
        ASSERT_EQ(got, static_cast<T>(wanted[what])) << int(what) << " of " << p << " and " << q;
      }
    }
  }
}
TEST(McuIntegers, OperationsOfAllTypes) {
  check_integers<uint8_t>(VIREO_MCU_BYTE);
  check_integers<int8_t>(VIREO_MCU_SIGNED_BYTE);
  check_integers<uint16_t>(VIREO_MCU_HALF);
  check_integers<int16_t>(VIREO_MCU_SIGNED_HALF);
  check_integers<uint32_t>(VIREO_MCU_WORD);
  check_integers<int32_t>(VIREO_MCU_SIGNED_WORD);
}

template <class From, class To>
To cast_of(From v, uint8_t from, uint8_t to) {
  const vireo_mcu_cast c = {1, from, to, {}};
  alignas(8) From x[1] = {v};
  alignas(8) To y[1] = {};
  vireo_mcu_cast_run(&c, x, y, kAll);
  return y[0];
}
TEST(McuIntegers, Casts) {
  for (int i = 0; i < 200000; ++i) {
    const auto wide =
        static_cast<int64_t>((uint64_t{numbers()} << 32 | numbers()) >> pick(0, 62)) * (pick(0, 1) * 2 - 1);
    const auto word = static_cast<int32_t>(numbers());
    ASSERT_EQ((cast_of<int64_t, float>(wide, VIREO_MCU_LONG, VIREO_MCU_REAL)), static_cast<float>(wide)) << wide;
    ASSERT_EQ((cast_of<int32_t, float>(word, VIREO_MCU_SIGNED_WORD, VIREO_MCU_REAL)), static_cast<float>(word));
    ASSERT_EQ((cast_of<uint32_t, float>(static_cast<uint32_t>(word), VIREO_MCU_WORD, VIREO_MCU_REAL)),
              static_cast<float>(static_cast<uint32_t>(word)));
    ASSERT_EQ((cast_of<int32_t, int64_t>(word, VIREO_MCU_SIGNED_WORD, VIREO_MCU_LONG)), word);
    ASSERT_EQ((cast_of<uint32_t, int64_t>(static_cast<uint32_t>(word), VIREO_MCU_WORD, VIREO_MCU_LONG)),
              static_cast<uint32_t>(word));
    ASSERT_EQ((cast_of<int64_t, int8_t>(wide, VIREO_MCU_LONG, VIREO_MCU_SIGNED_BYTE)), static_cast<int8_t>(wide));
    const float real = std::ldexp(static_cast<float>(word), pick(-40, 31));
    ASSERT_EQ((cast_of<float, int64_t>(real, VIREO_MCU_REAL, VIREO_MCU_LONG)), static_cast<int64_t>(real)) << real;
  }
  EXPECT_EQ((cast_of<float, int32_t>(-2.9f, VIREO_MCU_REAL, VIREO_MCU_SIGNED_WORD)), -2);
  EXPECT_EQ((cast_of<float, int32_t>(kFar, VIREO_MCU_REAL, VIREO_MCU_SIGNED_WORD)), INT32_MAX);
  EXPECT_EQ((cast_of<float, int32_t>(-kFar, VIREO_MCU_REAL, VIREO_MCU_SIGNED_WORD)), INT32_MIN);
  EXPECT_EQ((cast_of<float, int32_t>(NAN, VIREO_MCU_REAL, VIREO_MCU_SIGNED_WORD)), INT32_MIN);
  EXPECT_EQ((cast_of<float, int8_t>(300, VIREO_MCU_REAL, VIREO_MCU_SIGNED_BYTE)), 127);
  EXPECT_EQ((cast_of<float, uint8_t>(300, VIREO_MCU_REAL, VIREO_MCU_BYTE)), 255);
  EXPECT_EQ((cast_of<float, uint8_t>(-1, VIREO_MCU_REAL, VIREO_MCU_BYTE)), 255);  // wraps, as sums do
  EXPECT_EQ((cast_of<float, int64_t>(kFar, VIREO_MCU_REAL, VIREO_MCU_LONG)), INT64_MAX);
  EXPECT_EQ((cast_of<float, int64_t>(NAN, VIREO_MCU_REAL, VIREO_MCU_LONG)), INT64_MIN);
  EXPECT_EQ((cast_of<float, uint8_t>(-0.0f, VIREO_MCU_REAL, VIREO_MCU_BOOL)), 0);
  EXPECT_EQ((cast_of<float, uint8_t>(0.25f, VIREO_MCU_REAL, VIREO_MCU_BOOL)), 1);
  EXPECT_EQ((cast_of<int64_t, uint8_t>(int64_t{1} << 40, VIREO_MCU_LONG, VIREO_MCU_BOOL)), 1);
}

TEST(McuIntegers, WhereTheGreatestIs) {
  const auto of = [](std::vector<float> x, uint8_t least, uint8_t last) {
    const vireo_mcu_greatest g = {1, static_cast<int32_t>(x.size()), 1, VIREO_MCU_REAL, least, last, 0};
    uint32_t y[2] = {9, 9};
    vireo_mcu_greatest_run(&g, x.data(), y, kAll);
    EXPECT_EQ(y[1], 0u);
    return y[0];
  };
  EXPECT_EQ(of({-3, -1, -2, -1}, 0, 0), 1u);
  EXPECT_EQ(of({-3, -1, -2, -1}, 0, 1), 3u);
  EXPECT_EQ(of({-3, -1, -kFar, -1}, 1, 0), 2u);
  EXPECT_EQ(of({0.0f, -0.0f, -1}, 0, 1), 1u);  // both zeros are equal
  EXPECT_EQ(of({1, NAN, kFar, NAN}, 0, 0), 1u);
  EXPECT_EQ(of({1, NAN, -kFar, NAN}, 1, 1), 3u);
  for (int i = 0; i < 50; ++i) {
    const vireo_mcu_greatest g = {pick(1, 3), pick(1, 9), pick(1, 4), VIREO_MCU_SIGNED_BYTE, 0, 0, 0};
    std::vector<int8_t> x(at(g.outer * g.axis * g.inner));
    for (int8_t& v : x) v = static_cast<int8_t>(pick(-4, 4));
    const auto y = in_both_ways<uint64_t>(at(g.outer * g.inner), static_cast<uint32_t>(g.outer * g.inner),
                                          [&](uint64_t* to, vireo_mcu_units u) {
                                            vireo_mcu_greatest_run(&g, x.data(), reinterpret_cast<uint32_t*>(to), u);
                                          });
    for (int32_t line = 0; line < g.outer * g.inner; ++line) {
      const int32_t first = line / g.inner * g.axis * g.inner + line % g.inner;
      int32_t best = 0;
      for (int32_t k = 1; k < g.axis; ++k)
        if (x[at(first + k * g.inner)] > x[at(first + best * g.inner)]) best = k;
      ASSERT_EQ(y[at(line)], static_cast<uint64_t>(best));
    }
  }
}

// How far a function may be from float64: in units of the last place of what is at least `floor`.
void near(int32_t what, double (*exact)(double), float low, float high, double units, float floor, float a = 0,
          float b = 0, float c = 1) {
  const int32_t count = 20000;
  const vireo_mcu_more_function f = {count, what, a, b, c};
  std::vector<float> x(count);
  for (float& v : x) v = low + (high - low) * static_cast<float>(numbers() >> 8) / (1 << 24);
  const auto y = in_both_ways<float>(count, (count + 63) / 64, [&](float* to, vireo_mcu_units u) {
    vireo_mcu_more_function_run(&f, x.data(), to, u);
  });
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double wanted = exact(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - wanted) / std::max<double>(std::abs(wanted), floor));
  }
  EXPECT_LE(worst * (1 << 23), units) << "function " << what;
}

TEST(McuReals, MoreFunctions) {
  near(
      VIREO_MCU_LOG, [](double x) { return std::log(x); }, 1e-30f, 3, 2, 1e-2f);
  near(
      VIREO_MCU_LOG, [](double x) { return std::log(x); }, 3, 1e30f, 2, 1);
  near(
      VIREO_MCU_SIN, [](double x) { return std::sin(x); }, -100, 100, 2, 1);
  near(
      VIREO_MCU_COS, [](double x) { return std::cos(x); }, -100, 100, 2, 1);
  near(
      VIREO_MCU_SIN, [](double x) { return std::sin(x); }, -1.5f, 1.5f, 2, 1e-3f);
  near(
      VIREO_MCU_ERF, [](double x) { return std::erf(x); }, -1, 1, 2, 1e-6f);
  near(
      VIREO_MCU_ERF, [](double x) { return std::erf(x); }, -5, 5, 4, 1);
  near(
      VIREO_MCU_GELU, [](double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }, -6, 6, 6, 1);
  near(
      VIREO_MCU_GELU_TANH,
      [](double x) { return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }, -6, 6, 6, 1);
  near(
      VIREO_MCU_SOFTPLUS, [](double x) { return std::log1p(std::exp(x)); }, -60, 60, 4, 1e-20f);
  near(
      VIREO_MCU_MISH, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -20, 20, 8, 1);
  near(
      VIREO_MCU_SCALED_ELU, [](double x) { return 1.5 * (x > 0 ? x : 2 * (std::exp(x / 3) - 1)); }, -9, 9, 8, 1, 2,
      1.5f, 3);
  near(
      VIREO_MCU_FLOOR, [](double x) { return std::floor(x); }, -9, 9, 0, 1);
  near(
      VIREO_MCU_CEIL, [](double x) { return std::ceil(x); }, -9, 9, 0, 1);
  near(
      VIREO_MCU_ROUND, [](double x) { return std::nearbyint(x); }, -9, 9, 0, 1);
  near(
      VIREO_MCU_FLOOR, [](double x) { return std::floor(x); }, -1e7f, 1e7f, 0, 1);
  const auto of = [](int32_t what, float x, float a = 0, float b = 0) {
    const vireo_mcu_more_function f = {1, what, a, b, 1};
    float y = 0;
    vireo_mcu_more_function_run(&f, &x, &y, kAll);
    return y;
  };
  EXPECT_EQ(of(VIREO_MCU_LOG, 0), -kFar);
  EXPECT_EQ(of(VIREO_MCU_LOG, kFar), kFar);
  EXPECT_TRUE(std::isnan(of(VIREO_MCU_LOG, -1)));
  EXPECT_NEAR(of(VIREO_MCU_LOG, 1e-40f), std::log(static_cast<double>(1e-40f)), 1e-5);
  EXPECT_EQ(of(VIREO_MCU_LOG, 1), 0);
  EXPECT_EQ(of(VIREO_MCU_ROUND, 2.5f), 2);
  EXPECT_EQ(of(VIREO_MCU_ROUND, 3.5f), 4);
  EXPECT_TRUE(std::signbit(of(VIREO_MCU_CEIL, -0.5f)));
  EXPECT_EQ(of(VIREO_MCU_FLOOR, 3e9f), 3e9f);
  EXPECT_EQ(of(VIREO_MCU_SIGN, -3), -1);
  EXPECT_EQ(of(VIREO_MCU_SHRINK, 2, 0.5f, 0.25f), 1.75f);
  EXPECT_EQ(of(VIREO_MCU_SHRINK, -2, 0.5f, 0.25f), -1.75f);
  EXPECT_EQ(of(VIREO_MCU_SHRINK, 0.5f, 0.5f, 0.25f), 0);
  EXPECT_TRUE(std::isnan(of(VIREO_MCU_SIN, kFar)));
  for (int32_t what = 0; what < VIREO_MCU_MORE_FUNCTIONS; ++what) EXPECT_TRUE(std::isnan(of(what, NAN, 1, 1))) << what;
}

TEST(McuReals, Pairs) {
  const auto of = [](int32_t what, float a, float b) {
    const vireo_mcu_binary_reals f = {1, 1, 0, 0, 0, 0, what};
    float y = 0;
    vireo_mcu_pairs_run(&f, &a, &b, &y, kAll);
    return y;
  };
  EXPECT_EQ(of(VIREO_MCU_MIN_REALS, 1, 2), 1);
  EXPECT_EQ(of(VIREO_MCU_MAX_REALS, 1, 2), 2);
  EXPECT_TRUE(std::isnan(of(VIREO_MCU_MAX_REALS, NAN, 2)));
  EXPECT_TRUE(std::isnan(of(VIREO_MCU_MIN_REALS, 2, NAN)));
  EXPECT_EQ(of(VIREO_MCU_PRELU, -2, 0.25f), -0.5f);
  for (int i = 0; i < 20000; ++i) {
    const float a = noise(1)[0] * 4, b = i % 2 == 0 ? static_cast<float>(pick(-9, 9)) : noise(1)[0] * 8;
    const double wanted = std::pow(static_cast<double>(a), static_cast<double>(b));
    const float got = of(VIREO_MCU_POWER, a, b);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << a << " " << b;
    } else {
      ASSERT_NEAR(got, wanted, 8e-6 * std::abs(wanted) + 1.2e-38) << a << " " << b;
    }
  }
  EXPECT_EQ(of(VIREO_MCU_POWER, 0, 0), 1);
  EXPECT_EQ(of(VIREO_MCU_POWER, NAN, 0), 1);
  EXPECT_EQ(of(VIREO_MCU_POWER, 0, -0.5f), kFar);
  EXPECT_EQ(of(VIREO_MCU_POWER, -2, 3), -8);
  EXPECT_EQ(of(VIREO_MCU_POWER, 4, 0.5f), 2);
  const vireo_mcu_binary_reals less = {2, 70, 70, 1, 0, 0, VIREO_MCU_LESS_REALS};
  const std::vector<float> a = noise(140), b = {0.25f};
  const auto y = in_both_ways<uint8_t>(
      140, 4, [&](uint8_t* to, vireo_mcu_units u) { vireo_mcu_pairs_run(&less, a.data(), b.data(), to, u); });
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], a[i] < 0.25f);
}

TEST(McuReals, Reductions) {
  for (int32_t what = 0; what < VIREO_MCU_REDUCTIONS; ++what) {
    const int32_t d[] = {pick(1, 3), pick(1, 5), pick(1, 4), pick(1, 6)};  // the second and the last are reduced
    const vireo_mcu_reduce_reals r = {
        {1, d[0], d[2]}, {0, d[1] * d[2] * d[3], d[3]}, {1, d[1], d[3]}, {0, d[2] * d[3], 1}, what};
    std::vector<float> x = noise(int64_t{d[0]} * d[1] * d[2] * d[3]);
    if (what == VIREO_MCU_LOG_OF_SUM)
      for (float& v : x) v = std::abs(v) + 0.01f;
    const auto y =
        in_both_ways<float>(at(d[0] * d[2]), static_cast<uint32_t>(d[0] * d[2]),
                            [&](float* to, vireo_mcu_units u) { vireo_mcu_reduce_reals_run(&r, x.data(), to, u); });
    for (int32_t i = 0; i < d[0]; ++i) {
      for (int32_t k = 0; k < d[2]; ++k) {
        double sum = 0, most = -1e30, least = 1e30, product = 1, sizes = 0, squares = 0, exps = 0;
        for (int32_t j = 0; j < d[1]; ++j) {
          for (int32_t l = 0; l < d[3]; ++l) {
            const double v = static_cast<double>(x[at(((i * d[1] + j) * d[2] + k) * d[3] + l)]);
            sum += v, most = std::max(most, v), least = std::min(least, v), product *= v, sizes += std::abs(v);
            squares += v * v, exps += std::exp(v);
          }
        }
        const double wanted[] = {sum,     sum / (d[1] * d[3]), most,          least,         product, sizes,
                                 squares, std::sqrt(squares),  std::log(sum), std::log(exps)};
        ASSERT_NEAR(y[at(i * d[2] + k)], wanted[what], 1e-5 * std::max(1.0, sizes)) << what;
      }
    }
  }
  const vireo_mcu_reduce_reals most = {{1, 1, 1}, {0, 0, 0}, {1, 1, 3}, {0, 0, 1}, VIREO_MCU_MOST};
  const float with_nan[] = {1, NAN, 2}, lowest[] = {-kFar, -kFar, -kFar};
  float y = 0;
  vireo_mcu_reduce_reals_run(&most, with_nan, &y, kAll);
  EXPECT_TRUE(std::isnan(y));
  vireo_mcu_reduce_reals exps = most;
  exps.what = VIREO_MCU_LOG_OF_EXPS;
  vireo_mcu_reduce_reals_run(&exps, lowest, &y, kAll);
  EXPECT_EQ(y, -kFar);
}

TEST(McuReals, Norms) {
  for (int i = 0; i < 40; ++i) {
    const int32_t span = pick(1, 5), spans = pick(1, 6), period = pick(1, 3);
    const vireo_mcu_norm_reals n = {period * pick(1, 3), span * spans, period, spans, span, i % 2, 1e-3f};
    const std::vector<float> x = noise(int64_t{n.lines} * n.count), scale = noise(int64_t{period} * spans),
                             bias = noise(int64_t{period} * spans);
    const bool has_bias = i % 3 != 0;
    const auto y = in_both_ways<float>(x.size(), static_cast<uint32_t>(n.lines), [&](float* to, vireo_mcu_units u) {
      vireo_mcu_norm_reals_run(&n, x.data(), scale.data(), has_bias ? bias.data() : nullptr, to, u);
    });
    for (int32_t line = 0; line < n.lines; ++line) {
      double mean = 0, squares = 0;
      const auto v = [&](int32_t k) { return static_cast<double>(x[at(line * n.count + k)]); };
      for (int32_t k = 0; k < n.count; ++k) mean += n.centred != 0 ? v(k) / n.count : 0;
      for (int32_t k = 0; k < n.count; ++k) squares += (v(k) - mean) * (v(k) - mean) / n.count;
      for (int32_t k = 0; k < n.count; ++k) {
        const size_t which = at(line % period * spans + k / span);
        const double wanted = (v(k) - mean) / std::sqrt(squares + 1e-3) * static_cast<double>(scale[which]) +
                              (has_bias ? static_cast<double>(bias[which]) : 0);
        ASSERT_NEAR(y[at(line * n.count + k)], wanted, 1e-4);
      }
    }
  }
}

TEST(McuReals, Resampling) {
  for (int i = 0; i < 40; ++i) {
    const vireo_mcu_resample r = {pick(1, 3), pick(1, 7), pick(1, 5), pick(1, 4), pick(1, 4)};
    const std::vector<float> x = noise(int64_t{r.outer} * r.axis * r.inner), w = noise(int64_t{r.count} * r.taps);
    std::vector<int32_t> first(at(r.count));
    for (int32_t& f : first) f = i % 5 == 0 ? static_cast<int32_t>(numbers()) : pick(-3, r.axis + 1);
    const auto y = in_both_ways<float>(
        at(r.outer * r.count * r.inner), static_cast<uint32_t>(r.outer * r.count),
        [&](float* to, vireo_mcu_units u) { vireo_mcu_resample_run(&r, x.data(), first.data(), w.data(), to, u); });
    for (size_t k = 0; k < y.size(); ++k) {
      const auto in = static_cast<int32_t>(k) % r.inner, row = static_cast<int32_t>(k) / r.inner % r.count,
                 outer = static_cast<int32_t>(k) / r.inner / r.count;
      double wanted = 0;
      for (int32_t t = 0; t < r.taps; ++t) {
        const auto place = static_cast<int32_t>(std::clamp<int64_t>(int64_t{first[at(row)]} + t, 0, r.axis - 1));
        wanted += static_cast<double>(w[at(row * r.taps + t)]) *
                  static_cast<double>(x[at((outer * r.axis + place) * r.inner + in)]);
      }
      ASSERT_NEAR(y[k], wanted, 1e-5);
    }
  }
}

// One direction and batch item, in float64.
std::vector<double> cell_steps(const vireo_mcu_recurrent& r, const float* x, const float* w, const float* first_h,
                               const float* first_c, bool reversed, std::vector<double>* outputs) {
  const int32_t n = r.hidden, gates = vireo_mcu_recurrent_gates(&r);
  const float *const u = w + gates * n * r.inputs, *const bias = r.has_bias != 0 ? u + gates * n * n : nullptr;
  std::vector<double> h(at(n)), c(at(n));
  for (int32_t k = 0; k < n; ++k)
    h[at(k)] = first_h != nullptr ? first_h[k] : 0, c[at(k)] = first_c != nullptr ? first_c[k] : 0;
  const auto b = [&](int32_t i) { return bias != nullptr ? static_cast<double>(bias[i]) : 0.0; };
  const auto side = [&](int32_t row, const auto& v, const float* m, int32_t count) {
    double sum = 0;
    for (int32_t i = 0; i < count; ++i) sum += static_cast<double>(m[row * count + i]) * static_cast<double>(v[at(i)]);
    return sum;
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  outputs->assign(at(r.steps * n), 0);
  for (int32_t s = 0; s < r.steps; ++s) {
    const int32_t t = reversed ? r.steps - 1 - s : s;
    const std::vector<float> xt(x + t * r.x_step, x + t * r.x_step + r.inputs);
    std::vector<double> in(at(gates * n)), rec(at(gates * n)), next(at(n));
    for (int32_t g = 0; g < gates * n; ++g) {
      in[at(g)] = side(g, xt, w, r.inputs) + b(g);
      rec[at(g)] = side(g, h, u, n) + b(gates * n + g);
    }
    for (int32_t k = 0; k < n; ++k) {
      const auto sum = [&](int32_t g) { return in[at(g * n + k)] + rec[at(g * n + k)]; };
      if (r.cell == VIREO_MCU_RNN) {
        next[at(k)] = std::tanh(sum(0));
      } else if (r.cell == VIREO_MCU_LSTM) {
        c[at(k)] = sigmoid(sum(2)) * c[at(k)] + sigmoid(sum(0)) * std::tanh(sum(3));
        next[at(k)] = sigmoid(sum(1)) * std::tanh(c[at(k)]);
      } else {
        const double z = sigmoid(sum(0));
        double from = sigmoid(sum(1)) * rec[at(2 * n + k)];
        if (r.reset_last == 0) {
          std::vector<double> left(at(n));
          for (int32_t i = 0; i < n; ++i) left[at(i)] = sigmoid(in[at(n + i)] + rec[at(n + i)]) * h[at(i)];
          from = side(2 * n + k, left, u, n) + b(gates * n + 2 * n + k);
        }
        next[at(k)] = (1 - z) * std::tanh(in[at(2 * n + k)] + from) + z * h[at(k)];
      }
    }
    h = next;
    std::copy(h.begin(), h.end(), outputs->begin() + t * n);
  }
  std::vector<double> state = h;
  state.insert(state.end(), c.begin(), c.end());
  return state;
}

TEST(McuReals, RecurrentCells) {
  for (int i = 0; i < 60; ++i) {
    vireo_mcu_recurrent r = {};
    r.cell = i % 3, r.directions = pick(1, 2), r.batch = pick(1, 2), r.steps = pick(1, 4);
    r.inputs = pick(1, 9), r.hidden = pick(1, 9);
    const int32_t n = r.hidden, gates = vireo_mcu_recurrent_gates(&r);
    r.x_step = r.batch * r.inputs, r.x_batch = r.inputs;
    r.y_step = r.directions * r.batch * n, r.y_batch = n, r.y_direction = r.batch * n;
    r.state_batch = n, r.state_direction = r.batch * n;
    r.first_reversed = r.directions == 1 && pick(0, 1) != 0;
    r.has_bias = pick(0, 2) != 0, r.reset_last = pick(0, 1) != 0;
    const int32_t of_direction = gates * n * (r.inputs + n + (r.has_bias != 0 ? 2 : 0)),
                  states = r.directions * r.batch * n;
    const std::vector<float> x = noise(int64_t{r.steps} * r.batch * r.inputs),
                             w = noise(int64_t{r.directions} * of_direction), first_h = noise(states),
                             first_c = noise(states);
    const bool begins = pick(0, 1) != 0;
    std::vector<float> state(at(2 * states)), scratch(vireo_mcu_recurrent_scratch(&r) / 4);
    const auto y =
        in_both_ways<float>(at(r.steps * r.y_step), vireo_mcu_recurrent_units(&r), [&](float* to, vireo_mcu_units u) {
          vireo_mcu_recurrent_run(&r, x.data(), w.data(), begins ? first_h.data() : nullptr,
                                  begins ? first_c.data() : nullptr, to, state.data(), scratch.data(), u);
        });
    for (int32_t d = 0; d < r.directions; ++d) {
      for (int32_t b = 0; b < r.batch; ++b) {
        std::vector<double> outputs;
        const int32_t begin = d * r.state_direction + b * n;
        const auto last = cell_steps(
            r, x.data() + b * r.x_batch, w.data() + d * of_direction, begins ? first_h.data() + begin : nullptr,
            begins ? first_c.data() + begin : nullptr, d == 1 || r.first_reversed != 0, &outputs);
        for (int32_t k = 0; k < n; ++k) {
          ASSERT_NEAR(state[at(begin + k)], last[at(k)], 2e-5);
          if (r.cell == VIREO_MCU_LSTM) {
            ASSERT_NEAR(state[at(states + begin + k)], last[at(n + k)], 2e-5);
          }
          for (int32_t t = 0; t < r.steps; ++t)
            ASSERT_NEAR(y[at(t * r.y_step + d * r.y_direction + b * n + k)], outputs[at(t * n + k)], 2e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::more_test

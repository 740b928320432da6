// Float32 kernels for microcontrollers beside sums of float64: sizes around a tile, in place, in units.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/numbers_testing.h"

namespace vireo::reals_test {
namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();
constexpr vireo_mcu_units kAll = {0, VIREO_MCU_ALL_UNITS};
std::mt19937 numbers(48);

int32_t pick(int32_t low, int32_t high) { return mcu_testing::pick(numbers, low, high); }
std::vector<float> noise(int64_t count) { return mcu_testing::noise(numbers, count, 1); }
std::vector<float> packed(const std::vector<float>& w, int32_t rows, int32_t k) {
  std::vector<float> out;
  for (int32_t group = 0; group < rows; group += 4) {
    for (int32_t i = 0; i < k; ++i) {
      for (int32_t r = group; r < group + 4; ++r) out.push_back(r < rows ? w[static_cast<size_t>(r * k + i)] : 0);
    }
  }
  return out;
}

vireo_mcu_conv_reals any_conv(bool depthwise) {
  for (;;) {
    vireo_mcu_conv_reals c = {};
    c.batch = pick(1, 2);
    c.groups = depthwise ? pick(2, 5) : pick(1, 2);
    c.in_channels = depthwise ? 1 : pick(1, 9);
    c.out_channels = depthwise ? pick(1, 2) : pick(1, 9);
    const bool plain = pick(0, 1) == 0;
    for (int a = 0; a < 2; ++a) {
      c.in[a] = depthwise && pick(0, 7) == 0 ? pick(30, 50) : pick(1, 9);
      c.kernel[a] = plain ? (depthwise ? 3 : 1) : pick(1, 4);
      c.stride[a] = plain ? 1 : pick(1, 3);
      c.dilation[a] = plain ? 1 : pick(1, 2);
      c.pad[a] = plain ? c.kernel[a] / 2 : pick(0, 3);
      c.out[a] = (c.in[a] + 2 * c.pad[a] - (c.kernel[a] - 1) * c.dilation[a] - 1) / c.stride[a] + 1;
    }
    c.bounds = pick(0, 1) == 0 ? vireo_mcu_bounds{-kFar, kFar}
                               : vireo_mcu_bounds{pick(0, 1) == 0 ? 0.0f : -0.5f, pick(0, 1) == 0 ? kFar : 0.75f};
    if (c.out[0] >= 1 && c.out[1] >= 1) return c;
  }
}

double wanted(const vireo_mcu_conv_reals& c, const std::vector<float>& x, const std::vector<float>& w,
              const std::vector<float>& bias, int32_t n, int32_t channel, int32_t oy, int32_t ox) {
  const int32_t group = channel / c.out_channels, taps = c.kernel[0] * c.kernel[1];
  double sum = 0;
  for (int32_t i = 0; i < c.in_channels; ++i) {
    for (int32_t t = 0; t < taps; ++t) {
      const int32_t iy = oy * c.stride[0] - c.pad[0] + t / c.kernel[1] * c.dilation[0];
      const int32_t ix = ox * c.stride[1] - c.pad[1] + t % c.kernel[1] * c.dilation[1];
      if (iy < 0 || iy >= c.in[0] || ix < 0 || ix >= c.in[1]) continue;
      const int32_t plane = (n * c.groups + group) * c.in_channels + i;
      sum += double{x[static_cast<size_t>((plane * c.in[0] + iy) * c.in[1] + ix)]} *
             double{w[static_cast<size_t>((channel * c.in_channels + i) * taps + t)]};
    }
  }
  if (!bias.empty()) sum += double{bias[static_cast<size_t>(channel)]};
  return std::min(std::max(sum, double{c.bounds.low}), double{c.bounds.high});
}

void convolve(const vireo_mcu_conv_reals& c, bool depthwise, const float* x, const std::vector<float>& w,
              const std::vector<float>& bias, float* y, std::vector<uint64_t>* scratch, vireo_mcu_units units) {
  const float* const add = bias.empty() ? nullptr : bias.data();
  auto* const memory = reinterpret_cast<float*>(scratch->data());
  if (depthwise) {
    vireo_mcu_depthwise_reals_run(&c, x, w.data(), add, y, memory, units);
  } else {
    vireo_mcu_conv_reals_run(&c, x, w.data(), add, y, memory, units);
  }
}

void check_convolutions(bool depthwise) {
  int in_place = 0;
  for (int round = 0; round < 600; ++round) {
    const vireo_mcu_conv_reals c = any_conv(depthwise);
    const int32_t k = c.in_channels * c.kernel[0] * c.kernel[1], channels = c.groups * c.out_channels;
    const std::vector<float> x = noise(int64_t{c.batch} * c.groups * c.in_channels * c.in[0] * c.in[1]);
    const std::vector<float> w = noise(int64_t{channels} * k), bias = noise(pick(0, 1) * channels);
    std::vector<float> kept = w;
    if (!depthwise) {
      kept.clear();
      for (int32_t g = 0; g < c.groups; ++g) {
        const auto from = w.begin() + int64_t{g} * c.out_channels * k;
        const std::vector<float> group = packed({from, from + int64_t{c.out_channels} * k}, c.out_channels, k);
        kept.insert(kept.end(), group.begin(), group.end());
      }
    }
    std::vector<float> y(static_cast<size_t>(c.batch * channels * c.out[0] * c.out[1]), -7);
    const uint32_t bytes = depthwise ? vireo_mcu_depthwise_reals_scratch(&c) : vireo_mcu_conv_reals_scratch(&c);
    std::vector<uint64_t> scratch(bytes / 8 + 2, 0xA5A5A5A5A5A5A5A5u);
    convolve(c, depthwise, x.data(), kept, bias, y.data(), &scratch, kAll);
    EXPECT_EQ(scratch.back(), 0xA5A5A5A5A5A5A5A5u);
    size_t at = 0;
    for (int32_t n = 0; n < c.batch; ++n) {
      for (int32_t channel = 0; channel < channels; ++channel) {
        for (int32_t p = 0; p < c.out[0] * c.out[1]; ++p, ++at)
          ASSERT_NEAR(y[at], wanted(c, x, w, bias, n, channel, p / c.out[1], p % c.out[1]), 2e-5) << round << " " << at;
      }
    }
    // The same bits unit by unit, and in place.
    const uint32_t units = depthwise ? vireo_mcu_depthwise_reals_units(&c) : vireo_mcu_conv_reals_units(&c);
    std::vector<float> steps(y.size(), 9);
    for (uint32_t u = 0; u < units;) {
      const uint32_t to = std::min(units, u + static_cast<uint32_t>(pick(1, 3)));
      convolve(c, depthwise, x.data(), kept, bias, steps.data(), &scratch, {u, to});
      u = to;
    }
    ASSERT_EQ(std::memcmp(steps.data(), y.data(), y.size() * 4), 0) << round;
    if ((depthwise ? vireo_mcu_depthwise_reals_in_place(&c) : vireo_mcu_conv_reals_in_place(&c)) == 0) continue;
    ++in_place;
    std::vector<float> own = x;
    ASSERT_EQ(own.size(), y.size());
    convolve(c, depthwise, own.data(), kept, bias, own.data(), &scratch, kAll);
    ASSERT_EQ(std::memcmp(own.data(), y.data(), y.size() * 4), 0) << round;
  }
  EXPECT_GT(in_place, 5);
}

TEST(McuReals, Convolutions) { check_convolutions(false); }
TEST(McuReals, FiltersOverOnePlane) { check_convolutions(true); }

TEST(McuReals, MatrixProducts) {
  for (int round = 0; round < 300; ++round) {
    vireo_mcu_gemm_reals g = {pick(1, 9), pick(1, 9), pick(1, 20), {pick(0, 1) == 0 ? -kFar : -0.25f, kFar}};
    const std::vector<float> a = noise(int64_t{g.m} * g.k), b = noise(int64_t{g.n} * g.k), bias = noise(g.n);
    const bool add = pick(0, 1) == 0;
    std::vector<float> y(static_cast<size_t>(g.m * g.n)), scratch(static_cast<size_t>(4 * g.k));
    vireo_mcu_gemm_reals_run(&g, a.data(), packed(b, g.n, g.k).data(), add ? bias.data() : nullptr, y.data(),
                             scratch.data(), kAll);
    for (int32_t i = 0; i < g.m * g.n; ++i) {
      double sum = 0;
      for (int32_t k = 0; k < g.k; ++k)
        sum += double{a[static_cast<size_t>(i / g.n * g.k + k)]} * double{b[static_cast<size_t>(i % g.n * g.k + k)]};
      if (add) sum += double{bias[static_cast<size_t>(i % g.n)]};
      ASSERT_NEAR(y[static_cast<size_t>(i)], std::max(sum, double{g.bounds.low}), 1e-5);
    }
  }
}

TEST(McuReals, MatricesThatAreNotKnown) {
  for (int round = 0; round < 300; ++round) {
    vireo_mcu_matmul_reals g = {pick(1, 4), pick(1, 9), pick(1, 9), pick(1, 20), 0, 0};
    g.a_step = pick(0, 2) == 0 ? 0 : g.m * g.k;
    g.b_step = pick(0, 2) == 0 ? 0 : g.k * g.n;
    const std::vector<float> a = noise(int64_t{g.batch} * g.m * g.k), b = noise(int64_t{g.batch} * g.n * g.k);
    std::vector<float> y(static_cast<size_t>(g.batch * g.m * g.n)), steps(y.size());
    std::vector<float> scratch(vireo_mcu_matmul_reals_scratch(&g) / 4 + 1, 77);
    vireo_mcu_matmul_reals_run(&g, a.data(), b.data(), y.data(), scratch.data(), kAll);
    EXPECT_EQ(scratch.back(), 77);
    for (int32_t i = 0; i < g.batch * g.m * g.n; ++i) {
      const int32_t item = i / (g.m * g.n), row = i / g.n % g.m, column = i % g.n;
      double sum = 0;
      for (int32_t k = 0; k < g.k; ++k)
        sum += double{a[static_cast<size_t>(item * g.a_step + row * g.k + k)]} *
               double{b[static_cast<size_t>(item * g.b_step + k * g.n + column)]};
      ASSERT_NEAR(y[static_cast<size_t>(i)], sum, 1e-5) << round;
    }
    const uint32_t units = vireo_mcu_matmul_reals_units(&g);
    for (uint32_t u = 0; u < units;) {
      const uint32_t to = std::min(units, u + static_cast<uint32_t>(pick(1, 3)));
      vireo_mcu_matmul_reals_run(&g, a.data(), b.data(), steps.data(), scratch.data(), {u, to});
      u = to;
    }
    ASSERT_EQ(std::memcmp(steps.data(), y.data(), y.size() * 4), 0) << round;
  }
}

TEST(McuReals, Functions) {
  const auto of = [](int32_t what, float x, float a = 0, float b = 0) {
    const vireo_mcu_function f = {1, what, a, b};
    float y = 0;
    vireo_mcu_function_run(&f, &x, 1, &y);
    return y;
  };
  double most = 0, most_tanh = 0, most_sigmoid = 0;
  for (float x = -87; x < 88; x += 0.00131f) {
    const double e = std::exp(double{x});
    most = std::max(most, std::abs(vireo_mcu_exp(x) - e) / e);
    most_tanh = std::max(most_tanh, std::abs(of(VIREO_MCU_TANH, x) / std::tanh(double{x}) - 1));
    const double s = 1 / (1 + std::exp(-double{x}));
    if (x > -80) most_sigmoid = std::max(most_sigmoid, std::abs(of(VIREO_MCU_SIGMOID, x) / s - 1));
  }
  EXPECT_LT(most, 2.5e-7);  // 2 units of the last place
  EXPECT_LT(most_tanh, 4e-7);
  EXPECT_LT(most_sigmoid, 5e-7);
  EXPECT_EQ(vireo_mcu_exp(0), 1);
  EXPECT_EQ(vireo_mcu_exp(-kFar), 0);
  EXPECT_EQ(vireo_mcu_exp(-200), 0);
  EXPECT_EQ(vireo_mcu_exp(kFar), kFar);
  EXPECT_EQ(vireo_mcu_exp(89), kFar);
  EXPECT_NEAR(vireo_mcu_exp(88.7f) / std::exp(88.7), 1, 1e-5);  // 88.7 as a float32 is another number
  EXPECT_EQ(of(VIREO_MCU_TANH, 40), 1);
  EXPECT_EQ(of(VIREO_MCU_TANH, -kFar), -1);
  EXPECT_EQ(of(VIREO_MCU_SIGMOID, -kFar), 0);
  for (const int32_t what : {VIREO_MCU_CLIP, VIREO_MCU_LEAKY_RELU, VIREO_MCU_SIGMOID, VIREO_MCU_TANH, VIREO_MCU_EXP,
                             VIREO_MCU_HARD_SWISH, VIREO_MCU_ELU, VIREO_MCU_ABSOLUTE, VIREO_MCU_SQRT})
    EXPECT_TRUE(std::isnan(of(what, NAN, 1, 2))) << what;
  EXPECT_EQ(of(VIREO_MCU_CLIP, -3, -1, 2), -1);
  EXPECT_EQ(of(VIREO_MCU_CLIP, 3, -1, 2), 2);
  EXPECT_EQ(of(VIREO_MCU_LEAKY_RELU, -3, 0.5f), -1.5f);
  EXPECT_EQ(of(VIREO_MCU_HARD_SIGMOID, 1, 0.25f, 0.5f), 0.75f);
  EXPECT_EQ(of(VIREO_MCU_HARD_SWISH, 2, 0.25f, 0.25f), 1.5f);
  EXPECT_NEAR(of(VIREO_MCU_SWISH, 2, 1.5f), 2 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_NEAR(of(VIREO_MCU_ELU, -1, 2), 2 * (std::exp(-1.0) - 1), 1e-6);
  EXPECT_EQ(of(VIREO_MCU_NEGATE, 2), -2);
  EXPECT_EQ(of(VIREO_MCU_ABSOLUTE, -2), 2);
  EXPECT_EQ(of(VIREO_MCU_SQRT, 2.25f), 1.5f);
  EXPECT_TRUE(std::isnan(of(VIREO_MCU_SQRT, -1)));
}

TEST(McuReals, RootsAreRoundedCorrectly) {
  for (int i = 0; i < 2000000; ++i) {
    const uint32_t bits = i < 100000 ? static_cast<uint32_t>(i) * 97 : (numbers() & 0x7FFFFFFF) % 0x7F800001u;
    float x, root;
    std::memcpy(&x, &bits, 4);
    const uint32_t got = vireo_mcu_root_of_bits(bits);
    std::memcpy(&root, &got, 4);
    ASSERT_EQ(root, std::sqrt(x)) << bits;
  }
}

TEST(McuReals, PoolsAndSoftmax) {
  const std::vector<float> x = {1, -2, 3, 4, NAN, 6, 7, -8, 9};
  const vireo_mcu_pool_reals p = {1, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0};
  std::vector<float> y(4);
  vireo_mcu_max_reals(&p, x.data(), y.data(), kAll);
  for (const float v : y) EXPECT_TRUE(std::isnan(v));
  const std::vector<float> plain = {1, -2, 3, 4, 5, 6, 7, -8, 9};
  vireo_mcu_max_reals(&p, plain.data(), y.data(), kAll);
  EXPECT_EQ(y, (std::vector<float>{5, 6, 7, 9}));
  vireo_mcu_pool_reals padded = {1, {3, 3}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, 0};
  vireo_mcu_average_reals(&padded, plain.data(), y.data(), kAll);
  EXPECT_EQ(y, (std::vector<float>{1, 0.5f, 5.5f, 3}));
  padded.count_padding = 1;
  vireo_mcu_average_reals(&padded, plain.data(), y.data(), kAll);
  EXPECT_EQ(y, (std::vector<float>{0.25f, 0.25f, 2.75f, 3}));
  const vireo_mcu_softmax_reals s = {1, 3, 2};
  std::vector<float> z = {1, 100, 2, 100, 3, -kFar};
  vireo_mcu_softmax_reals_run(&s, z.data(), z.data());
  const double all = 1 + std::exp(-1.0) + std::exp(-2.0);
  EXPECT_NEAR(z[0], std::exp(-2.0) / all, 1e-7);
  EXPECT_NEAR(z[2], std::exp(-1.0) / all, 1e-7);
  EXPECT_NEAR(z[4], 1 / all, 1e-7);
  EXPECT_EQ(z[1], 0.5f);
  EXPECT_EQ(z[5], 0);
}

}  // namespace
}  // namespace vireo::reals_test

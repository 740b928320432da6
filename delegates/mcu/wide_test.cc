// Kernels of 16-bit codes beside exact sums and the float32 formula (sdk/ops/INTEGER.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/numbers_testing.h"

namespace vireo::wide_test {
namespace {

constexpr vireo_mcu_units kAll = {0, VIREO_MCU_ALL_UNITS};
std::mt19937 numbers(16);

int32_t pick(int32_t low, int32_t high) { return mcu_testing::pick(numbers, low, high); }
int32_t least(uint8_t type) { return type == VIREO_MCU_I8 ? -128 : type == VIREO_MCU_I16 ? -32768 : 0; }
int32_t span(uint8_t type) { return type >= VIREO_MCU_I16 ? 65535 : 255; }
int32_t any_code(uint8_t type) {
  const int32_t end = pick(0, 5);
  return least(type) + (end == 0 ? 0 : end == 1 ? span(type) : pick(0, span(type)));
}

// Codes of any type, in memory of whole words.
struct Codes {
  Codes(int64_t n, uint8_t t) : type(t), words(static_cast<size_t>(n) / 2 + 2) {}
  int32_t at(int64_t i) const { return mcu_code_at(words.data(), static_cast<int32_t>(i), type); }
  void fill(int64_t n) {
    for (int64_t i = 0; i < n; ++i) mcu_put_code(words.data(), static_cast<int32_t>(i), type, any_code(type));
  }
  uint8_t type;
  std::vector<uint32_t> words;
};

vireo_mcu_codes any_codes(uint8_t type) {
  vireo_mcu_codes c = {any_code(type), least(type), least(type) + span(type)};
  if (pick(0, 1) == 0) c.low += pick(0, span(type) / 3), c.high -= pick(0, span(type) / 3);
  return c;
}

// The formula in float32, of any sum.
int32_t wanted(int64_t sum, float m, const vireo_mcu_codes& c) {
  const float v = static_cast<float>(sum) * m;
  const double r = std::nearbyint(static_cast<double>(v)) + c.zero;
  return static_cast<int32_t>(std::min(std::max(r, static_cast<double>(c.low)), static_cast<double>(c.high)));
}

TEST(McuWide, LastStep) {
  for (int i = 0; i < 2000000; ++i) {
    const uint64_t r = uint64_t{numbers()} << 32 | numbers();
    const int64_t sum = static_cast<int64_t>(r) >> pick(14, 60);
    const float m = std::ldexp(1.0f + static_cast<float>(numbers() >> 9) / (1 << 23), pick(-45, 2));
    const vireo_mcu_codes c = any_codes(static_cast<uint8_t>(pick(0, 3)));
    ASSERT_EQ(vireo_mcu_requantize_wide(sum, m, &c), wanted(sum, m, c)) << sum << " * " << m;
    // The way of cores without a floating-point unit.
    const int32_t scaled = vireo_mcu_scale(sum, mcu_bits(m)) + c.zero;
    ASSERT_EQ(std::min(std::max(scaled, c.low), c.high), wanted(sum, m, c)) << sum << " * " << m;
  }
}

struct Case {
  std::vector<int8_t> w, w_zero;
  std::vector<int32_t> bias;
  std::vector<float> m;
};
template <class Parameters>
Case any_case(int32_t channels, int32_t k, Parameters* p, uint8_t* one_w_zero) {
  Case c;
  for (int64_t i = 0; i < int64_t{channels} * k; ++i)
    c.w.push_back(static_cast<int8_t>(pick(0, 9) == 0 ? -128 : pick(-128, 127)));
  p->one_multiplier = static_cast<uint8_t>(pick(0, 1));
  *one_w_zero = static_cast<uint8_t>(pick(0, 1));
  const int32_t far = pick(0, 3) == 0 ? 2000000000 : 100000;
  for (int32_t i = 0; i < channels; ++i) {
    c.bias.push_back(pick(-far, far));
    c.m.push_back(std::ldexp(1.0f + static_cast<float>(numbers() >> 9) / (1 << 23), -pick(4, 16)) /
                  std::sqrt(static_cast<float>(k)));
    c.w_zero.push_back(static_cast<int8_t>(pick(-128, 127)));
  }
  if (pick(0, 1) == 0) c.bias.clear();
  if (pick(0, 1) == 0) c.w_zero.clear();
  return c;
}

TEST(McuWide, Convolutions) {
  int in_place = 0;
  for (int round = 0; round < 1200; ++round) {
    vireo_mcu_conv_wide c = {};
    c.batch = pick(1, 2);
    const bool slides = pick(0, 1) == 0;
    c.groups = slides ? pick(1, 5) : pick(1, 2);
    c.in_channels = slides ? 1 : pick(0, 4) == 0 ? pick(60, 70) : pick(1, 9);
    c.out_channels = slides ? 1 : pick(1, 7);
    const bool plain = pick(0, 1) == 0;
    for (int a = 0; a < 2; ++a) {
      c.in[a] = pick(1, 9);
      c.kernel[a] = plain ? (slides ? 3 : 1) : pick(1, 3);
      c.stride[a] = plain ? 1 : pick(1, 2);
      c.dilation[a] = plain ? 1 : pick(1, 2);
      c.pad[a] = plain ? c.kernel[a] / 2 : pick(0, 2);
      c.out[a] = (c.in[a] + 2 * c.pad[a] - (c.kernel[a] - 1) * c.dilation[a] - 1) / c.stride[a] + 1;
    }
    if (c.out[0] < 1 || c.out[1] < 1 || c.in[0] + 2 * c.pad[0] < (c.kernel[0] - 1) * c.dilation[0] + 1 ||
        c.in[1] + 2 * c.pad[1] < (c.kernel[1] - 1) * c.dilation[1] + 1)
      continue;
    c.x_type = static_cast<uint8_t>(pick(0, 3));
    c.y_type = static_cast<uint8_t>(pick(0, 3));
    c.x_zero = pick(0, 1) == 0 && c.x_type == VIREO_MCU_I16 ? 0 : any_code(c.x_type);
    c.codes = any_codes(c.y_type);
    const int32_t taps = c.kernel[0] * c.kernel[1], k = c.in_channels * taps, channels = c.groups * c.out_channels;
    const Case v = any_case(channels, k, &c, &c.one_w_zero);
    Codes x(int64_t{c.batch} * c.groups * c.in_channels * c.in[0] * c.in[1], c.x_type);
    x.fill(int64_t{c.batch} * c.groups * c.in_channels * c.in[0] * c.in[1]);
    const int32_t outputs = c.batch * channels * c.out[0] * c.out[1];
    Codes y(outputs, c.y_type), steps(outputs, c.y_type);
    std::vector<uint64_t> scratch(vireo_mcu_conv_wide_scratch(&c) / 8 + 2, 0xA5A5A5A5A5A5A5A5u);
    const auto run = [&](const void* from, void* to, vireo_mcu_units units) {
      vireo_mcu_conv_wide_run(&c, from, v.w.data(), v.m.data(), v.bias.empty() ? nullptr : v.bias.data(),
                              v.w_zero.empty() ? nullptr : v.w_zero.data(), to, scratch.data(), units);
    };
    run(x.words.data(), y.words.data(), kAll);
    ASSERT_EQ(scratch.back(), 0xA5A5A5A5A5A5A5A5u);
    for (int32_t i = 0; i < outputs; ++i) {
      const int32_t p = i % (c.out[0] * c.out[1]), plane = i / (c.out[0] * c.out[1]), channel = plane % channels;
      const int32_t group = plane / channels * c.groups + channel / c.out_channels;
      int64_t sum = v.bias.empty() ? 0 : v.bias[static_cast<size_t>(channel)];
      for (int32_t n = 0; n < k; ++n) {
        const int32_t iy = p / c.out[1] * c.stride[0] - c.pad[0] + n % taps / c.kernel[1] * c.dilation[0];
        const int32_t ix = p % c.out[1] * c.stride[1] - c.pad[1] + n % taps % c.kernel[1] * c.dilation[1];
        if (iy < 0 || iy >= c.in[0] || ix < 0 || ix >= c.in[1]) continue;
        const int32_t code = x.at(((int64_t{group} * c.in_channels + n / taps) * c.in[0] + iy) * c.in[1] + ix);
        const int32_t zero = v.w_zero.empty() ? 0 : v.w_zero[c.one_w_zero ? 0 : static_cast<size_t>(channel)];
        sum += int64_t{code - c.x_zero} * (v.w[static_cast<size_t>(channel * k + n)] - zero);
      }
      ASSERT_EQ(y.at(i), wanted(sum, v.m[c.one_multiplier ? 0 : static_cast<size_t>(channel)], c.codes))
          << round << " " << i;
    }
    const uint32_t units = vireo_mcu_conv_wide_units(&c);
    for (uint32_t u = 0; u < units;) {
      const uint32_t to = std::min(units, u + static_cast<uint32_t>(pick(1, 3)));
      run(x.words.data(), steps.words.data(), {u, to});
      u = to;
    }
    for (int32_t i = 0; i < outputs; ++i) ASSERT_EQ(steps.at(i), y.at(i)) << round << " " << i;
    if (vireo_mcu_conv_wide_in_place(&c) == 0) continue;
    ++in_place;
    Codes own = x;
    run(own.words.data(), own.words.data(), kAll);
    own.type = c.y_type;
    for (int32_t i = 0; i < outputs; ++i) ASSERT_EQ(own.at(i), y.at(i)) << round << " " << i;
  }
  EXPECT_GT(in_place, 20);
}

TEST(McuWide, MatrixProducts) {
  for (int round = 0; round < 400; ++round) {
    vireo_mcu_gemm_wide g = {};
    g.m = pick(1, 9), g.n = pick(1, 9), g.k = pick(0, 3) == 0 ? pick(250, 1100) : pick(1, 30);
    g.a_type = static_cast<uint8_t>(pick(0, 3));
    g.y_type = static_cast<uint8_t>(pick(0, 3));
    g.a_zero = any_code(g.a_type);
    g.codes = any_codes(g.y_type);
    const Case v = any_case(g.n, g.k, &g, &g.one_b_zero);
    Codes a(int64_t{g.m} * g.k, g.a_type), y(int64_t{g.m} * g.n, g.y_type);
    a.fill(int64_t{g.m} * g.k);
    std::vector<uint64_t> scratch(vireo_mcu_gemm_wide_scratch(&g) / 8 + 1);
    vireo_mcu_gemm_wide_run(&g, a.words.data(), v.w.data(), v.m.data(), v.bias.empty() ? nullptr : v.bias.data(),
                            v.w_zero.empty() ? nullptr : v.w_zero.data(), y.words.data(), scratch.data(), kAll);
    for (int32_t i = 0; i < g.m * g.n; ++i) {
      const auto n = static_cast<size_t>(i % g.n);
      int64_t sum = v.bias.empty() ? 0 : v.bias[n];
      for (int32_t k = 0; k < g.k; ++k) {
        const int32_t zero = v.w_zero.empty() ? 0 : v.w_zero[g.one_b_zero ? 0 : n];
        sum += int64_t{a.at(i / g.n * g.k + k) - g.a_zero} * (v.w[static_cast<size_t>(k * g.n) + n] - zero);
      }
      ASSERT_EQ(y.at(i), wanted(sum, v.m[g.one_multiplier ? 0 : n], g.codes)) << round << " " << i;
    }
  }
}

TEST(McuWide, ElementByElement) {
  for (int round = 0; round < 400; ++round) {
    vireo_mcu_binary_wide f = {};
    f.rows = pick(1, 4), f.columns = pick(1, 20);
    f.a_row = f.columns, f.a_step = 1, f.b_row = pick(0, 1), f.b_step = pick(0, 1);
    f.a_type = static_cast<uint8_t>(pick(0, 3)), f.b_type = static_cast<uint8_t>(pick(0, 3));
    f.y_type = static_cast<uint8_t>(pick(0, 3)), f.times = static_cast<uint8_t>(pick(0, 1));
    f.a_zero = any_code(f.a_type), f.b_zero = any_code(f.b_type);
    f.codes = any_codes(f.y_type);
    f.a_multiplier = std::ldexp(1.3f, -pick(0, 20)), f.b_multiplier = std::ldexp(-1.7f, -pick(0, 12));
    Codes a(100, f.a_type), b(100, f.b_type), y(100, f.y_type);
    a.fill(100), b.fill(100);
    vireo_mcu_binary_wide_run(&f, a.words.data(), b.words.data(), y.words.data(), kAll);
    for (int32_t i = 0; i < f.rows * f.columns; ++i) {
      const int32_t r = i / f.columns, n = i % f.columns;
      const int32_t u = a.at(r * f.a_row + n) - f.a_zero, v = b.at(r * f.b_row + n * f.b_step) - f.b_zero;
      const float s = static_cast<float>(u) * f.a_multiplier, t = static_cast<float>(v) * f.b_multiplier;
      ASSERT_EQ(y.at(i), f.times != 0
                             ? wanted(int64_t{u} * v, f.a_multiplier, f.codes)
                             : std::min(std::max(static_cast<int32_t>(std::nearbyint(std::clamp(s + t, -1e6f, 1e6f))) +
                                                     f.codes.zero,
                                                 f.codes.low),
                                        f.codes.high))
          << round << " " << i;
    }
    const vireo_mcu_quantize_wide q = {50, 0.01f, any_codes(VIREO_MCU_U16), VIREO_MCU_U16, {}};
    std::vector<float> reals(50), back(50);
    for (float& v : reals) v = static_cast<float>(pick(-900000, 900000)) / 700;
    reals[3] = NAN, reals[4] = INFINITY, reals[5] = -INFINITY;
    Codes codes(50, VIREO_MCU_U16);
    vireo_mcu_quantize_wide_run(&q, reals.data(), 0, 50, codes.words.data());
    vireo_mcu_dequantize_wide_run(&q, codes.words.data(), 0, 50, back.data());
    for (int32_t i = 0; i < 50; ++i) {
      const float v = reals[static_cast<size_t>(i)];
      const double r = std::nearbyint(static_cast<double>(v / q.scale)) + q.codes.zero;
      const double code =
          std::isnan(v) ? q.codes.low
                        : std::min(std::max(r, static_cast<double>(q.codes.low)), static_cast<double>(q.codes.high));
      ASSERT_EQ(codes.at(i), static_cast<int32_t>(code)) << v;
      ASSERT_EQ(back[static_cast<size_t>(i)], static_cast<float>(codes.at(i) - q.codes.zero) * q.scale);
    }
    vireo_mcu_pool_wide p = {2, {4, 5}, {2, 3}, {3, 2}, {2, 2}, {1, 1}, {1, 0}, {0, 1}, 0, {}, 0, 0, 0, 0};
    p.x_type = f.a_type, p.y_type = f.y_type, p.x_zero = f.a_zero, p.codes = f.codes;
    p.count_padding = static_cast<uint8_t>(pick(0, 1));
    std::vector<float> m(7);
    for (size_t n = 1; n < 7; ++n) m[n] = 0.37f / static_cast<float>(n);
    vireo_mcu_average_wide(&p, a.words.data(), m.data(), y.words.data(), kAll);
    for (int32_t i = 0; i < 12; ++i) {
      int64_t sum = 0;
      size_t inside = 0;
      for (int32_t t = 0; t < 6; ++t) {
        const int32_t iy = i % 6 / 3 * 2 - 1 + t / 2, ix = i % 3 * 2 + t % 2;
        if (iy < 0 || iy >= 4 || ix >= 5) continue;
        sum += a.at(i / 6 * 20 + iy * 5 + ix) - p.x_zero;
        ++inside;
      }
      ASSERT_EQ(y.at(i), wanted(sum, m[p.count_padding != 0 ? 6 : inside], p.codes)) << round << " " << i;
    }
  }
}

}  // namespace
}  // namespace vireo::wide_test

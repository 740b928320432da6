#include "delegates/cpu/kernels/intgemm/intgemm.h"

#include <stdio.h>
#include <string.h>

#include "delegates/cpu/kernels/bytes_testing.h"
#include "delegates/cpu/kernels/intgemm/product.h"
#include "delegates/cpu/kernels/intgemm/tiles_testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::fill;
using testing::for_each_level;
using testing::Guarded;
using testing::kPlainTiles;
using testing::value;

// Products of columns and rows in plain C++: not every emulator of SME multiplies bytes rightly.
void plain_outer(const OuterProduct& p, bool a_signed) {
  for (int64_t i = 0; i < p.rows; ++i) {
    for (int64_t j = 0; j < p.columns; ++j) {
      uint32_t sum = 0;
      const auto* a = static_cast<const uint8_t*>(p.a) + 4 * i;
      const auto* b = static_cast<const uint8_t*>(p.b) + j / p.panel * p.panel_step + j % p.panel * 4;
      for (int64_t k = 0; k < p.k; ++k, a += p.a_step, b += p.b_step) {
        for (int e = 0; e < 4; ++e) {
          const int x = a_signed ? static_cast<int8_t>(a[e]) : a[e], y = a_signed ? b[e] : static_cast<int8_t>(b[e]);
          sum += static_cast<uint32_t>(x * y);
        }
      }
      memcpy(static_cast<char*>(p.c) + i * p.c_step + 4 * j, &sum, sizeof(sum));
    }
  }
}

void check_gemm(int64_t m, int64_t n, int64_t k, bool trans_b, int signs, bool per_lane_zeros, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << " tB " << trans_b << " signs " << signs);
  GemmI8 s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.lda = k;
  s.ldb = trans_b ? k : n;
  s.ldc = n;
  s.trans_b = trans_b;
  s.a_signed = (signs & 1) != 0;
  s.b_signed = (signs & 2) != 0;
  Bytes a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k)), a_zero(static_cast<size_t>(m)),
      b_zero(static_cast<size_t>(n));
  fill(a, 1);
  fill(b, 2);
  fill(a_zero, 3);
  fill(b_zero, 4);
  s.a_zero = a_zero.data();
  s.b_zero = b_zero.data();
  s.a_zero_per_row = s.b_zero_per_column = per_lane_zeros;
  std::vector<int32_t> wanted(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int32_t& sum = wanted[static_cast<size_t>(i * n + j)];
      const int az = value(a_zero, s.a_signed, per_lane_zeros ? static_cast<size_t>(i) : 0);
      const int bz = value(b_zero, s.b_signed, per_lane_zeros ? static_cast<size_t>(j) : 0);
      for (int64_t p = 0; p < k; ++p) {
        sum += (value(a, s.a_signed, static_cast<size_t>(i * k + p)) - az) *
               (value(b, s.b_signed, static_cast<size_t>(trans_b ? j * k + p : p * n + j)) - bz);
      }
    }
  }
  testing::Threads threads(slots);
  Bytes packed(gemm_i8_packed_bytes(s));
  pack_gemm_i8(s, b.data(), threads.parallel(), packed.data());
  std::vector<int32_t> bias(static_cast<size_t>(n));
  std::vector<float> multiplier(static_cast<size_t>(n));
  for (size_t j = 0; j < bias.size(); ++j) {
    bias[j] = static_cast<int32_t>(j) * 37 - 500;
    multiplier[j] = 0.003f / static_cast<float>(1 + j % 5);
  }
  Requantize q;
  q.bias = bias.data();
  q.multiplier = multiplier.data();
  q.bias_per_column = q.multiplier_per_column = true;
  q.zero_point = 7;
  q.is_signed = true;
  q.low = -100;
  q.high = 120;
  std::vector<float> later(static_cast<size_t>(n)), shift(static_cast<size_t>(n));
  for (size_t j = 0; j < later.size(); ++j) {
    later[j] = 0.7f + 0.01f * static_cast<float>(j % 7);
    shift[j] = 3.1f - static_cast<float>(j % 11);
  }
  RealStep real;
  real.factor = multiplier.data();
  real.factor_per_column = (m + k) % 2 == 0;
  real.later = n % 3 == 0 ? nullptr : later.data();
  real.later_per_column = m % 2 == 0;
  real.bias = n % 3 == 1 ? nullptr : shift.data();
  real.bias_per_column = k % 2 == 0;
  const auto real_of = [&](int32_t sum, size_t j) {
    volatile float y = static_cast<float>(sum);  // each operation rounds once
    y = y * multiplier[real.factor_per_column ? j : 0];
    if (real.later != nullptr) y = y * later[real.later_per_column ? j : 0];
    if (real.bias != nullptr) y = y + shift[real.bias_per_column ? j : 0];
    return static_cast<float>(y);
  };
  for (int way = 0; way < 12; ++way) {
    SCOPED_TRACE(::testing::Message() << "way " << way);
    s.packed = (way & 1) != 0 ? packed.data() : nullptr;
    s.finish = (way & 4) != 0 ? &q : nullptr;
    s.real = (way & 8) != 0 ? &real : nullptr;
    testing::Scratch scratch(gemm_i8_scratch_bytes(s, s.finish != nullptr, slots));
    Guarded<int32_t> c(s.finish != nullptr ? 0 : static_cast<size_t>(m * n));
    Bytes codes(s.finish != nullptr ? static_cast<size_t>(m * n) : 0);
    void* const to = s.finish != nullptr ? static_cast<void*>(codes.data()) : c.data();
    IntProduct p = int_product_of(s, a.data(), s.packed == nullptr ? b.data() : nullptr, to);
    if ((way & 2) != 0) {
      p.tiles = p.tiles == nullptr ? &kPlainTiles : nullptr;  // what this machine does not do by itself
      p.outer = p.outer == nullptr && sme_words() != 0 ? plain_outer : nullptr;
    }
    run_int_product(p, threads.parallel(), scratch.data());
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (s.real != nullptr) {
        const float y = real_of(wanted[i], i % static_cast<size_t>(n));
        ASSERT_EQ(memcmp(&c[i], &y, sizeof(y)), 0) << i / static_cast<size_t>(n) << ", " << i % static_cast<size_t>(n);
        continue;
      }
      if (s.finish == nullptr) {
        ASSERT_EQ(c[i], wanted[i]) << i / static_cast<size_t>(n) << ", " << i % static_cast<size_t>(n);
        continue;
      }
      const size_t j = i % static_cast<size_t>(n);
      ASSERT_EQ(static_cast<int8_t>(codes[i]), requantize(wanted[i] + bias[j], multiplier[j], 7, -100, 120)) << i;
    }
  }
}

TEST(IntGemm, ExactAroundTheTile) {
  for_each_level([](const char*) {
    for (int64_t m : {1, 7, 8, 9, 17}) {
      for (int64_t n : {1, 7, 8, 16, 31, 32, 33, 65}) {
        for (int64_t k : {1, 2, 3, 16, 33}) {
          for (int signs = 0; signs < 4; ++signs) {
            if (testing::in_sample(m + n + k + signs)) check_gemm(m, n, k, k % 2 == 1, signs, (m + n) % 2 == 0, 1);
          }
        }
      }
    }
    for (const int32_t slots : testing::thread_counts()) {
      check_gemm(50, 300, 1100, false, 1, true, slots);
      check_gemm(100, 40, 513, true, 2, false, slots);
      check_gemm(1, 200, 1100, true, 2, slots == 1, slots);
      check_gemm(1, 70, 4100, false, 1, false, slots);
      check_gemm(4, 5, 0, false, 0, false, slots);
      check_gemm(1, 5, 0, false, 0, false, slots);
      check_gemm(3, 20, 4100, false, 3, slots == 1, slots);
      check_gemm(17, 50, 4163, true, 2, slots == 1, slots);
      check_gemm(250, 70, 21, false, 2, slots == 1, slots);
      check_gemm(20, 130, 261, false, 2, slots == 1, slots);
      for (int64_t m : {2, 3, 4, 5, 6, 7})
        check_gemm(m, 16 * m + 1, 101, m % 2 == 0, static_cast<int>(m % 4), m > 4, slots);
      check_gemm(47, 33, 4096, false, 1, slots != 1, slots);
    }
  });
}

TEST(IntGemm, ExactAroundMatrixTiles) {
  printf("matrix tiles of this machine: %s; outer products: %s\n",
         int_tiles() != nullptr ? "used, and compared with vectors" : "none",
         int_outer() != nullptr ? "used, and compared with vectors"
         : sme_words() != 0     ? "in plain C++ (bytes are not multiplied rightly here)"
                                : "none");
  for_each_level([](const char*) {
    for (int64_t m : {15, 16, 31, 32, 33, 50}) {
      for (int64_t n : {1, 16, 48, 64, 79, 130}) {
        for (int64_t k : {63, 64, 65, 128, 131})
          check_gemm(m, n, k, k % 2 == 1, static_cast<int>(m + n + k) % 4, n == 79, 1);
      }
    }
  });
}

TEST(IntGemm, WithoutZeroPoints) {
  for_each_level([](const char*) {
    GemmI8 s;
    s.m = 1;
    s.n = 2;
    s.k = 300;
    s.lda = 300;
    s.ldb = s.ldc = 2;
    std::vector<uint8_t> a(300, 255), b(600, 255);
    int32_t c[2];
    testing::Scratch scratch(gemm_i8_scratch_bytes(s, false, 1));
    gemm_i8(s, a.data(), b.data(), c, Parallel{}, scratch.data());
    EXPECT_EQ(c[0], 300 * 255 * 255);
    EXPECT_EQ(c[1], 300 * 255 * 255);
  });
}

TEST(IntConv, NothingToSum) {
  for_each_level([](const char*) {
    for (const int64_t kernel : {1, 3}) {
      ConvI8 c;
      c.shape.in_channels = 0;
      c.shape.out_channels = 20;
      for (int i = 1; i < 3; ++i) {
        c.shape.in[i] = c.shape.out[i] = 5;
        c.shape.kernel[i] = kernel;
        c.shape.pad[i] = kernel / 2;
      }
      std::vector<int32_t> y(20 * 25, 7);
      testing::Scratch scratch(conv_i8_scratch_bytes(c, false, 1));
      conv_i8(c, nullptr, nullptr, y.data(), {}, scratch.data());
      for (const int32_t v : y) ASSERT_EQ(v, 0);
    }
  });
}

// Filters of two channels each at their bound, of one in a run.
TEST(IntConv, ScratchHoldsDepthwiseFiltersBelowTheBounds) {
  ConvI8 most;
  ConvF32& z = most.shape;
  z.in_channels = 32;
  z.out_channels = z.groups = 16;
  for (int i = 1; i < 3; ++i) {
    z.in[i] = z.out[i] = 600;
    z.kernel[i] = 3;
    z.pad[i] = 1;
  }
  ConvI8 less = most;
  less.shape.in_channels = 16;
  for (const bool requantized : {false, true})
    EXPECT_GE(conv_i8_scratch_bytes(most, requantized, 2), conv_i8_scratch_bytes(less, requantized, 2));
}

TEST(IntConv, ExactWithPaddingAndGroups) {
  for_each_level([](const char*) {
    for (int32_t slots : {1, 3}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t groups : {1, 2, 6}) {
          ConvI8 s;
          ConvF32& z = s.shape;
          z.n = 2;
          z.in_channels = 6;
          z.out_channels = 12;
          z.groups = groups;
          z.in[1] = 9;
          z.in[2] = 37;
          for (int i = 1; i < 3; ++i) {
            z.kernel[i] = 3;
            z.stride[i] = stride;
            z.pad[i] = 1;
            z.out[i] = (z.in[i] + 2 - 3) / stride + 1;
          }
          s.w_signed = true;
          s.w_zero_per_channel = true;
          const int64_t depth = 6 / groups, taps = 9, area = z.out[1] * z.out[2], in_area = 9 * 37;
          Bytes x(static_cast<size_t>(2 * 6 * in_area)), w(static_cast<size_t>(12 * depth * taps)), x_zero(1),
              w_zero(12);
          fill(x, 1);
          fill(w, 2);
          fill(x_zero, 3);
          fill(w_zero, 4);
          s.x_zero = x_zero.data();
          s.w_zero = w_zero.data();
          Guarded<int32_t> y(static_cast<size_t>(2 * 12 * area));
          testing::Scratch scratch(conv_i8_scratch_bytes(s, false, slots));
          testing::Threads threads(slots);
          conv_i8(s, x.data(), w.data(), y.data(), threads.parallel(), scratch.data());
          for (int64_t p = 0; p < 24; ++p) {
            const int64_t o = p % 12, g = o / (12 / groups);
            for (int64_t at = 0; at < area; ++at) {
              int32_t sum = 0;
              for (int64_t c = 0; c < depth; ++c) {
                for (int64_t t = 0; t < taps; ++t) {
                  const int64_t iy = at / z.out[2] * stride - 1 + t / 3, ix = at % z.out[2] * stride - 1 + t % 3;
                  if (iy < 0 || iy >= 9 || ix < 0 || ix >= 37) continue;
                  const size_t from = static_cast<size_t>(((p / 12 * 6 + g * depth + c) * 9 + iy) * 37 + ix);
                  sum += (x[from] - x_zero[0]) * (value(w, true, static_cast<size_t>((o * depth + c) * taps + t)) -
                                                  value(w_zero, true, static_cast<size_t>(o)));
                }
              }
              ASSERT_EQ(y[static_cast<size_t>(p * area + at)], sum) << p << " at " << at;
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

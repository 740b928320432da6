#include "delegates/cpu/kernels/gemm_codes/gemm_codes.h"

#include <stdio.h>

#include <cmath>

#include "delegates/cpu/kernels/product_testing.h"

namespace vireo::cpu {
namespace {

using testing::Expected;
using testing::expected_once;
using testing::Floats;
using testing::for_each_level;
using testing::Guarded;
using testing::key_of;
using testing::Scratch;
using testing::Tail;
using testing::TailOperands;
using testing::Threads;

struct Case {
  int64_t m, n, k;
  int64_t block = 32;  // 0: one a column
  int32_t bits = 4;
  bool is_signed = true, zeros = false, transposed = false;
  int64_t pad = 0;  // elements between rows beyond their length
};

// B, as it lies and as it is meant.
struct Weights {
  Weights(const Case& c, uint32_t seed)
      : blocks(c.block == 0 ? 1 : (c.k + c.block - 1) / c.block),
        codes(static_cast<size_t>((c.n * c.k * c.bits + 7) / 8)),
        zeros(static_cast<size_t>((c.n * blocks * c.bits + 7) / 8)),
        scales(static_cast<size_t>(c.n * blocks)),
        value(static_cast<size_t>(c.n * c.k)) {
    std::mt19937 rng(seed);
    for (uint8_t& v : codes) v = static_cast<uint8_t>(rng());
    for (uint8_t& v : zeros) v = static_cast<uint8_t>(rng());
    testing::fill_uniform(scales, seed + 1, 0.1f, 1);
    b.codes = codes.data();
    b.scales = scales.data();
    b.zeros = c.zeros ? zeros.data() : nullptr;
    b.bits = c.bits;
    b.is_signed = c.is_signed;
    b.block = c.block == 0 ? c.k : c.block;
    b.n_step = c.transposed ? c.k : 1;
    b.k_step = c.transposed ? 1 : c.n;
    b.scale_n_step = c.transposed ? blocks : 1;
    b.scale_k_step = c.transposed ? 1 : c.n;
    const auto number = [&](const Guarded<uint8_t>& from, int64_t i) {
      int code = c.bits == 8 ? from[static_cast<size_t>(i)] : from[static_cast<size_t>(i / 2)] >> (i % 2 * 4) & 15;
      if (c.is_signed && code >= 1 << (c.bits - 1)) code -= 1 << c.bits;
      return code;
    };
    for (int64_t n = 0; n < c.n; ++n) {
      for (int64_t k = 0; k < c.k; ++k) {
        const int64_t at = n * b.scale_n_step + (c.block == 0 ? 0 : k / c.block) * b.scale_k_step;
        const int zero = c.zeros ? number(zeros, at) : 0;
        value[static_cast<size_t>(k * c.n + n)] =
            static_cast<double>(number(codes, n * b.n_step + k * b.k_step) - zero) * scales[static_cast<size_t>(at)];
      }
    }
  }
  int64_t blocks;
  Guarded<uint8_t> codes, zeros;
  Floats scales;
  std::vector<double> value;
  CodedWeights b;
};

// Every element against a sum in double of exact weights: rounding of each sum, of each weight or block's sum by its
// scale, and of the steps of the tail.
void check(const Case& c, const Tail& tail, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << "m " << c.m << " n " << c.n << " k " << c.k << " block " << c.block << " bits "
                                    << c.bits << " signed " << c.is_signed << " zeros " << c.zeros << " transposed "
                                    << c.transposed << " slots " << slots << " residual " << tail.residual);
  const Weights w(c, 7);
  GemmCodes s;
  s.m = c.m;
  s.n = c.n;
  s.k = c.k;
  s.lda = c.k + c.pad;
  s.ldc = c.n + c.pad;
  s.b = w.b;
  Floats a(static_cast<size_t>(c.m * s.lda)), extra(static_cast<size_t>(c.m * s.ldc)), out(extra.size());
  Floats bias(static_cast<size_t>(c.n)), slope(bias.size());
  testing::fill_uniform(a, 1);
  testing::fill_uniform(extra, 3);
  testing::fill_uniform(bias, 4);
  testing::fill_uniform(slope, 5);
  const TailOperands with{bias.data(), slope.data(), extra.data()};
  s.epilogue = epilogue_of(tail, with, s.ldc);
  const auto& [want, bound] = expected_once(
      with_tail(key_of(c.m, c.n, c.k, c.block, c.bits, c.is_signed, c.zeros, c.transposed, c.pad), tail),
      [&](Expected* e) {
        expect_product(
            {c.m, c.n, c.k, s.ldc}, [&](int64_t i, int64_t p) { return a[static_cast<size_t>(i * s.lda + p)]; },
            [&](int64_t p, int64_t j) { return w.value[static_cast<size_t>(p * c.n + j)]; }, tail, with,
            [&](double magnitude) { return testing::sum_bound(c.k + 4, magnitude); }, e);
      });
  Threads threads(slots);
  Guarded<uint32_t> codes(codes_packed_bytes(c.n, c.k, c.bits) / sizeof(uint32_t));
  Floats scales(scales_packed_bytes(c.n, w.blocks) / sizeof(float));
  Guarded<uint8_t> zeros(zeros_packed_bytes(c.n, w.blocks));
  pack_codes(w.b, c.n, c.k, threads.parallel(), codes.data());
  pack_scales(w.b, c.n, w.blocks, scales.data());
  if (c.zeros) pack_zeros(w.b, c.n, w.blocks, zeros.data());
  for (const bool packed : {false, true}) {
    SCOPED_TRACE(packed ? "packed" : "as it lies");
    for (float& v : out) v = 777;
    s.packed = packed ? codes.data() : nullptr;
    s.packed_scales = packed ? scales.data() : nullptr;
    s.packed_zeros = packed && c.zeros ? zeros.data() : nullptr;
    Scratch scratch(gemm_codes_scratch_bytes(c.m, c.n, c.k, slots, packed));
    gemm_codes(s, a.data(), out.data(), threads.parallel(), scratch.data());
    for (size_t i = 0; i < out.size(); ++i) {
      if (bound[i] < 0) {
        ASSERT_EQ(out[i], 777) << "between rows, at " << i;
      } else {
        ASSERT_NEAR(out[i], want[i], bound[i]) << "at " << i;
      }
    }
  }
}

TEST(GemmCodes, SizesAroundTheTile) {
  for_each_level([](const char* level) {
    printf("%s\n", level);
    for (int64_t m : {1, 2, 3, 4, 5, 8, 9, 15, 29}) {
      for (int64_t n : {1, 15, 17, 31, 32, 33, 65}) {
        for (int64_t k : {1, 3, 7, 8, 9, 31, 32, 33, 70}) {
          const Case ways[] = {{m, n, k, 32, 4, true, false, m % 2 == 0, m % 3},
                               {m, n, k, 16, 4, false, true, m % 2 == 1},
                               {m, n, k, 0, 8, true, false, m % 2 == 0},
                               {m, n, k, 24, 8, false, true, m % 2 == 1, m % 3}};
          for (int way = 0; way < 4; ++way) {
            if (testing::in_sample(m + n + k + way)) check(ways[way], {}, 1);
          }
        }
      }
    }
  });
}

TEST(GemmCodes, SignsZerosAndBlocks) {
  for_each_level([](const char*) {
    for (const int32_t bits : {4, 8}) {
      for (const bool is_signed : {false, true}) {
        for (const bool zeros : {false, true}) {
          for (const int64_t block : {0, 8, 16, 128, 256}) {
            check({1, 70, 300, block, bits, is_signed, zeros, false}, {}, 1);
            check({40, 70, 300, block, bits, is_signed, zeros, true}, {}, 1);
          }
        }
      }
    }
  });
}

TEST(GemmCodes, DeepAndWideBlocks) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({33, 70, 1100}, {{}, true, 1}, slots);
      check({90, 1300, 530, 128, 8}, {{Activation::kRelu}, true, 0}, slots);
      check({900, 49, 1030, 0, 8, true, false, true}, {{Activation::kSigmoid}, true, 1}, slots);
      check({20, 333, 700, 16, 4, false, true, false, 3}, {{}, true, 1}, slots);
      check({1, 3000, 70}, {{Activation::kRelu}, true, 0}, slots);
      check({3, 300, 1700, 32, 4, true, false, true}, {{Activation::kRelu}, true, 0}, slots);
      check({7, 40, 11000, 0, 8}, {}, slots);
    }
  });
}

TEST(GemmCodes, Tails) {
  for_each_level([](const char*) {
    for (const Activate& act : {Activate{}, Activate{Activation::kRelu}, Activate{Activation::kSigmoid}}) {
      for (int residual : {0, 1, 2, 3}) {
        for (float alpha : {1.0f, 0.5f}) {
          check({15, 40, 20}, {act, true, residual, alpha}, 1);
          check({2, 33, 20, 16, 8}, {act, true, residual, alpha}, 1);
          check({35, 81, 600}, {act, false, residual, alpha}, 2);
        }
        check({3, 50, 33}, {{}, true, residual, 1, true}, 1);
        check({18, 50, 33}, {{}, true, residual, 1, true}, 1);
      }
    }
  });
}

TEST(GemmCodes, NothingToSum) {
  for_each_level([](const char*) {
    check({3, 40, 0}, {{Activation::kRelu}, true, 1}, 1);
    check({40, 40, 0, 0, 8}, {{}, true, 1}, 3);
    check({0, 40, 7}, {}, 1);
    check({40, 0, 7}, {}, 1);
  });
}

TEST(GemmCodes, ThreadsDoNotChangeABit) {
  for_each_level([](const char*) {
    for (const Case& c : {Case{500, 96, 700}, Case{20, 700, 700, 16, 8}, Case{1, 3000, 900}, Case{5, 3000, 900}}) {
      const Weights w(c, 3);
      GemmCodes s;
      s.m = c.m;
      s.n = s.ldc = c.n;
      s.k = s.lda = c.k;
      s.b = w.b;
      Floats a(static_cast<size_t>(c.m * c.k)), one(static_cast<size_t>(c.m * c.n)), three(one.size());
      testing::fill_uniform(a, 1);
      std::vector<uint32_t> codes(codes_packed_bytes(c.n, c.k, c.bits) / 4);
      std::vector<float> scales(scales_packed_bytes(c.n, w.blocks) / 4);
      pack_codes(w.b, c.n, c.k, {}, codes.data());
      pack_scales(w.b, c.n, w.blocks, scales.data());
      s.packed = codes.data();
      s.packed_scales = scales.data();
      Threads threads(3);
      Scratch scratch(gemm_codes_scratch_bytes(c.m, c.n, c.k, 3, true));
      gemm_codes(s, a.data(), one.data(), {}, scratch.data());
      gemm_codes(s, a.data(), three.data(), threads.parallel(), scratch.data());
      ASSERT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
    }
  });
}

// Of k: whole parts and ends of them, blocks that are parts.
TEST(GemmCodes, FewRowsInDigits) {
  for_each_level([](const char*) {
    for (int64_t m = 1; m <= 8; ++m) {
      for (const int32_t bits : {4, 8}) {
        for (const bool zeros : {false, true}) {
          check({m, 70, 513 + m, 0, bits, true, zeros, true}, {}, 1);
          check({m, 33, 300, 32, bits, zeros, zeros}, {{Activation::kRelu}, true, 1}, 3);
          check({m, 40, 259, 128, bits, false, zeros}, {}, 1);
        }
      }
    }
  });
}

// A row of zeros, one of very small numbers, one with a number a hundred thousand times as large as others, which meets
// weights of 0 alone (three digits would lose the others). Then numbers that have no digits, and rows that are not
// finite: theirs alone.
TEST(GemmCodes, RowsOfOtherRanges) {
  const Case c{6, 40, 300, 0, 8};
  constexpr int64_t kAt = 17;
  Weights w(c, 7);
  for (int64_t i = kAt * c.n; i < (kAt + 1) * c.n; ++i) {
    w.codes[static_cast<size_t>(i)] = 0;
    w.value[static_cast<size_t>(i)] = 0;
  }
  for_each_level([&](const char*) {
    for (const int turn : {0, 1, 2}) {
      const bool finite = turn < 2;
      GemmCodes s;
      s.m = c.m;
      s.n = s.ldc = c.n;
      s.k = s.lda = c.k;
      s.b = w.b;
      Floats a(static_cast<size_t>(c.m * c.k)), y(static_cast<size_t>(c.m * c.n));
      testing::fill_uniform(a, 1);
      const auto row = [&](int64_t r) { return a.data() + r * c.k; };
      for (int64_t k = 0; k < c.k; ++k) {
        row(0)[k] = 0;
        row(1)[k] *= turn == 0 ? 1e-20f : 1e-30f;
        row(2)[k] *= 1e30f;
      }
      row(3)[kAt] = 1e5f;
      if (!finite) {
        row(4)[5] = INFINITY;
        row(5)[6] = NAN;
      }
      std::vector<uint32_t> codes(codes_packed_bytes(c.n, c.k, c.bits) / 4);
      std::vector<float> scales(scales_packed_bytes(c.n, w.blocks) / 4);
      pack_codes(w.b, c.n, c.k, {}, codes.data());
      pack_scales(w.b, c.n, w.blocks, scales.data());
      s.packed = codes.data();
      s.packed_scales = scales.data();
      Scratch scratch(gemm_codes_scratch_bytes(c.m, c.n, c.k, 1, true));
      gemm_codes(s, a.data(), y.data(), {}, scratch.data());
      for (int64_t r = 0; r < c.m; ++r) {
        for (int64_t n = 0; n < c.n; ++n) {
          const float got = y[static_cast<size_t>(r * c.n + n)];
          if (!finite && r >= 4) {
            ASSERT_FALSE(std::isfinite(got)) << r << " " << n;
            continue;
          }
          double want = 0, magnitude = 0;
          for (int64_t k = 0; k < c.k; ++k) {
            const double term = double{row(r)[k]} * w.value[static_cast<size_t>(k * c.n + n)];
            want += term;
            magnitude += std::abs(term);
          }
          ASSERT_NEAR(got, want, testing::sum_bound(c.k + 4, magnitude)) << turn << " " << r << " " << n;
        }
      }
    }
  });
}

// Bytes on disk: written here once, by hand.
TEST(GemmCodes, TheLayoutIsWhatItSays) {
  // Two columns, k = 9, signed codes 0 1 2 ... and 0 -1 -2 ...
  uint8_t lies[9] = {};
  for (int i = 0; i < 9; ++i) {
    const int low = i < 8 ? i : 7, high = -i;
    lies[i] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
  }
  const float scales[2] = {0.5f, 2};
  CodedWeights b;
  b.codes = lies;
  b.scales = scales;
  b.block = 9;
  b.n_step = 1;
  b.k_step = 2;
  std::vector<uint32_t> packed(codes_packed_bytes(2, 9, 4) / 4);
  ASSERT_EQ(packed.size(), 64u);
  pack_codes(b, 2, 9, {}, packed.data());
  EXPECT_EQ(packed[0], 0xFEDCBA98u);
  EXPECT_EQ(packed[1], 0x12345678u);
  EXPECT_EQ(packed[2], 0x88888888u);
  EXPECT_EQ(packed[32], 0x8888888Fu);
  EXPECT_EQ(packed[33], 0x88888880u);
}

TEST(GemmCodes, BoundCoversAllSmallerSizes) {
  std::mt19937 rng(1);
  const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
  for (int i = 0; i < 20000; ++i) {
    const int64_t m = up_to(i % 2 ? 900 : 20), n = up_to(i % 3 ? 3000 : 40), k = up_to(i % 5 ? 900 : 20000);
    const int32_t slots = static_cast<int32_t>(up_to(5));
    for (const bool packed : {false, true}) {
      const size_t bound = gemm_codes_scratch_bytes(m, n, k, slots, packed);
      for (int j = 0; j < 5; ++j) {
        ASSERT_GE(bound, gemm_codes_scratch_bytes(up_to(m), up_to(n), up_to(k), slots, packed))
            << m << " " << n << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace vireo::cpu

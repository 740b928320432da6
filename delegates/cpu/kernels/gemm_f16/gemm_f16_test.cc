#include "delegates/cpu/kernels/gemm_f16/gemm_f16.h"

#include "delegates/cpu/kernels/product_testing.h"

namespace vireo::cpu {
namespace {

using testing::Expected;
using testing::expected_once;
using testing::fill_half;
using testing::Floats;
using testing::for_each_level;
using testing::Halves;
using testing::key_of;
using testing::Scratch;
using testing::Tail;
using testing::TailOperands;
using testing::Threads;
using testing::widen_half;

struct Case {
  int64_t m, n, k;
  bool transposed = false;
  int64_t pad = 0;  // elements between rows beyond their length
};

// Every element against a sum in double of the same numbers: off by what float32 sums round, one for each product and
// step of the tail, and for float16 results by half a unit of theirs.
void check(const Case& c, const Tail& tail, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << "m " << c.m << " n " << c.n << " k " << c.k << " transposed " << c.transposed
                                    << " slots " << slots << " residual " << tail.residual);
  GemmF16 s;
  s.m = c.m;
  s.n = c.n;
  s.k = c.k;
  s.lda = c.k + c.pad;
  s.ldc = c.n + c.pad;
  const size_t rows = static_cast<size_t>(c.m * s.lda), results = static_cast<size_t>(c.m * s.ldc);
  Halves a(rows), b(static_cast<size_t>(c.k * c.n)), extra(results), bias(static_cast<size_t>(c.n)), slope(bias.size());
  fill_half(a, 1);
  fill_half(b, 2);
  fill_half(extra, 3);
  fill_half(bias, 4);
  fill_half(slope, 5);
  const auto af = widen_half(a), extraf = widen_half(extra), biasf = widen_half(bias), slopef = widen_half(slope);
  const TailOperands with{biasf->data(), slopef->data(), extraf->data()};
  s.b = Columns16::matrix(b.data(), c.n, c.k, c.transposed);
  const auto& [want, bound] =
      expected_once(with_tail(key_of(c.m, c.n, c.k, c.transposed, c.pad), tail), [&](Expected* e) {
        expect_product(
            {c.m, c.n, c.k, s.ldc}, [&](int64_t i, int64_t p) { return (*af)[static_cast<size_t>(i * s.lda + p)]; },
            [&](int64_t p, int64_t j) {
              return f16_to_f32(b[static_cast<size_t>(c.transposed ? j * c.k + p : p * c.n + j)]);
            },
            tail, with, [&](double magnitude) { return testing::sum_bound(c.k + 4, magnitude); }, e);
      });
  Threads threads(slots);
  Halves packed(static_cast<size_t>(f16_packed_elements(c.n, c.k)));
  pack_f16(s.b, c.n, c.k, threads.parallel(), packed.data());
  for (const bool packs : {false, true}) {
    SCOPED_TRACE(packs ? "packed" : "as it lies");
    s.packed = packs ? packed.data() : nullptr;
    Floats out(results);
    for (float& v : out) v = 777;
    Scratch scratch(gemm_f16_scratch_bytes(c.m, c.n, c.k, slots, packs, false));
    s.epilogue = epilogue_of(tail, with, s.ldc);
    gemm_f16(s, af->data(), out.data(), threads.parallel(), scratch.data());
    s.epilogue.col_bias = s.epilogue.residual = s.epilogue.col_slope = nullptr;
    Halves narrow(results);
    for (uint16_t& v : narrow) v = 777;
    Scratch more(gemm_f16_scratch_bytes(c.m, c.n, c.k, slots, packs, true));
    const HalfTail half{tail.bias ? bias.data() : nullptr, tail.residual != 0 ? extra.data() : nullptr,
                        tail.slope ? slope.data() : nullptr};
    gemm_f16(s, half, a.data(), narrow.data(), threads.parallel(), more.data());
    for (size_t i = 0; i < results; ++i) {
      if (bound[i] < 0) {
        ASSERT_EQ(out[i], 777) << "between rows, at " << i;
        ASSERT_EQ(narrow[i], 777) << "between rows, at " << i;
        continue;
      }
      ASSERT_NEAR(out[i], want[i], bound[i]) << "at " << i;
      const double unit = std::max(std::abs(want[i]) * 0x1p-11, 0x1p-25);
      ASSERT_NEAR(f16_to_f32(narrow[i]), want[i], (bound[i] + unit) * 1.001) << "at " << i;
    }
  }
}

TEST(GemmF16, SizesAroundTheTile) {
  for_each_level([](const char* level) {
    printf("%s\n", level);
    for (int64_t m : {1, 2, 3, 4, 5, 7, 13, 15, 29, 33}) {
      for (int64_t n : {1, 4, 15, 16, 17, 31, 32, 33, 65}) {
        for (int64_t k : {1, 2, 3, 5, 33, 70}) {
          if (!testing::in_sample(m + n + k)) continue;
          check({m, n, k}, {}, 1);
          check({m, n, k, true, m % 3}, {}, 1);
        }
      }
    }
  });
}

TEST(GemmF16, DeepAndWideBlocks) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({33, 70, 1100}, {{}, true, 1}, slots);
      check({40, 700, 530}, {{Activation::kRelu}, true, 0}, slots);
      check({290, 49, 1030, true}, {{Activation::kSigmoid}, true, 1}, slots);
      check({20, 333, 700, false, 3}, {{}, true, 1}, slots);
      check({300, 100, 64}, {}, slots);
      check({1, 3000, 70}, {{Activation::kRelu}, true, 0}, slots);
      check({3, 300, 1700, true}, {{Activation::kRelu}, true, 0}, slots);
      check({33, 40, 7000}, {}, slots);
    }
  });
}

TEST(GemmF16, Tails) {
  for_each_level([](const char*) {
    for (const Activate& act : {Activate{}, Activate{Activation::kRelu}, Activate{Activation::kSigmoid}}) {
      for (int residual : {0, 1, 2, 3}) {
        for (float alpha : {1.0f, 0.5f}) {
          check({15, 40, 20}, {act, true, residual, alpha}, 1);
          check({2, 33, 20, true}, {act, true, residual, alpha}, 1);
          check({35, 81, 600}, {act, false, residual, alpha}, 2);
        }
        check({18, 50, 33}, {{}, true, residual, 1, true}, 1);
        check({3, 50, 33, false, 1}, {{}, true, residual, 1, true}, 1);
      }
    }
  });
}

TEST(GemmF16, NothingToSum) {
  for_each_level([](const char*) {
    check({3, 40, 0}, {{Activation::kRelu}, true, 1}, 1);
    check({40, 40, 0, true}, {{}, true, 1}, 3);
    check({0, 40, 7}, {}, 1);
    check({40, 0, 7}, {}, 1);
  });
}

// All bits of float16 come through a product with 1: subnormals, infinities, NaN.
TEST(GemmF16, EveryWeight) {
  for_each_level([](const char* level) {
    for (const int64_t m : {1, 6}) {
      Halves b(65536), packed(65536);
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint16_t>(i);
      GemmF16 s;
      s.m = m;
      s.n = s.ldc = 65536;
      s.k = s.lda = 1;
      s.b = Columns16::matrix(b.data(), s.n, 1, false);
      pack_f16(s.b, s.n, 1, {}, packed.data());
      s.packed = packed.data();
      std::vector<float> a(static_cast<size_t>(m), 1.0f), c(static_cast<size_t>(m) * 65536);
      gemm_f16(s, a.data(), c.data(), {}, nullptr);
      for (size_t i = 0; i < c.size(); ++i) {
        const float want = f16_to_f32(static_cast<uint16_t>(i % 65536));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(c[i])) << level << " " << i;
        } else {
          ASSERT_EQ(c[i], want) << level << " " << i;
        }
      }
    }
  });
}

TEST(GemmF16, ThreadsDoNotChangeABit) {
  for_each_level([](const char*) {
    for (const Case& c : {Case{500, 96, 700}, Case{20, 700, 700}, Case{1, 3000, 900}, Case{87, 600, 4800}}) {
      GemmF16 s;
      s.m = c.m;
      s.n = s.ldc = c.n;
      s.k = s.lda = c.k;
      Halves a(static_cast<size_t>(c.m * c.k)), b(static_cast<size_t>(c.k * c.n));
      Halves one(static_cast<size_t>(c.m * c.n)), three(one.size());
      Floats wide(a.size()), one_wide(one.size()), three_wide(one.size());
      fill_half(a, 1);
      fill_half(b, 2);
      for (size_t i = 0; i < a.size(); ++i) wide[i] = f16_to_f32(a[i]);
      s.b = Columns16::matrix(b.data(), c.n, c.k, false);
      Threads threads(3);
      Scratch scratch(gemm_f16_scratch_bytes(c.m, c.n, c.k, 3, false, true));
      gemm_f16(s, HalfTail{}, a.data(), one.data(), {}, scratch.data());
      gemm_f16(s, HalfTail{}, a.data(), three.data(), threads.parallel(), scratch.data());
      ASSERT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(uint16_t)), 0);
      gemm_f16(s, wide.data(), one_wide.data(), {}, scratch.data());
      gemm_f16(s, wide.data(), three_wide.data(), threads.parallel(), scratch.data());
      ASSERT_EQ(memcmp(one_wide.data(), three_wide.data(), one.size() * sizeof(float)), 0);
    }
  });
}

// A plan made for the most rows serves fewer.
TEST(GemmF16, ScratchGrowsWithRows) {
  for (const int64_t k : {1, 33, 768, 20000}) {
    for (const int64_t n : {1, 40, 1000, 30000}) {
      size_t before = 0;
      for (int64_t m = 1; m < 700; ++m) {
        const size_t bytes = gemm_f16_scratch_bytes(m, n, k, 3, true, true);
        ASSERT_GE(bytes, before) << m << " " << n << " " << k;
        before = bytes;
      }
    }
  }
}

}  // namespace
}  // namespace vireo::cpu

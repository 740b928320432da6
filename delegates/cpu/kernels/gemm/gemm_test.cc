#include "delegates/cpu/kernels/gemm/gemm.h"

#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/sme/sme.h"
#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Expected;
using testing::expected_once;
using testing::Floats;
using testing::for_each_level;
using testing::in_sample;
using testing::key_of;
using testing::Scratch;
using testing::Threads;

double plain(double x, const Activate& f) {
  switch (f.kind) {
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kClip:
      return x < f.a ? f.a : x > f.b ? f.b : x;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    default:
      return x;
  }
}

struct Case {
  int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  int64_t batch = 1;
  int64_t pad = 0;  // elements between rows beyond their length
};

// Every element against a sum in double. `residual`: 0 none, 1 added, 2 added last, 3 multiplied last. `slopes`: of a
// PRelu in place of `act`, 1 for rows, 2 for columns.
void check(const Case& c, const Activate& act, bool row_bias, bool col_bias, int residual, float alpha, int32_t slots,
           int slopes = 0) {
  SCOPED_TRACE(::testing::Message() << "m " << c.m << " n " << c.n << " k " << c.k << " tA " << c.trans_a << " tB "
                                    << c.trans_b << " batch " << c.batch << " slots " << slots << " pad " << c.pad
                                    << " residual " << residual << " slopes " << slopes);
  GemmF32 s;
  s.m = c.m;
  s.n = c.n;
  s.k = c.k;
  s.trans_a = c.trans_a;
  s.trans_b = c.trans_b;
  s.batch = c.batch;
  s.lda = (c.trans_a ? c.m : c.k) + c.pad;
  s.ldb = (c.trans_b ? c.k : c.n) + c.pad;
  s.ldc = c.n + c.pad;
  const int64_t a_rows = c.trans_a ? c.k : c.m, b_rows = c.trans_b ? c.n : c.k;
  s.a_step = a_rows * s.lda;
  s.b_step = b_rows * s.ldb;
  s.c_step = s.residual_step = c.m * s.ldc;
  Floats a(static_cast<size_t>(s.a_step * c.batch)), b(static_cast<size_t>(s.b_step * c.batch));
  Floats out(static_cast<size_t>(s.c_step * c.batch)), extra(out.size());
  Floats rows(static_cast<size_t>(c.m)), cols(static_cast<size_t>(c.n));
  testing::fill_uniform(a, 1);
  testing::fill_uniform(b, 2);
  testing::fill_uniform(extra, 3);
  testing::fill_uniform(rows, 4);
  testing::fill_uniform(cols, 5);
  s.epilogue.alpha = alpha;
  s.epilogue.act = act;
  s.epilogue.row_bias = row_bias ? rows.data() : nullptr;
  s.epilogue.col_bias = col_bias ? cols.data() : nullptr;
  s.epilogue.residual = residual != 0 ? extra.data() : nullptr;
  s.epilogue.residual_stride = s.ldc;
  s.epilogue.residual_last = residual == 2;
  s.epilogue.residual_times = residual == 3;
  s.epilogue.row_slope = slopes == 1 ? rows.data() : nullptr;
  s.epilogue.col_slope = slopes == 2 ? cols.data() : nullptr;
  const auto each_element = [&](const auto& body) {
    for (int64_t g = 0; g < c.batch; ++g) {
      for (int64_t i = 0; i < c.m; ++i) {
        for (int64_t j = 0; j < c.n; ++j) body(g, i, j, static_cast<size_t>(g * s.c_step + i * s.ldc + j));
      }
    }
  };
  const auto& [sums, magnitudes] =
      expected_once(key_of(c.m, c.n, c.k, c.trans_a, c.trans_b, c.batch, c.pad), [&](Expected* e) {
        e->want.resize(out.size());
        e->bound.resize(out.size(), 2);
        each_element([&](int64_t g, int64_t i, int64_t j, size_t at) {
          for (int64_t p = 0; p < c.k; ++p) {
            const double x = a[static_cast<size_t>(g * s.a_step + (c.trans_a ? p * s.lda + i : i * s.lda + p))];
            const double y = b[static_cast<size_t>(g * s.b_step + (c.trans_b ? j * s.ldb + p : p * s.ldb + j))];
            e->want[at] += x * y;
            e->bound[at] += std::abs(x * y);
          }
        });
      });
  std::vector<double> want(out.size()), bound(out.size(), -1);
  each_element([&, &sums = sums, &magnitudes = magnitudes](int64_t, int64_t i, int64_t j, size_t at) {
    const double row = rows[static_cast<size_t>(i)], column = cols[static_cast<size_t>(j)];
    double y = alpha * sums[at] + (row_bias ? row : 0) + (col_bias ? column : 0) + (residual == 1 ? extra[at] : 0);
    y = plain(y, act);
    if (slopes != 0 && y < 0) y *= slopes == 1 ? row : column;
    if (residual == 2) y += extra[at];
    if (residual == 3) y *= extra[at];
    want[at] = y;
    bound[at] = testing::sum_bound(c.k + 4, std::max(1.0f, alpha) * magnitudes[at]);
  });
  Threads threads(slots);
  Floats packed(c.batch == 1 ? static_cast<size_t>(packed_floats(s.n, s.k)) : 0);
  for (int round = 0; round < (c.batch == 1 ? 2 : 1); ++round) {
    SCOPED_TRACE(round == 0 ? "B as it lies" : "B packed");
    for (float& v : out) v = 777;
    if (round == 0) {
      Scratch scratch(gemm_f32_scratch_bytes(s, slots, Sizes::kFixed));
      gemm_f32(s, a.data(), b.data(), out.data(), threads.parallel(), scratch.data());
    } else {
      pack_gemm_f32(s, b.data(), threads.parallel(), packed.data());
      s.packed = packed.data();
      gemm_f32(s, a.data(), nullptr, out.data(), threads.parallel(), nullptr);
    }
    if (has_sme_f32()) {  // vectors give the same bits
      std::vector<float> again(out.begin(), out.end());
      withhold_sme();
      Scratch scratch(gemm_f32_scratch_bytes(s, slots, Sizes::kFixed));
      gemm_f32(s, a.data(), b.data(), again.data(), threads.parallel(), scratch.data());
      withhold_sme(false);
      ASSERT_EQ(memcmp(out.data(), again.data(), again.size() * sizeof(float)), 0);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (bound[i] < 0) {
        ASSERT_EQ(out[i], 777) << "between rows, at " << i;
      } else {
        ASSERT_NEAR(out[i], want[i], bound[i]) << "at " << i;
      }
    }
  }
}

TEST(Gemm, SizesAroundTheTile) {
  for_each_level([](const char*) {
    for (int64_t m : {1, 2, 5, 6, 7, 13, 14, 15, 29, 43}) {
      for (int64_t n : {1, 4, 8, 9, 15, 16, 17, 31, 32, 33, 65}) {
        for (int64_t k : {1, 3, 16, 37}) {
          if (!in_sample(m + n + k)) continue;
          check({m, n, k, false, false}, {}, false, false, 0, 1, 1);
          check({m, n, k, false, true}, {}, false, false, 0, 1, 1);
        }
      }
    }
  });
}

TEST(Gemm, DeepAndWideBlocks) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({33, 70, 1100, false, false}, {}, true, false, 1, 1, slots);
      check({90, 1300, 530, false, false}, {Activation::kRelu}, true, false, 0, 1, slots);
      check({90, 49, 1030, false, true}, {Activation::kRelu}, false, true, 0, 1, slots);
      check({20, 333, 700, false, false, 1, 3}, {}, false, true, 1, 1, slots);
      check({100, 100, 100, true, true, 1, 5}, {}, false, false, 0, 1, slots);
      check({100, 100, 100, true, false}, {}, false, false, 0, 1, slots);
      check({1, 3000, 70, false, false}, {Activation::kRelu}, false, true, 0, 1, slots);
      check({1, 300, 700, false, true}, {Activation::kRelu}, false, true, 0, 1, slots);
      check({3000, 1, 70, false, false}, {}, false, true, 0, 1, slots);
      check({300, 5, 70, false, false, 1, 2}, {}, true, true, 0, 1, slots);
      check({1, 40, 19, true, false, 1, 2}, {}, false, false, 0, 1, slots);
      check({1, 40, 19, true, true, 1, 2}, {}, false, false, 0, 1, slots);
    }
  });
}

TEST(Gemm, Epilogues) {
  for_each_level([](const char*) {
    for (const Activate& act : {Activate{}, Activate{Activation::kRelu}, Activate{Activation::kClip, -0.25f, 0.5f},
                                Activate{Activation::kSigmoid}}) {
      for (int residual : {0, 1, 2}) {
        for (float alpha : {1.0f, 0.5f}) {
          check({15, 40, 20}, act, true, true, residual, alpha, 1);
          check({31, 33, 20}, act, true, false, residual, alpha, 1);
          check({3, 33, 20, false, true}, act, true, true, residual, alpha, 1);
          check({1, 33, 20}, act, true, true, residual, alpha, 1);
        }
      }
    }
  });
}

TEST(Gemm, SlopesAndFactors) {
  for_each_level([](const char*) {
    for (int residual : {0, 1, 2, 3}) {
      for (int slopes : {0, 1, 2}) {
        if (!in_sample(residual + slopes)) continue;
        for (const int32_t slots : testing::thread_counts()) {
          check({15, 40, 20}, {}, false, true, residual, 1, slots, slopes);
          check({40, 333, 530}, {}, true, false, residual, 1, slots, slopes);
          check({3, 33, 20, false, true}, {}, false, false, residual, 1, slots, slopes);
          check({1, 333, 20}, {}, false, true, residual, 1, slots, slopes);
          check({7, 20, 16, false, false, 4}, {}, false, false, residual, 1, slots, slopes);
        }
      }
      check({31, 33, 20}, {Activation::kSigmoid}, false, true, residual, 1, 1);
      check({31, 33, 20}, {Activation::kRelu}, false, true, residual, 1, 1);
    }
  });
}

TEST(Gemm, Batch) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({40, 50, 32, false, true, 5}, {}, false, false, 0, 0.125f, slots);
      check({128, 32, 128, false, false, 4}, {}, false, false, 0, 1, slots);
      check({70, 130, 64, false, false, 2}, {}, false, false, 0, 1, slots);
    }
  });
}

TEST(Gemm, ThreadsChangeNoBit) {
  for_each_level([](const char*) {
    for (const int64_t n : {7, 23, 1000}) {
      Floats b(static_cast<size_t>(n * 2051));
      testing::fill_uniform(b, 2);
      for (const int64_t m : {1, 2, 3, 4, 5, 70}) {
        if (!in_sample(m + n)) continue;
        for (const bool trans_b : {false, true}) {
          GemmF32 s;
          s.m = m;
          s.n = s.ldc = n;
          s.k = s.lda = 2051;
          s.trans_b = trans_b;
          s.ldb = trans_b ? s.k : n;
          Floats a(static_cast<size_t>(m * s.k)), want(static_cast<size_t>(m * n)), y(want.size());
          testing::fill_uniform(a, 1);
          for (const int32_t slots : {1, 2, 3, 4}) {
            Threads threads(slots);
            Scratch scratch(gemm_f32_scratch_bytes(s, slots, Sizes::kFixed));
            gemm_f32(s, a.data(), b.data(), (slots == 1 ? want : y).data(), threads.parallel(), scratch.data());
            if (slots > 1) {
              ASSERT_EQ(memcmp(want.data(), y.data(), y.size() * sizeof(float)), 0)
                  << m << " x " << n << " transposed " << trans_b << " slots " << slots;
            }
          }
        }
      }
    }
  });
}

TEST(Gemm, NothingToSum) {
  for_each_level([](const char*) {
    check({3, 40, 0}, {Activation::kRelu}, true, true, 1, 1, 1);
    check({1, 40, 0}, {}, true, true, 0, 1, 1);
    check({40, 40, 0, false, true}, {}, true, true, 0, 1, 3);
    check({2, 5, 0, false, true}, {}, true, true, 0, 1, 1);
    check({0, 40, 7}, {}, false, false, 0, 1, 1);
    check({40, 0, 7}, {}, false, false, 0, 1, 1);
  });
}

TEST(Gemm, BoundCoversAllSmallerSizes) {
  std::mt19937 rng(1);
  for (int i = 0; i < 20000; ++i) {
    GemmF32 most;
    const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
    most.m = up_to(i % 2 ? 300 : 20);
    most.n = up_to(i % 3 ? 3000 : 40);
    most.k = up_to(i % 5 ? 900 : 20000);
    most.batch = i % 4 == 0 ? up_to(6) : 1;
    most.trans_b = i % 7 == 0;
    most.lda = most.trans_a ? most.m : most.k;
    most.ldb = most.trans_b ? most.k : most.n;
    const int32_t slots = static_cast<int32_t>(up_to(5));
    const size_t bound = gemm_f32_scratch_bytes(most, slots);
    for (int j = 0; j < 10; ++j) {
      GemmF32 s = most;
      s.m = up_to(most.m);
      s.n = up_to(most.n);
      s.k = up_to(most.k);
      s.batch = up_to(most.batch);
      s.ldb = s.trans_b ? s.k : s.n;
      ASSERT_GE(bound, gemm_f32_scratch_bytes(s, slots, Sizes::kFixed))
          << most.m << " " << most.n << " " << most.k << " x " << most.batch << " : " << s.m << " " << s.n << " " << s.k
          << " x " << s.batch << " slots " << slots;
    }
  }
}

TEST(Gemm, NotANumberIsHandedThrough) {
  for_each_level([](const char*) {
    for (int64_t m : {1, 3, 40}) {
      GemmF32 s;
      s.m = m;
      s.n = 40;
      s.k = 5;
      s.lda = 5;
      s.ldb = s.ldc = 40;
      s.epilogue.act.kind = Activation::kRelu;
      std::vector<float> a(static_cast<size_t>(m) * 5, 1.0f), b(200, 1.0f), c(static_cast<size_t>(m) * 40);
      b[3] = NAN;
      b[4] = INFINITY;
      b[45] = -INFINITY;
      Scratch scratch(gemm_f32_scratch_bytes(s, 1, Sizes::kFixed));
      gemm_f32(s, a.data(), b.data(), c.data(), Parallel{}, scratch.data());
      EXPECT_TRUE(std::isnan(c[3]));
      EXPECT_EQ(c[4], INFINITY);
      EXPECT_EQ(c[5], 0.0f);
      EXPECT_EQ(c[6], 5.0f);
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

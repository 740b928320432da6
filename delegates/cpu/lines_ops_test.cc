// Running totals, norms of lines, logarithms of sums and Fourier transforms against the reference kernels.
#include <cmath>
#include <cstring>
#include <vector>

#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

TestTensor integers(const std::vector<int64_t>& values) {
  TestTensor t = Values(1).bytes(DType::kI64, {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}
TestTensor floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  TestTensor t = Values(1).reals(dims, 0, 1);
  for (size_t i = 0; i * sizeof(float) < t.bytes.size(); ++i)
    std::memcpy(t.bytes.data() + i * sizeof(float), &values[i % values.size()], sizeof(float));
  return t;
}

// Along lines, columns below and above a block of them, and rows that are added whole.
const std::vector<int64_t> kExtents[] = {{3, 40}, {4, 33, 17}, {2, 5, 600}, {5, 1, 700}, {7, 1}, {2, 0, 3}};

TEST(CpuLines, RunningTotals) {
  for_each_level([](const char*) {
    for (const std::vector<int64_t>& dims : kExtents) {
      for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
        for (const int flags : {0, 1, 2, 3}) {
          attrs::CumulativeT a;
          a.exclusive = (flags & 1) != 0;
          a.reverse = (flags & 2) != 0;
          Values v(4);
          for (const int32_t slots : {1, 3}) {
            for (const DType t : {DType::kI32, DType::kI64}) {  // those that wrap, too
              Case(Op::kCumSum, pack<attrs::Cumulative>(a), {v.bytes(t, dims), integers({axis})})
                  .expect_same_bits("running_totals", slots);
            }
            // 600 sums of numbers up to 1, each rounded once, where the reference rounds at the end; of small whole
            // numbers there is nothing to round.
            Case(Op::kCumSum, pack<attrs::Cumulative>(a), {v.reals(dims, 0, 1), integers({axis})})
                .expect_close("running_totals", 700 * 0x1p-24, slots);
            Case(Op::kCumSum, pack<attrs::Cumulative>(a), {floats(dims, {1, -2, 3, 5, 7}), integers({axis})})
                .expect_same_bits("running_totals", slots);
          }
        }
      }
    }
  });
}

TEST(CpuLines, RunningTotalsOfOtherTypes) {
  Case(Op::kCumSum, pack<attrs::Cumulative>(attrs::CumulativeT{}),
       {Values(2).bytes(DType::kU32, {3, 4}), integers({1})})
      .expect_same_bits("reference");
}

TEST(CpuLines, Norms) {
  for_each_level([](const char*) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3, 40}, {2, 33, 17}, {2, 9000}, {3, 20, 600}}) {
      for (int32_t axis = 0; axis < static_cast<int32_t>(dims.size()); ++axis) {
        for (const int32_t p : {1, 2}) {
          attrs::LpNormalizationT a;
          a.axis = axis;
          a.p = p;
          // A sum of up to 9000 terms in lanes, and a quotient.
          for (const int32_t slots : {1, 3}) {
            Case(Op::kLpNormalization, pack<attrs::LpNormalization>(a), {Values(3).reals(dims, -1, 1)})
                .expect_close("lp_normalize_f32", 600 * 0x1p-24, slots);
          }
        }
      }
    }
  });
}

// Lines of zeros, and lines whose squares are below or beyond float32.
TEST(CpuLines, NormsOfFarNumbers) {
  for (const int32_t p : {1, 2}) {
    attrs::LpNormalizationT a;
    a.p = p;
    for (const float scale : {0.0f, 1e-30f, 1e-40f, 1e30f}) {
      Case(Op::kLpNormalization, pack<attrs::LpNormalization>(a),
           {floats({3, 5}, {1 * scale, -2 * scale, 3 * scale, 0, scale})})
          .expect_close("lp_normalize_f32", 4 * 0x1p-24);
    }
    Case(Op::kLpNormalization, pack<attrs::LpNormalization>(a), {floats({2, 3}, {1, 2, 3, 0, 0, 0})})
        .expect_close("lp_normalize_f32", 4 * 0x1p-24);
  }
}

std::vector<uint8_t> log_sum_exp(bool keepdims) {
  attrs::ReduceNormT a;
  a.norm = attrs::Norm::LogSumExp;
  a.keepdims = keepdims;
  return pack<attrs::ReduceNorm>(a);
}

TEST(CpuLines, LogarithmsOfSums) {
  struct Extents {
    std::vector<int64_t> x, axes;
  };
  const Extents all[] = {{{3, 40}, {1}},    {{3, 40}, {0}},      {{500, 7, 4}, {2}}, {{5, 30, 1}, {2}},
                         {{2, 30000}, {1}}, {{2, 3, 9000}, {1}}, {{4, 33, 31}, {}},  {{2, 60, 200}, {1, 2}}};
  for_each_level([&](const char*) {
    for (const Extents& e : all) {
      for (const float far : {0.0f, 200.0f, -200.0f}) {  // exponentials alone would leave float32
        std::vector<TestTensor> inputs{Values(5).reals(e.x, far - 3, far + 3)};
        if (!e.axes.empty()) inputs.push_back(integers(e.axes));
        // The logarithm of 30000 terms moves by a share of them that is far below the answer's own rounding.
        for (const int32_t slots : {1, 3})
          Case(Op::kReduceNorm, log_sum_exp(slots == 1), inputs).expect_close("log_sum_exp_f32", 64 * 0x1p-24, slots);
      }
    }
  });
}

TEST(CpuLines, LogarithmsOfSumsThatAreInfinite) {
  constexpr float kInf = INFINITY;
  for_each_level([](const char*) {
    Case(Op::kReduceNorm, log_sum_exp(true),
         {floats({4, 3}, {-kInf, -kInf, -kInf, kInf, 1, 2, 0, -kInf, kInf, kInf, kInf, kInf}), integers({1})})
        .expect_same_bits("log_sum_exp_f32");
    Case(Op::kReduceNorm, log_sum_exp(true), {floats({2, 2}, {-kInf, 3, 5, -kInf}), integers({1})})
        .expect_same_bits("log_sum_exp_f32");
    Case(Op::kReduceNorm, log_sum_exp(true), {floats({2, 0}, {0}), integers({1})}).expect_same_bits("log_sum_exp_f32");
  });
}

TEST(CpuLines, AxesThatAreNoNeighboursAreLeft) {
  Case(Op::kReduceNorm, log_sum_exp(true), {Values(5).reals({3, 4, 5}, -3, 3), integers({0, 2})})
      .expect_close("reference", 0);
}

std::vector<uint8_t> fourier(bool inverse, bool onesided) {
  attrs::FourierT a;
  a.inverse = inverse;
  a.onesided = onesided;
  return pack<attrs::Fourier>(a);
}
TestTensor integer(int64_t value) {
  TestTensor t = Values(1).bytes(DType::kI64, {});
  std::memcpy(t.bytes.data(), &value, sizeof(value));
  return t;
}

// Shares: up to 9 steps of some 8 roundings each, in both kernels, of sums that are up to 16 times the largest result.
constexpr double kFourierShare = 2 * 9 * 8 * 16 * 0x1p-24;

TEST(CpuLines, Transforms) {
  for_each_level([](const char*) {
    Values v(6);
    for (const int64_t n : {1, 2, 6, 35, 64, 100}) {
      for (const int32_t slots : {1, 3}) {
        for (const int64_t axis : {0, 1}) {
          const std::vector<int64_t> dims = axis == 0 ? std::vector<int64_t>{n, 5} : std::vector<int64_t>{19, n};
          const auto with = [&](int64_t parts) {
            std::vector<int64_t> all = dims;
            all.push_back(parts);
            return v.reals(all, -1, 1);
          };
          for (const bool inverse : {false, true}) {
            Case(Op::kDFT, fourier(inverse, false), {with(2), TestTensor{}, integer(axis)})
                .expect_close("dft_f32", kFourierShare, slots);
          }
          Case(Op::kDFT, fourier(false, true), {with(1), TestTensor{}, integer(axis)})
              .expect_close("dft_f32", kFourierShare, slots);
          for (const int64_t length : {n, n + 3, n / 2 + 1}) {
            Case(Op::kDFT, fourier(false, false), {with(2), integer(length), integer(axis)})
                .expect_close("dft_f32", kFourierShare, slots);
            Case(Op::kDFT, fourier(true, true), {with(2), integer(length), integer(axis)})
                .expect_close("dft_f32", kFourierShare, slots);
          }
        }
      }
    }
  });
}

// One line, padded and cut.
TEST(CpuLines, TransformsOfOneLine) {
  for_each_level([](const char*) {
    Values v(8);
    for (const bool inverse : {false, true}) {
      for (const int64_t have : {200, 256, 300}) {
        Case(Op::kDFT, fourier(inverse, false), {v.reals({1, have, 2}, -1, 1), integer(256)})
            .expect_close("dft_f32", kFourierShare);
      }
    }
    Case(Op::kDFT, fourier(false, true), {v.reals({512, 1, 1}, -1, 1), TestTensor{}, integer(0)})
        .expect_close("dft_f32", kFourierShare);
  });
}

TEST(CpuLines, Frames) {
  for_each_level([](const char*) {
    Values v(7);
    for (const int32_t slots : {1, 3}) {
      for (const int64_t step : {1, 10}) {
        Case(Op::kSTFT, fourier(false, true), {v.reals({2, 200, 1}, -1, 1), integer(step), v.reals({48}, 0, 1)})
            .expect_close("stft_f32", kFourierShare, slots);
        Case(Op::kSTFT, fourier(false, false), {v.reals({3, 100, 2}, -1, 1), integer(step), TestTensor{}, integer(30)})
            .expect_close("stft_f32", kFourierShare, slots);
      }
    }
  });
}

TEST(CpuLines, TransformsOfOtherTypes) {
  Case(Op::kDFT, fourier(false, false), {Values(2).bytes(DType::kF64, {3, 4, 2})}).expect_same_bits("reference");
}

}  // namespace
}  // namespace vireo

// Second moments: their factor and their solutions are exact, and rounding by them never loses more than nearest codes.
#include "quant/schemes/feedback.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "quant/schemes/matrix_codes.h"

namespace vireo::quant::feedback_test {
namespace {

// Of rows whose channels follow each other, with one that repeats another.
std::vector<double> moment_of_rows(int64_t size, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> out(static_cast<size_t>(size * size), 0);
  for (int row = 0; row < 200; ++row) {
    std::vector<double> x(static_cast<size_t>(size));
    for (size_t i = 0; i < x.size(); ++i) x[i] = normal(rng) + (i > 0 ? 0.9 * x[i - 1] : 0);
    x.back() = x[0];
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x.size(); ++j) out[i * x.size() + j] += x[i] * x[j] / 200;
    }
  }
  return out;
}

TEST(Feedback, FactorAndSolution) {
  for (const int64_t n : {1, 2, 7, 40}) {
    const Moment h(moment_of_rows(n, 3), n, 0.01);
    // U H U^T is the unit matrix, because inverse(H) = U^T U.
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t a = i; a < n; ++a) {
          for (int64_t b = j; b < n; ++b) sum += h.feedback(i)[a] * h.at(a, b) * h.feedback(j)[b];
        }
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-9) << n;
      }
    }
    std::vector<double> wanted(static_cast<size_t>(n)), b(wanted.size(), 0);
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = std::sin(static_cast<double>(i) + 1);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) b[static_cast<size_t>(i)] += h.at(i, j) * wanted[static_cast<size_t>(j)];
    }
    double energy = 0;
    for (size_t i = 0; i < b.size(); ++i) energy += wanted[i] * b[i];
    EXPECT_NEAR(h.of(wanted.data()), energy, 1e-9 * energy);
    h.solve(b.data());
    for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(b[i], wanted[i], 1e-9);
  }
}

TEST(Feedback, WithoutDataItIsTheUnitMatrix) {
  const Moment h({}, 3, 0.01);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(h.at(i, j), i == j ? 1 : 0);
  }
}

ir::ConstantPtr normal_weights(const Shape& shape, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> x(static_cast<size_t>(element_count(shape)));
  for (float& v : x) v = value(rng);
  return ir::make_constant_of<float>(DType::kF32, shape, x);
}

// What codes lose, from what they mean.
double loss_of(const ir::Constant& w, const ir::Constant& now, bool by_rows, const Moment& h) {
  const Shape& s = w.tensor.type.shape;
  const int64_t n = s[by_rows ? 0 : 1], k = s[by_rows ? 1 : 0];
  const auto* a = reinterpret_cast<const float*>(w.tensor.bytes.data());
  const auto* b = reinterpret_cast<const float*>(now.tensor.bytes.data());
  double sum = 0;
  for (int64_t column = 0; column < n; ++column) {
    std::vector<double> error(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = by_rows ? column * k + i : i * n + column;
      error[static_cast<size_t>(i)] = static_cast<double>(a[at]) - static_cast<double>(b[at]);
    }
    sum += h.of(error.data());
  }
  return sum;
}

TEST(Feedback, LosesLessThanNearestCodesAndSaysHowMuch) {
  for (const bool by_rows : {false, true}) {
    for (const int64_t k : {5, 32, 70}) {
      Shape shape;
      shape.rank = 2;
      shape[0] = by_rows ? 24 : k;
      shape[1] = by_rows ? k : 24;
      const ir::ConstantPtr w = normal_weights(shape, 11);
      const Moment h(moment_of_rows(k, 5), k, 0.01);
      RoundingTarget target;
      target.moment = &h;
      RoundingLoss said;
      const CodedMatrix codes = code_matrix(*w, by_rows, 4, target, &said);
      ASSERT_TRUE(codes.finite);
      const double nearest = loss_of(*w, *decoded(code_matrix(*w, by_rows, 4)), by_rows, h);
      const double taken = loss_of(*w, *decoded(codes), by_rows, h);
      EXPECT_NEAR(said.nearest, nearest, 1e-4 * nearest);
      EXPECT_NEAR(said.taken, taken, 1e-4 * taken);
      EXPECT_LT(taken, nearest * (k > 5 ? 0.7 : 1.0)) << k;
    }
  }
}

TEST(Feedback, NoColumnLosesMoreThanItsNearestCodes) {
  Shape shape;
  shape.rank = 2;
  shape[0] = 40;
  shape[1] = 1;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const int bits = seed % 2 == 0 ? 4 : 8;
    const ir::ConstantPtr w = normal_weights(shape, seed);
    const Moment h(moment_of_rows(40, seed), 40, 0.01);
    RoundingTarget target;
    target.moment = &h;
    RoundingLoss said;
    const CodedMatrix codes = code_matrix(*w, false, bits, target, &said);
    EXPECT_LE(said.taken, said.nearest);
    EXPECT_LE(loss_of(*w, *decoded(codes), false, h),
              loss_of(*w, *decoded(code_matrix(*w, false, bits)), false, h) * (1 + 1e-4));
  }
}

// Hardly any code is left beside which its neighbour would lose less.
TEST(Feedback, NoSingleCodeIsLeftThatWouldLoseLess) {
  Shape shape;
  shape.rank = 2;
  shape[0] = 1;
  shape[1] = 48;
  size_t better = 0, all = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ir::ConstantPtr w = normal_weights(shape, seed);
    const Moment h(moment_of_rows(48, seed), 48, 0.01);
    RoundingTarget target;
    target.moment = &h;
    RoundingLoss said;
    const CodedMatrix codes = code_matrix(*w, true, 4, target, &said);
    std::vector<float> values(48);
    std::memcpy(values.data(), decoded(codes)->tensor.bytes.data(), 48 * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) {
      for (const float step : {codes.scales[i / 32], -codes.scales[i / 32]}) {
        std::vector<float> other = values;
        other[i] += step;
        if (std::fabs(other[i] / step) > 7) continue;
        ++all;
        better +=
            loss_of(*w, *ir::make_constant_of<float>(DType::kF32, shape, other), true, h) < said.taken * (1 - 1e-6);
      }
    }
  }
  EXPECT_LT(better, all / 100) << all;  // a few, where three sweeps did not end it
}

}  // namespace
}  // namespace vireo::quant::feedback_test

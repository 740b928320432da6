// Which matrices take 8 bits: bytes are kept to, what costs most for its bytes comes first, and what answers lose is
// seen as a softmax sees it.
#include "quant/int4/eight_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quant/schemes/matrix_codes.h"

namespace vireo::quant::eight_bits_test {
namespace {

TensorView view(const std::vector<float>& values, int64_t row) {
  const auto count = static_cast<int64_t>(values.size());
  return {DType::kF32, {count / row, row}, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}};
}

TEST(EightBits, MostLossForTheBytesFirst) {
  const std::vector<Raise> raises = {{1, 100}, {5, 100}, {0, 1}, {30, 1000}, {2, 50}};
  EXPECT_EQ(best_raises(raises, 0), std::vector<size_t>());
  EXPECT_EQ(best_raises(raises, 150), (std::vector<size_t>{1, 4}));
  EXPECT_EQ(best_raises(raises, 250), (std::vector<size_t>{0, 1, 4}));  // the large one does not fit
  EXPECT_EQ(best_raises(raises, 1150), (std::vector<size_t>{1, 3, 4}));
  EXPECT_EQ(best_raises(raises, 5000), (std::vector<size_t>{0, 1, 3, 4}));  // what loses nothing stays
}

TEST(EightBits, BytesAreThoseOfCodesAndScales) {
  Shape shape;
  shape.rank = 2;
  shape[0] = 70;
  shape[1] = 6;
  const ir::ConstantPtr w = ir::make_constant_of<float>(DType::kF32, shape, std::vector<float>(420, 0.5f));
  for (const int bits : {4, 8}) {
    const CodedMatrix m = code_matrix(*w, false, bits);
    EXPECT_EQ(bytes_of_codes(70, 6, bits), m.codes.size() + m.scales.size() * (m.half ? 2 : 4)) << bits;
  }
}

TEST(EightBits, ScoresLoseTheDivergenceOfTheirSoftmax) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> was(60), is(60), moved(60);
  for (size_t i = 0; i < was.size(); ++i) {
    was[i] = 3 * normal(rng);
    is[i] = was[i] + 0.01f * normal(rng);
    moved[i] = was[i] + 5;  // the same for all: nothing to a softmax
  }
  AnswerLoss same, shifted, loss;
  same.add(view(was, 20), view(was, 20), true);
  shifted.add(view(was, 20), view(moved, 20), true);
  loss.add(view(was, 20), view(is, 20), true);
  double want = 0;
  for (size_t row = 0; row < 60; row += 20) {
    double a = 0, b = 0;
    for (size_t i = row; i < row + 20; ++i)
      a += std::exp(static_cast<double>(was[i])), b += std::exp(static_cast<double>(is[i]));
    for (size_t i = row; i < row + 20; ++i) {
      const double p = static_cast<double>(was[i]) - std::log(a), q = static_cast<double>(is[i]) - std::log(b);
      want += std::exp(p) * (p - q) / 3;
    }
  }
  EXPECT_EQ(same.value(), 0);
  EXPECT_LT(shifted.value(), 1e-9);
  EXPECT_NEAR(loss.value(), want, 0.02 * want);
}

TEST(EightBits, OtherAnswersLoseNoiseAgainstSignal) {
  AnswerLoss loss;
  const std::vector<float> was = {3, 4}, is = {3, 4.5f};
  loss.add(view(was, 2), view(is, 2), false);
  EXPECT_DOUBLE_EQ(loss.value(), 0.25 / 25);
}

}  // namespace
}  // namespace vireo::quant::eight_bits_test

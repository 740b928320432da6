#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::fourier_test {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

std::vector<uint8_t> attributes(bool inverse, bool onesided) {
  attrs::FourierT a;
  a.inverse = inverse;
  a.onesided = onesided;
  return pack<attrs::Fourier>(a);
}

Doubles pattern(size_t n) {
  Doubles out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<double>(static_cast<int>(i * 7 % 19) - 9) / 8;
  return out;
}

class DftOfLength : public testing::TestWithParam<int> {};

TEST_P(DftOfLength,
       IsTheDefinition) {  // error of a sum of n terms below 2: n 2^-52 2, with room for the factors' rounding
  const size_t n = static_cast<size_t>(GetParam());
  const Doubles x = pattern(2 * n);
  OpTest t(Op::kDFT, attributes(false, false));
  t.input<double>({GetParam(), 2}, x);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const Doubles y = t.y().as<double>();
  for (size_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (size_t j = 0; j < n; ++j) {
      const double angle = -2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += std::complex<double>(x[2 * j], x[2 * j + 1]) * std::polar(1.0, angle);
    }
    EXPECT_NEAR(y[2 * k], sum.real(), static_cast<double>(n) * 4e-15);
    EXPECT_NEAR(y[2 * k + 1], sum.imag(), static_cast<double>(n) * 4e-15);
  }
}

TEST_P(DftOfLength, InverseBringsBackTheSignal) {
  const int n = GetParam();
  const Doubles x = pattern(static_cast<size_t>(4 * n));
  OpTest forward(Op::kDFT, attributes(false, false));
  forward.input<double>({n, 2, 2}, x).absent().input<int64_t>({}, {0});
  ASSERT_EQ(forward.run(), Status::kOk) << forward.message();
  OpTest back(Op::kDFT, attributes(true, false));
  back.input(forward.y()).absent().input<int64_t>({}, {-3}).slots(2);
  ASSERT_EQ(back.run(), Status::kOk) << back.message();
  const Doubles y = back.y().as<double>();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-14 * n);
}

TEST_P(DftOfLength, OnesidedAndBack) {
  const int n = GetParam();
  const Doubles x = pattern(static_cast<size_t>(3 * n));
  OpTest forward(Op::kDFT, attributes(false, true));
  forward.input<double>({3, n, 1}, x);
  ASSERT_EQ(forward.run(), Status::kOk) << forward.message();
  EXPECT_EQ(forward.y().type.shape, make_shape({3, n / 2 + 1, 2}));
  OpTest back(Op::kDFT, attributes(true, true));
  back.input(forward.y()).input<int64_t>({}, {n});
  ASSERT_EQ(back.run(), Status::kOk) << back.message();
  EXPECT_EQ(back.y().type.shape, make_shape({3, n, 1}));
  const Doubles y = back.y().as<double>();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-14 * n);
}

INSTANTIATE_TEST_SUITE_P(Lengths, DftOfLength, testing::Values(1, 2, 3, 4, 7, 12, 30, 49, 64, 101));

TEST(Dft, LengthPadsAndCuts) {
  for (const int length : {2, 5}) {
    OpTest t(Op::kDFT, attributes(false, false));
    t.input<float>({3, 1}, {1, 2, 4}).input<int32_t>({}, {length});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({length, 2}));
    EXPECT_FLOAT_EQ(t.y().as<float>()[0], length == 2 ? 3.0f : 7.0f);
  }
}

TEST(Dft, InverseOnesidedLengthFollowsTheBins) {
  OpTest t(Op::kDFT, attributes(true, true));
  t.input<float>({3, 2}, {4, 9, 0, 0, 0, 9});  // imaginary parts of the real bins do not count
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{1, 1, 1, 1}));
}

TEST(Dft, Refusals) {
  OpTest parts(Op::kDFT, attributes(false, false));
  parts.input<float>({3, 2}, Floats(6)).absent().input<int64_t>({}, {-1});
  EXPECT_EQ(parts.run(), Status::kInvalidModel);
  OpTest complex(Op::kDFT, attributes(false, true));
  complex.input<float>({3, 2}, Floats(6));
  EXPECT_EQ(complex.run(), Status::kInvalidModel);
  OpTest zero(Op::kDFT, attributes(false, false));
  zero.input<float>({3, 2}, Floats(6)).input<int64_t>({}, {0});
  EXPECT_EQ(zero.run(), Status::kInvalidModel);
}

TEST(Stft, FramesAreWindowedDfts) {
  constexpr int kLength = 40, kFrame = 12, kStep = 5, kFrames = (kLength - kFrame) / kStep + 1;
  const Doubles x = pattern(2 * kLength);
  Doubles window(kFrame);
  for (size_t i = 0; i < kFrame; ++i) window[i] = 0.25 + static_cast<double>(i) / 16;
  OpTest t(Op::kSTFT, attributes(false, true));
  t.input<double>({2, kLength, 1}, x).input<int64_t>({}, {kStep}).input<double>({kFrame}, window);
  t.input<int64_t>({}, {kFrame}).slots(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  ASSERT_EQ(t.y().type.shape, make_shape({2, kFrames, kFrame / 2 + 1, 2}));
  const Doubles y = t.y().as<double>();
  size_t at = 0;
  for (size_t b = 0; b < 2; ++b) {
    for (size_t f = 0; f < kFrames; ++f) {
      Doubles frame(kFrame);
      for (size_t i = 0; i < kFrame; ++i) frame[i] = x[b * kLength + f * kStep + i] * window[i];
      OpTest d(Op::kDFT, attributes(false, true));
      d.input<double>({kFrame, 1}, frame);
      ASSERT_EQ(d.run(), Status::kOk);
      for (double v : d.y().as<double>()) EXPECT_EQ(y[at++], v);
    }
  }
}

TEST(Stft, WithoutAWindowAndComplex) {
  OpTest t(Op::kSTFT, attributes(false, false));
  t.input<float>({1, 5, 2}, Floats(10, 1)).input<int32_t>({}, {2}).absent().input<int32_t>({}, {3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 2, 3, 2}));
  EXPECT_NEAR(t.y().as<float>()[0], 3, 1e-6);
  EXPECT_NEAR(t.y().as<float>()[1], 3, 1e-6);
  EXPECT_NEAR(t.y().as<float>()[2], 0, 1e-6);
}

TEST(Stft, RefusesFramesLongerThanTheSignal) {
  OpTest t(Op::kSTFT, attributes(false, true));
  t.input<float>({1, 5, 1}, Floats(5)).input<int64_t>({}, {2}).input<float>({6}, Floats(6));
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

TEST(DFT, OnesidedOfNoSamples) {  // has one bin, a sum of nothing
  OpTest t(Op::kDFT, attributes(false, true));
  t.input<float>({2, 0, 1}, {});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 1, 2}));
  EXPECT_EQ(t.y().as<float>(), std::vector<float>(4, 0));
}

}  // namespace
}  // namespace vireo::fourier_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo::window_test {
namespace {

std::vector<uint8_t> attributes(DType t, bool periodic = true) {
  attrs::WindowT a;
  a.dtype = static_cast<uint8_t>(t);
  a.periodic = periodic;
  return pack<attrs::Window>(a);
}

TEST(Window, OnnxFormulas) {  // ONNX "HannWindow", "HammingWindow", "BlackmanWindow", examples of size 10
  const struct {
    Op op;
    double (*formula)(double x);  // x: n over the period
  } kCases[] = {{Op::kHannWindow, [](double x) { return std::pow(std::sin(M_PI * x), 2); }},
                {Op::kHammingWindow, [](double x) { return 25.0 / 46 - 21.0 / 46 * std::cos(2 * M_PI * x); }},
                {Op::kBlackmanWindow,
                 [](double x) { return 0.42 - 0.5 * std::cos(2 * M_PI * x) + 0.08 * std::cos(4 * M_PI * x); }}};
  for (const auto& c : kCases) {
    for (const bool periodic : {true, false}) {
      OpTest t(c.op, attributes(DType::kF64, periodic));
      t.input<int32_t>({}, {10});
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      const auto y = t.y().as<double>();
      ASSERT_EQ(y.size(), 10u);
      for (size_t n = 0; n < 10; ++n) EXPECT_NEAR(y[n], c.formula(static_cast<double>(n) / (periodic ? 10 : 9)), 1e-15);
    }
  }
}

TEST(Window, SymmetricOfOneSample) {
  OpTest t(Op::kHannWindow, attributes(DType::kF32, false));
  t.input<int64_t>({1}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), std::vector<float>{1});
}

TEST(Window, MiddleIsOneAsAnInteger) {
  for (const Op op : {Op::kHannWindow, Op::kHammingWindow, Op::kBlackmanWindow}) {
    OpTest t(op, attributes(DType::kI8));
    t.input<int32_t>({}, {10});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
  }
}

TEST(Window, RefusesStrings) {
  OpTest t(Op::kHannWindow, attributes(DType::kString));
  t.input<int64_t>({}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

TEST(MelWeightMatrix, OnnxExample) {  // ONNX "MelWeightMatrix", example melweightmatrix
  OpTest t(Op::kMelWeightMatrix, attributes(DType::kF32));
  t.input<int32_t>({}, {8}).input<int32_t>({}, {16}).input<int32_t>({}, {8192});
  t.input<float>({}, {0}).input<float>({}, {8192.0f / 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(),
            (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                                0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(MelWeightMatrix, RefusesEdgesAboveTheSpectrum) {
  OpTest t(Op::kMelWeightMatrix, attributes(DType::kF32));
  t.input<int32_t>({}, {8}).input<int32_t>({}, {16}).input<int32_t>({}, {8192});
  t.input<float>({}, {0}).input<float>({}, {16384});
  EXPECT_EQ(t.run(), Status::kInvalidArgument);
}

}  // namespace
}  // namespace vireo::window_test

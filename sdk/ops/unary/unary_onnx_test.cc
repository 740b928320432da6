#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/import_testing.h"

namespace vireo::unary_onnx_test {
namespace {

using Floats = std::vector<float>;

Floats run(ImportTest t, const Floats& x) {
  EXPECT_EQ(t.input<float>({static_cast<int64_t>(x.size())}, x).run(), Status::kOk) << t.message();
  return t.y().as<float>();
}

TEST(UnaryImport, SeluConstantsOfItsVersions) {
  const double one = std::exp(-1.0) - 1;
  EXPECT_NEAR(static_cast<double>(run(ImportTest("Selu", 1), {-1})[0]), 1.6732 * 1.0507 * one, 1e-6);
  EXPECT_NEAR(static_cast<double>(run(ImportTest("Selu", 6), {-1})[0]),
              1.67326319217681884765625 * 1.05070102214813232421875 * one, 1e-6);
}

TEST(UnaryImport, Celu) {  // ONNX "Celu": max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
  const Floats y = run(ImportTest("Celu", 12).attr("alpha", 2.0f), {-3, 0, 3});
  EXPECT_NEAR(y[0], 2 * (std::exp(-1.5f) - 1), 1e-6f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], 3.0f);
  ImportTest negative("Celu", 12);
  EXPECT_EQ(negative.attr("alpha", -1.0f).input<float>({1}, {1}).run(), Status::kUnsupported);
}

TEST(UnaryImport, SpelledByOtherOperators) {
  EXPECT_EQ(run(ImportTest("Reciprocal", 1), {-4, 2}), (Floats{-0.25f, 0.5f}));
  EXPECT_EQ(run(ImportTest("Softsign", 1), {-1, 0, 3}), (Floats{-0.5f, 0, 0.75f}));
  EXPECT_EQ(run(ImportTest("ThresholdedRelu", 10).attr("alpha", 2.0f), {-1.5f, 2, 2.5f}), (Floats{0, 0, 2.5f}));
  EXPECT_EQ(run(ImportTest("ThresholdedRelu", 10), {1, 1.5f}), (Floats{0, 1.5f}));  // alpha is 1
  ImportTest bits("BitwiseNot", 18);
  ASSERT_EQ(bits.input<uint16_t>({2}, {0, 0xFF00}).run(), Status::kOk) << bits.message();
  EXPECT_EQ(bits.y().as<uint16_t>(), (std::vector<uint16_t>{0xFFFF, 0x00FF}));
  ImportTest half("Reciprocal", 13);
  ASSERT_EQ(half.input<F16>({1}, {F16(4.0f)}).run(), Status::kOk) << half.message();
  EXPECT_EQ(half.y().type.dtype, DType::kF16);
}

TEST(UnaryImport, SwiGLU) {  // ONNX "SwiGLU" 28: swish(a) * b
  ImportTest t("SwiGLU", 28);
  ASSERT_EQ(t.input<float>({2}, {3, -1}).input<float>({2}, {2, 1}).run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y().as<float>()[0], 2 * 2.8577223f, 1e-6f);
  EXPECT_NEAR(t.y().as<float>()[1], -0.26894143f, 1e-6f);
  ImportTest ranks("SwiGLU", 28);
  EXPECT_EQ(ranks.input<float>({2}, {3, -1}).input<float>({1, 2}, {2, 1}).run(), Status::kInvalidModel);
}

TEST(UnaryImport, DefaultsOfAttributes) {
  EXPECT_EQ(run(ImportTest("LeakyRelu", 6), {-100}), (Floats{-1}));
  EXPECT_NEAR(run(ImportTest("HardSigmoid", 6), {1})[0], 0.7f, 1e-7f);
  EXPECT_EQ(run(ImportTest("Shrink", 9), {-0.5f, 0.75f}), (Floats{0, 0.75f}));
}

TEST(UnaryImport, GeluOfBothDomains) {
  const float erf = 0.84134474f, tanh = 0.841192f;
  EXPECT_NEAR(run(ImportTest("Gelu", 20), {1})[0], erf, 1e-6f);
  EXPECT_NEAR(run(ImportTest("Gelu", 20).attr("approximate", "tanh"), {1})[0], tanh, 1e-6f);
  EXPECT_NEAR(run(ImportTest("Gelu", 1, "com.microsoft"), {1})[0], erf, 1e-6f);
  EXPECT_NEAR(run(ImportTest("FastGelu", 1, "com.microsoft"), {1})[0], tanh, 1e-6f);
  ImportTest bias("BiasGelu", 1, "com.microsoft");
  ASSERT_EQ(bias.input<float>({1, 2}, {0, 1}).input<float>({2}, {1, 0}).run(), Status::kOk) << bias.message();
  EXPECT_NEAR(bias.y().as<float>()[0], erf, 1e-6f);
  EXPECT_NEAR(bias.y().as<float>()[1], erf, 1e-6f);
  EXPECT_NEAR(run(ImportTest("QuickGelu", 1, "com.microsoft"), {1})[0], 1 / (1 + std::exp(-1.702f)), 1e-6f);
  ImportTest unknown("Gelu", 20);
  EXPECT_EQ(unknown.attr("approximate", "cubic").input<float>({1}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::unary_onnx_test

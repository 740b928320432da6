#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/import_testing.h"

namespace vireo::optimizer_onnx_test {
namespace {

using Floats = std::vector<float>;

ImportTest step(const char* name, int64_t t) {
  ImportTest test(name, 1, "ai.onnx.preview.training");
  test.input<float>({}, {0.1f}).input<int64_t>({}, {t});
  return test;
}

// ONNX "Momentum" momentum: R 0.1, X [1.2, 2.8], G [-0.94, -2.5], V [1.7, 3.6], norm 0.001, alpha 0.95, beta 0.1.
TEST(Optimizer, Momentum) {
  for (int64_t t : {0, 1}) {
    ImportTest test = step("Momentum", t);
    test.attr("norm_coefficient", 0.001f).attr("alpha", 0.95f).attr("beta", 0.1f).attr("mode", "standard");
    test.input<float>({2}, {1.2f, 2.8f}).input<float>({2}, {-0.94f, -2.5f}).input<float>({2}, {1.7f, 3.6f}).outputs(2);
    ASSERT_EQ(test.run(), Status::kOk) << test.message();
    const double beta = t > 0 ? 0.1 : 1, v = 0.95 * 1.7 + beta * (0.001 * 1.2 - 0.94);
    EXPECT_NEAR(static_cast<double>(test.y(1).as<float>()[0]), v, 1e-6);
    EXPECT_NEAR(static_cast<double>(test.y(0).as<float>()[0]), 1.2 - 0.1 * v, 1e-6);
  }
}

TEST(Optimizer, AdamOfTwoTensors) {
  ImportTest test = step("Adam", 3);
  test.attr("alpha", 0.95f).attr("beta", 0.1f).attr("epsilon", 1e-7f).attr("norm_coefficient_post", 0.5f);
  for (const Floats& x : {Floats{1.2f}, Floats{1, 2}, Floats{-0.94f}, Floats{-1, -3}, Floats{1.7f}, Floats{4, 1},
                          Floats{0.1f}, Floats{0.1f, 0.2f}}) {
    test.input<float>({static_cast<int64_t>(x.size())}, x);
  }
  ASSERT_EQ(test.outputs(6).run(), Status::kOk) << test.message();
  const double v = 0.95 * 1.7 + 0.05 * -0.94, h = 0.1 * 0.1 + 0.9 * 0.94 * 0.94;
  const double r = 0.1 * std::sqrt(1 - std::pow(0.1, 3)) / (1 - std::pow(0.95, 3));
  EXPECT_NEAR(static_cast<double>(test.y(2).as<float>()[0]), v, 1e-6);
  EXPECT_NEAR(static_cast<double>(test.y(4).as<float>()[0]), h, 1e-6);
  EXPECT_NEAR(static_cast<double>(test.y(0).as<float>()[0]), 0.5 * (1.2 - r * v / std::sqrt(h)), 1e-5);
  EXPECT_EQ(test.y(1).as<float>().size(), 2u);
}

TEST(Optimizer, RefusesUnequalGroups) {
  ImportTest test = step("Adagrad", 0);
  EXPECT_EQ(test.input<float>({1}, {1}).input<float>({1}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::optimizer_onnx_test

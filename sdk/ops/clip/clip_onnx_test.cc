#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::clip_onnx_test {
namespace {

TEST(ClipImport, AttributesBecomeInputs) {  // until opset 10
  ImportTest both("Clip", 6);
  both.attr("min", -1.0f).attr("max", 6.0f).input<F16>({3}, {F16(-5.0f), F16(2.0f), F16(9.0f)});
  ASSERT_EQ(both.run(), Status::kOk) << both.message();
  const auto y = both.y().as<F16>();
  EXPECT_EQ(static_cast<float>(y[0]), -1.0f);
  EXPECT_EQ(static_cast<float>(y[1]), 2.0f);
  EXPECT_EQ(static_cast<float>(y[2]), 6.0f);
  ImportTest high("Clip", 10);
  ASSERT_EQ(high.attr("max", 1.0f).input<float>({2}, {-1e30f, 2}).run(), Status::kOk) << high.message();
  EXPECT_EQ(high.y().as<float>(), (std::vector<float>{-1e30f, 1}));
  ImportTest none("Clip", 6);
  ASSERT_EQ(none.input<float>({1}, {7}).run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y().as<float>(), (std::vector<float>{7}));
}

TEST(ClipImport, AbsentMinimum) {
  ImportTest t("Clip", 11);
  t.input<float>({2}, {-9, 9}).input(TestTensor{}).input<float>({}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-9, 1}));
}

}  // namespace
}  // namespace vireo::clip_onnx_test

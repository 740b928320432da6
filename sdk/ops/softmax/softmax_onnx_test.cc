#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::softmax_onnx_test {
namespace {

using Floats = std::vector<float>;

// Opset 11 normalises over everything from `axis` on: with equal elements each is 1 / their number.
TEST(SoftmaxImport, CoercionBeforeOpset13) {
  const std::pair<int, float> cases[] = {{0, 1.0f / 24}, {1, 1.0f / 12},  {2, 1.0f / 4},
                                         {-1, 1.0f / 4}, {-2, 1.0f / 12}, {3, 1}};
  for (const auto& [axis, share] : cases) {
    ImportTest t("Softmax", 11);
    ASSERT_EQ(t.attr("axis", axis).input<float>({2, 3, 4}, Floats(24, 5)).run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({2, 3, 4}));
    for (float v : t.y().as<float>()) EXPECT_FLOAT_EQ(v, share) << axis;
  }
}

TEST(SoftmaxImport, DefaultAxisIsOneBeforeOpset13) {
  ImportTest old("Hardmax", 1), now("Hardmax", 13);
  const Floats x = {1, 2, 4, 3, 9, 8, 7, 6};
  ASSERT_EQ(old.input<float>({2, 2, 2}, x).run(), Status::kOk) << old.message();
  EXPECT_EQ(old.y().as<float>(), (Floats{0, 0, 1, 0, 1, 0, 0, 0}));
  ASSERT_EQ(now.input<float>({2, 2, 2}, x).run(), Status::kOk) << now.message();
  EXPECT_EQ(now.y().as<float>(), (Floats{0, 1, 1, 0, 1, 0, 1, 0}));
}

TEST(SoftmaxImport, OneDimensionNeedsNoReshape) {
  for (const auto& dims : {std::vector<int64_t>{2, 3}, std::vector<int64_t>{2, 3, 1, 1}}) {
    ImportTest t("LogSoftmax", 11);
    ASSERT_EQ(t.input<float>(dims, Floats(6)).run(), Status::kOk) << t.message();
    EXPECT_EQ(t.emitted(), (std::vector<Op>{Op::kLogSoftmax}));
  }
}

TEST(SoftmaxImport, EmptyAndRefused) {
  ImportTest empty("Softmax", 11);
  EXPECT_EQ(empty.input<float>({2, 0, 3}, {}).run(), Status::kOk) << empty.message();
  ImportTest axis("Softmax", 11);
  EXPECT_EQ(axis.attr("axis", 3).input<float>({2, 2}, Floats(4)).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::softmax_onnx_test

#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::split_onnx_test {
namespace {

using Ints = std::vector<int64_t>;

TEST(SplitImport, SizesFromTheAttributeBeforeOpset13) {
  ImportTest t("Split", 11);
  t.attr("split", Ints{1, 2}).input<float>({3}, {1, 2, 3}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), std::vector<float>{1});
  EXPECT_EQ(t.y(1).as<float>(), (std::vector<float>{2, 3}));
}

TEST(SplitImport, PartsOfOpset18) {
  ImportTest t("Split", 18);
  t.attr("num_outputs", 2).input<float>({3}, {1, 2, 3}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(t.y(1).as<float>(), std::vector<float>{3});
}

}  // namespace
}  // namespace vireo::split_onnx_test

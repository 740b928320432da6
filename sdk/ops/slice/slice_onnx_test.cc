#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::slice_onnx_test {
namespace {

using Ints = std::vector<int64_t>;

TEST(SliceImport, RangesFromTheAttributesOfOpset1) {
  ImportTest t("Slice", 9), all("Slice", 1);
  t.attr("axes", Ints{1}).attr("starts", Ints{-2}).attr("ends", Ints{1000}).input<float>({1, 4}, {1, 2, 3, 4});
  all.attr("starts", Ints{0, 1}).attr("ends", Ints{1, 2}).input<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  ASSERT_EQ(all.run(), Status::kOk) << all.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(all.y().as<float>(), std::vector<float>{2});
}

}  // namespace
}  // namespace vireo::slice_onnx_test

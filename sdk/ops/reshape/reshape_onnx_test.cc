#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::reshape_onnx_test {
namespace {

using Ints = std::vector<int64_t>;

TEST(ReshapeImport, ShapeFromTheAttributeOfOpset1) {
  ImportTest t("Reshape", 4);
  t.attr("shape", Ints{-1, 2}).input<float>({4}, {1, 2, 3, 4});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 2}));
}

TEST(SqueezeImport, AxesFromEitherPlaceOrFromTheShape) {
  ImportTest old("Squeeze", 11), now("Squeeze", 13), none("Squeeze", 13);
  old.attr("axes", Ints{1}).input<float>({2, 1, 1}, {1, 2});
  now.input<float>({2, 1, 1}, {1, 2}).input<int64_t>({1}, {1});
  none.input<float>({2, 1, 1}, {1, 2});
  ASSERT_EQ(old.run(), Status::kOk) << old.message();
  ASSERT_EQ(now.run(), Status::kOk) << now.message();
  ASSERT_EQ(none.run(), Status::kOk) << none.message();
  EXPECT_EQ(old.y().type.shape, make_shape({2, 1}));
  EXPECT_EQ(now.y().type.shape, make_shape({2, 1}));
  EXPECT_EQ(none.y().type.shape, make_shape({2}));
}

TEST(UnsqueezeImport, AxesFromTheAttributeBeforeOpset13) {
  ImportTest t("Unsqueeze", 11);
  t.attr("axes", Ints{0, 2}).input<float>({2}, {1, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 2, 1}));
}

}  // namespace
}  // namespace vireo::reshape_onnx_test

#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::expand_onnx_test {
namespace {

TEST(TileImport, OneAxisInOpset1) {
  ImportTest t("Tile", 1);
  t.input<float>({1, 2}, {1, 2}).constant<float>({1}, {2}).constant<float>({1}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 4}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace vireo::expand_onnx_test

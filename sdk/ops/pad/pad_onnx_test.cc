#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::pad_onnx_test {
namespace {

using Ints = std::vector<int64_t>;

TEST(PadImport, AttributesOfOpsets1And2) {
  ImportTest first("Pad", 1), second("Pad", 2);
  first.attr("paddings", Ints{1, 0}).attr("mode", "edge").input<float>({2}, {3, 4});
  second.attr("pads", Ints{0, 2}).attr("value", 7.0f).input<float>({2}, {3, 4});
  ASSERT_EQ(first.run(), Status::kOk) << first.message();
  ASSERT_EQ(second.run(), Status::kOk) << second.message();
  EXPECT_EQ(first.y().as<float>(), (std::vector<float>{3, 3, 4}));
  EXPECT_EQ(second.y().as<float>(), (std::vector<float>{3, 4, 7, 7}));
}

TEST(PadImport, RefusesAnUnknownMode) {
  ImportTest t("Pad", 13);
  t.attr("mode", "mirror").input<float>({1}, {1}).input<int64_t>({2}, {0, 0});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::pad_onnx_test

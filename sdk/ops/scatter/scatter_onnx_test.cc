#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::scatter_onnx_test {
namespace {

TEST(ScatterImport, IsScatterElementsByItsOldName) {  // ONNX "Scatter", example scatter_with_axis
  ImportTest t("Scatter", 10);
  t.attr("axis", 1)
      .input<float>({1, 5}, {1, 2, 3, 4, 5})
      .input<int64_t>({1, 2}, {1, 3})
      .input<float>({1, 2}, {1.1f, 2.1f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 1.1f, 3, 2.1f, 5}));
  ASSERT_EQ(t.emitted().size(), 1u);
  EXPECT_EQ(t.emitted()[0], Op::kScatterElements);
}

TEST(ScatterImport, RefusesAnUnknownReduction) {
  ImportTest t("ScatterND", 18);
  t.attr("reduction", "mean").input<float>({1}, {1}).input<int64_t>({1, 1}, {0}).input<float>({1}, {2});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::scatter_onnx_test

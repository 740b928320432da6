#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::top_k_onnx_test {
namespace {

TEST(TopKImport, CountFromTheAttributeOfOpset1) {
  ImportTest t("TopK", 1);
  t.attr("k", 2).input<float>({3}, {1, 3, 2}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{3, 2}));
  EXPECT_EQ(t.y(1).as<int64_t>(), (std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace vireo::top_k_onnx_test

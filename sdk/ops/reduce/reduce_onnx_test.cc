#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::reduce_onnx_test {
namespace {

using Ints = std::vector<int64_t>;

// The attribute of the old form and the input of the new one, on both sides of the change.
TEST(ReduceImport, AxesFromEitherPlace) {
  const std::pair<const char*, int> changes[] = {
      {"ReduceSum", 13}, {"ReduceMean", 18}, {"ReduceMax", 18}, {"ReduceL1", 18}};
  for (const auto& [name, change] : changes) {
    ImportTest old(name, change - 1), now(name, change);
    old.attr("axes", Ints{1}).attr("keepdims", 0).input<float>({2, 2}, {1, 2, 3, 5});
    now.attr("keepdims", 0).input<float>({2, 2}, {1, 2, 3, 5}).input<int64_t>({1}, {1});
    ASSERT_EQ(old.run(), Status::kOk) << old.message();
    ASSERT_EQ(now.run(), Status::kOk) << now.message();
    EXPECT_EQ(old.y().bytes, now.y().bytes) << name;
    EXPECT_EQ(old.y().type.shape, make_shape({2})) << name;
  }
}

// log(2 + 6) = 2.08, log(e^5 + e^3) = 5.13
TEST(ReduceImport, LogarithmsOfIntegers) {
  ImportTest sum("ReduceLogSum", 18), exponents("ReduceLogSumExp", 13);
  ASSERT_EQ(sum.input<int64_t>({2}, {2, 6}).run(), Status::kOk) << sum.message();
  EXPECT_EQ(sum.y().as<int64_t>(), (std::vector<int64_t>{2}));
  ASSERT_EQ(exponents.attr("axes", Ints{-1}).input<int32_t>({1, 2}, {5, 3}).run(), Status::kOk) << exponents.message();
  EXPECT_EQ(exponents.y().as<int32_t>(), (std::vector<int32_t>{5}));
}

TEST(ReduceImport, NoAxes) {
  ImportTest all("ReduceMax", 11);
  ASSERT_EQ(all.input<float>({2, 2}, {1, 2, 3, 5}).run(), Status::kOk) << all.message();
  EXPECT_EQ(all.y().type.shape, make_shape({1, 1}));
  ImportTest noop("ReduceSumSquare", 18);
  noop.attr("noop_with_empty_axes", 1).input<float>({2}, {2, 3}).input<int64_t>({0}, {});
  ASSERT_EQ(noop.run(), Status::kOk) << noop.message();
  EXPECT_EQ(noop.y().as<float>(), (std::vector<float>{4, 9}));
}

}  // namespace
}  // namespace vireo::reduce_onnx_test

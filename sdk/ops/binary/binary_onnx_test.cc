#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::binary_onnx_test {
namespace {

using Floats = std::vector<float>;

// Opset 6 places the second operand at `axis`: shape(A) = (2,3,2), shape(B) = (3), axis 1 (ONNX "Add" 6, its example).
TEST(BinaryImport, AxisOfOpset6) {
  for (bool constant : {false, true}) {
    ImportTest t("Sub", 6);
    t.attr("broadcast", 1).attr("axis", 1).input<float>({2, 3, 2}, {0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9});
    const TestTensor b = ImportTest::tensor<float>({3}, {1, 2, 3});
    constant ? t.constant(b) : t.input(b);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(), (Floats{-1, -1, -2, -2, -3, -3, 8, 8, 7, 7, 6, 6}));
    EXPECT_EQ(t.y().type.shape, make_shape({2, 3, 2}));
  }
}

TEST(BinaryImport, SuffixOfOpset6) {  // no axis: the last dimensions match
  ImportTest t("Mul", 1);
  t.attr("broadcast", 1).input<float>({2, 2}, {1, 2, 3, 4}).input<float>({2}, {10, 100});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{10, 200, 30, 400}));
  EXPECT_EQ(t.emitted(), (std::vector<Op>{Op::kMul}));
}

TEST(BinaryImport, AxisOutside) {
  ImportTest t("Add", 6);
  t.attr("broadcast", 1).attr("axis", 2).input<float>({2, 3, 2}, Floats(12)).input<float>({3, 2}, Floats(6));
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

TEST(BinaryImport, SlopePerChannelOfOpset6) {
  ImportTest t("PRelu", 6);
  t.input<float>({1, 2, 1, 2}, {-1, -1, -1, -1}).input<float>({2}, {0.5f, 0.25f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{-0.5f, -0.5f, -0.25f, -0.25f}));
  ImportTest newer("PRelu", 9);  // NumPy's rules since opset 7
  newer.input<float>({1, 2, 1, 2}, {-1, -1, -1, -1}).input<float>({2}, {0.5f, 0.25f});
  ASSERT_EQ(newer.run(), Status::kOk) << newer.message();
  EXPECT_EQ(newer.y().as<float>(), (Floats{-0.5f, -0.25f, -0.5f, -0.25f}));
}

TEST(BinaryImport, GreaterIsLessExchanged) {
  ImportTest t("Greater", 13);
  t.input<float>({3}, {1, 2, 3}).input<float>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_EQ(t.emitted(), (std::vector<Op>{Op::kLess}));
  ImportTest old("Greater", 1);
  old.attr("broadcast", 1).attr("axis", 0).input<float>({2, 2}, {1, 2, 3, 4}).input<float>({2}, {1, 3});
  ASSERT_EQ(old.run(), Status::kOk) << old.message();
  EXPECT_EQ(old.y().bytes, (std::vector<uint8_t>{0, 1, 0, 1}));
}

TEST(BinaryImport, VariadicOperators) {
  ImportTest mean("Mean", 13);
  mean.input<float>({2}, {3, 0}).input<float>({1}, {2}).input<float>({2, 1}, {1, 4});
  ASSERT_EQ(mean.run(), Status::kOk) << mean.message();
  EXPECT_EQ(mean.y().as<float>(), (Floats{2, 1, 3, 2}));
  ImportTest one("Max", 8);
  one.input<float>({2}, {3, 0});
  ASSERT_EQ(one.run(), Status::kOk) << one.message();
  EXPECT_TRUE(one.emitted().empty());
  ImportTest none("Sum", 8);
  EXPECT_EQ(none.run(), Status::kInvalidModel);
}

TEST(BinaryImport, BitShiftNeedsItsDirection) {
  ImportTest t("BitShift", 11);
  t.attr("direction", "UP").input<uint8_t>({1}, {1}).input<uint8_t>({1}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  EXPECT_EQ(t.message(), "direction is \"UP\", wanted \"LEFT\" or \"RIGHT\"");
}

}  // namespace
}  // namespace vireo::binary_onnx_test

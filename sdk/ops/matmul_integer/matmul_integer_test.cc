#include <gtest/gtest.h>

#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::matmul_integer_test {
namespace {

OpTest integer() { return OpTest(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{})); }
OpTest qlinear() { return OpTest(Op::kQLinearMatMul, pack<attrs::QLinearMatMul>(attrs::QLinearMatMulT{})); }

TEST(MatMulInteger, OnnxExample) {  // ONNX "MatMulInteger", example matmulinteger
  OpTest t = integer();
  t.input<uint8_t>({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}).input<uint8_t>({3, 2}, {1, 4, 2, 5, 3, 6});
  t.input<uint8_t>({1}, {12}).input<uint8_t>({1}, {0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{-38, -83, -44, -98, -50, -113, -56, -128}));
}

TEST(MatMulInteger, ZeroPointsOfRowsAndColumns) {
  OpTest t = integer();
  t.input<int8_t>({2, 1}, {-128, 127}).input<uint8_t>({1, 2}, {0, 255});
  t.input<int8_t>({2}, {127, -128}).input<uint8_t>({2}, {255, 0}).slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{65025, -65025, -65025, 65025}));
  OpTest u = integer();  // one for each row of each matrix: [2, 1, 1]
  u.input<int8_t>({2, 1, 1}, {5, 5}).input<int8_t>({1, 1}, {3}).input<int8_t>({2, 1, 1}, {1, 2});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<int32_t>(), (std::vector<int32_t>{12, 9}));
}

TEST(QLinearMatMul, OnnxExample) {  // ONNX "QLinearMatMul", example qlinearmatmul in uint8 and float32
  OpTest t = qlinear();
  t.input<uint8_t>({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}).input<float>({1}, {0.0066f}).input<uint8_t>({1}, {113});
  t.input<uint8_t>({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247}).input<float>({1}, {0.00705f});
  t.input<uint8_t>({1}, {114}).input<float>({1}, {0.0107f}).input<uint8_t>({1}, {118});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{168, 115, 255, 1, 66, 151}));
}

TEST(MatMulInteger, Refusals) {
  OpTest zero = integer();
  zero.input<int8_t>({1, 1}, {1}).input<int8_t>({1, 1}, {1}).input<uint8_t>({}, {1});
  EXPECT_EQ(zero.run(), Status::kInvalidModel);
  OpTest length = integer();
  length.input<int8_t>({1, 1}, {1}).input<int8_t>({1, 1}, {1}).input<int8_t>({3}, {1, 2, 3});
  EXPECT_EQ(length.run(), Status::kInvalidModel);
}

// y = a b with factors of 1 but for y's: `scales` of the shape `dims`.
OpTest scaled(const std::vector<int64_t>& a, const std::vector<int64_t>& b, const std::vector<int64_t>& dims,
              const std::vector<float>& scales) {
  const auto ones = [](const std::vector<int64_t>& of) {
    size_t n = 1;
    for (const int64_t d : of) n *= static_cast<size_t>(d);
    return std::vector<uint8_t>(n, 1);
  };
  OpTest t = qlinear();
  t.input<uint8_t>(a, ones(a)).input<float>({}, {1}).input<uint8_t>({}, {0});
  t.input<uint8_t>(b, ones(b)).input<float>({}, {1}).input<uint8_t>({}, {0});
  t.input<float>(dims, scales).input<uint8_t>({}, {0});
  return t;
}

TEST(QLinearMatMul, RowsOfVectors) {
  OpTest rows = scaled({2, 3, 4}, {4}, {3}, {1, 2, 4});
  ASSERT_EQ(rows.run(), Status::kOk) << rows.message();
  EXPECT_EQ(rows.y().as<uint8_t>(), (std::vector<uint8_t>{4, 2, 1, 4, 2, 1}));
  OpTest matrix = scaled({3, 4}, {4}, {3}, {1, 2, 4});
  ASSERT_EQ(matrix.run(), Status::kOk) << matrix.message();
  EXPECT_EQ(matrix.y().as<uint8_t>(), (std::vector<uint8_t>{4, 2, 1}));
  EXPECT_EQ(scaled({2, 64, 4}, {4}, {2}, {1, 2}).run(), Status::kInvalidModel);     // y is [2, 64]: no batches
  EXPECT_EQ(scaled({2, 64, 4}, {4}, {2, 1}, {1, 2}).run(), Status::kInvalidModel);  // nor 128 of them
  EXPECT_EQ(scaled({4}, {2, 4, 3}, {2}, {1, 2}).run(), Status::kInvalidModel);
  EXPECT_EQ(scaled({4}, {4}, {2}, {1, 2}).run(), Status::kInvalidModel);
  OpTest number = scaled({4}, {2, 4, 3}, {1}, {2});
  ASSERT_EQ(number.run(), Status::kOk) << number.message();
  EXPECT_EQ(number.y().as<uint8_t>(), std::vector<uint8_t>(6, 2));
}

}  // namespace
}  // namespace vireo::matmul_integer_test

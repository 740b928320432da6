#include <gtest/gtest.h>

#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::matmul_test {
namespace {

OpTest matmul() { return OpTest(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{})); }

TEST(MatMul, TwoDimensions) {
  OpTest t = matmul();
  t.input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).input<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{22, 28, 49, 64}));
}

TEST(MatMul, VectorsLoseTheirDimension) {
  OpTest dot = matmul();
  dot.input<float>({3}, {1, 2, 3}).input<float>({3}, {4, 5, 6});
  ASSERT_EQ(dot.run(), Status::kOk) << dot.message();
  EXPECT_EQ(dot.y().type.shape.rank, 0);
  EXPECT_EQ(dot.y().as<float>(), (std::vector<float>{32}));
  OpTest left = matmul();
  left.input<float>({2}, {1, 10}).input<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 1, 1, 1, 1});
  ASSERT_EQ(left.run(), Status::kOk) << left.message();
  EXPECT_EQ(left.y().type.shape, make_shape({2, 3}));
  EXPECT_EQ(left.y().as<float>(), (std::vector<float>{41, 52, 63, 10, 10, 11}));
  OpTest right = matmul();
  right.input<float>({2, 1, 2}, {1, 2, 3, 4}).input<float>({2}, {1, 10});
  ASSERT_EQ(right.run(), Status::kOk) << right.message();
  EXPECT_EQ(right.y().type.shape, make_shape({2, 1}));
  EXPECT_EQ(right.y().as<float>(), (std::vector<float>{21, 43}));
}

TEST(MatMul, LeadingDimensionsBroadcast) {  // [2,1] against [3]: y[i,j] = a[i] * b[j]
  OpTest t = matmul();
  t.input<float>({2, 1, 1, 1}, {1, 10}).input<float>({3, 1, 1}, {2, 3, 4}).slots(4);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 3, 1, 1}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{2, 3, 4, 20, 30, 40}));
}

TEST(MatMul, IntegersWrapAround) {
  OpTest t = matmul();
  t.input<int32_t>({1, 2}, {INT32_MAX, -3}).input<int32_t>({2, 1}, {2, 5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{-17}));  // 2^32 - 2 - 15
}

TEST(MatMul, EmptySumIsZero) {
  OpTest t = matmul();
  t.input<double>({2, 0}, {}).input<double>({0, 1}, {});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>(), (std::vector<double>{0, 0}));
}

TEST(MatMul, Refusals) {
  OpTest inner = matmul();
  inner.input<float>({1, 2}, {1, 2}).input<float>({3, 1}, {1, 2, 3});
  EXPECT_EQ(inner.run(), Status::kInvalidModel);
  OpTest scalar = matmul();
  scalar.input<float>({}, {1}).input<float>({1, 1}, {1});
  EXPECT_EQ(scalar.run(), Status::kInvalidModel);
  OpTest types = matmul();
  types.input<float>({1, 1}, {1}).input<double>({1, 1}, {1});
  EXPECT_EQ(types.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::matmul_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/testing.h"
#include "sdk/ops/top_k/top_k_generated.h"
#include "sdk/ops/view.h"

namespace vireo::top_k_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

OpTest top_k(const I64& dims, const F32& x, int64_t k, int axis, bool largest) {
  attrs::TopKT a;
  a.axis = axis;
  a.largest = largest;
  OpTest t(Op::kTopK, pack<attrs::TopK>(a));
  t.input<float>(dims, x).input<int64_t>({1}, {k}).outputs(2);
  return t;
}

TEST(TopK, OnnxExamples) {  // ONNX "TopK": top_k, top_k_smallest, top_k_same_values
  const F32 x = {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8};
  OpTest large = top_k({3, 4}, x, 3, 1, true);
  ASSERT_EQ(large.run(), Status::kOk) << large.message();
  EXPECT_EQ(large.y(0).as<float>(), (F32{3, 2, 1, 7, 6, 5, 11, 10, 9}));
  EXPECT_EQ(large.y(1).as<int64_t>(), (I64{3, 2, 1, 3, 2, 1, 0, 1, 2}));
  OpTest small = top_k({3, 4}, x, 3, -1, false);
  ASSERT_EQ(small.run(), Status::kOk) << small.message();
  EXPECT_EQ(small.y(0).as<float>(), (F32{0, 1, 2, 4, 5, 6, 8, 9, 10}));
  EXPECT_EQ(small.y(1).as<int64_t>(), (I64{0, 1, 2, 0, 1, 2, 3, 2, 1}));
  OpTest same = top_k({4}, {1, 1, 1, 1}, 3, 0, true);
  ASSERT_EQ(same.run(), Status::kOk) << same.message();
  EXPECT_EQ(same.y(1).as<int64_t>(), (I64{0, 1, 2}));
}

TEST(TopK, OuterAxis) {
  OpTest t = top_k({3, 2}, {1, 9, 5, 8, 3, 7}, 2, 0, true);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (F32{5, 9, 3, 8}));
  EXPECT_EQ(t.y(1).as<int64_t>(), (I64{1, 0, 2, 1}));
}

TEST(TopK, SortsWholeLinesStably) {  // 64 values out of 8: equal ones in order of index
  F32 x;
  for (int i = 0; i < 64; ++i) x.push_back(static_cast<float>(i * 37 % 8));
  OpTest t = top_k({64}, x, 64, 0, true);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const F32 v = t.y(0).as<float>();
  const I64 at = t.y(1).as<int64_t>();
  for (size_t i = 1; i < 64; ++i) {
    EXPECT_EQ(v[i], x[static_cast<size_t>(at[i])]);
    EXPECT_TRUE(v[i - 1] > v[i] || (v[i - 1] == v[i] && at[i - 1] < at[i]));
  }
}

TEST(TopK, NanCountsAsLargest) {
  OpTest t = top_k({3}, {1, NAN, 2}, 2, 0, true);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(1).as<int64_t>(), (I64{1, 2}));
}

TEST(TopK, NothingAndTooMuch) {
  OpTest none = top_k({3}, {1, 2, 3}, 0, 0, true);
  ASSERT_EQ(none.run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y(0).type.shape, make_shape({0}));
  EXPECT_EQ(top_k({3}, {1, 2, 3}, 4, 0, true).run(), Status::kInvalidModel);
  EXPECT_EQ(top_k({3}, {1, 2, 3}, -1, 0, true).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::top_k_test

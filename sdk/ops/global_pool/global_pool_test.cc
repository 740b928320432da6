#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::global_pool_test {
namespace {

const std::vector<float> kNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

OpTest pool(Op op, const attrs::GlobalPoolT& a = {}) { return OpTest(op, pack<attrs::GlobalPool>(a)); }

TEST(GlobalPool, OnnxPrecomputed) {  // ONNX "GlobalMaxPool", "GlobalAveragePool", examples ..._precomputed
  OpTest m = pool(Op::kGlobalMaxPool);
  m.input<float>({1, 1, 3, 3}, kNine);
  ASSERT_EQ(m.run(), Status::kOk) << m.message();
  EXPECT_EQ(m.y().type.shape, make_shape({1, 1, 1, 1}));
  EXPECT_EQ(m.y().as<float>(), (std::vector<float>{9}));
  OpTest a = pool(Op::kGlobalAveragePool);
  a.input<float>({1, 1, 3, 3}, kNine);
  ASSERT_EQ(a.run(), Status::kOk) << a.message();
  EXPECT_EQ(a.y().as<float>(), (std::vector<float>{5}));
}

TEST(GlobalPool, LpIsTheNorm) {
  OpTest t = pool(Op::kGlobalLpPool);
  t.input<float>({1, 2, 2}, {3, -4, 0, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y().as<float>()[0], 5.0f, 1e-6f);
  EXPECT_NEAR(t.y().as<float>()[1], 2.0f, 1e-6f);
}

TEST(GlobalPool, ChannelsLast) {
  attrs::GlobalPoolT a;
  a.layout = 1;
  OpTest t = pool(Op::kGlobalAveragePool, a);
  t.input<float>({1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40}).slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 1, 1, 2}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{2.5f, 25}));
}

TEST(GlobalPool, Refusals) {
  OpTest rank = pool(Op::kGlobalMaxPool);
  rank.input<float>({9}, kNine);
  EXPECT_EQ(rank.run(), Status::kInvalidModel);
  attrs::GlobalPoolT a;
  a.p = 0;
  OpTest p = pool(Op::kGlobalLpPool, a);
  p.input<float>({1, 1, 3, 3}, kNine);
  EXPECT_EQ(p.run(), Status::kInvalidModel);
}

TEST(GlobalPool, NotANumberWins) {  // as in ReduceMax and the tuned kernels
  for (const size_t at : {size_t{0}, size_t{1}, size_t{2}}) {
    std::vector<float> x = {1, 2, 3};
    x[at] = NAN;
    OpTest t = pool(Op::kGlobalMaxPool);
    t.input<float>({1, 1, 3}, x);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_TRUE(std::isnan(t.y().as<float>()[0])) << at;
  }
}

}  // namespace
}  // namespace vireo::global_pool_test

#include <gtest/gtest.h>

#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::gemm_test {
namespace {

OpTest gemm(const attrs::GemmT& a) { return OpTest(Op::kGemm, pack<attrs::Gemm>(a)); }

// y = 0.25 * A^T * B^T + 0.35 * C as in ONNX "Gemm", example all_attributes, on small numbers.
TEST(Gemm, AllAttributes) {
  attrs::GemmT a;
  a.alpha = 0.25f;
  a.beta = 0.5f;
  a.trans_a = a.trans_b = true;
  OpTest t = gemm(a);
  t.input<float>({3, 2}, {1, 4, 2, 5, 3, 6})
      .input<float>({2, 3}, {1, 3, 5, 2, 4, 6})
      .input<float>({1, 2}, {2, 4})
      .slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{6.5f, 9, 13.25f, 18}));
}

TEST(Gemm, EveryBroadcastOfC) {
  const std::vector<std::vector<int64_t>> shapes = {{}, {1}, {2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}};
  const std::vector<std::vector<float>> wanted = {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 2, 1, 2}, {1, 1, 1, 1},
                                                  {1, 2, 1, 2}, {1, 1, 2, 2}, {1, 2, 3, 4}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<float> c;
    int64_t n = 1;
    for (const int64_t d : shapes[i]) n *= d;
    for (int64_t k = 0; k < n; ++k) c.push_back(static_cast<float>(k + 1));
    OpTest t = gemm({});
    t.input<float>({2, 1}, {0, 0}).input<float>({1, 2}, {1, 1}).input<float>(shapes[i], c);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(), wanted[i]) << i;
  }
}

TEST(Gemm, Integers) {
  OpTest t = gemm({});
  t.input<int64_t>({1, 2}, {int64_t{1} << 62, 3}).input<int64_t>({2, 1}, {2, -1}).input<int64_t>({1}, {5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{INT64_MIN + 2}));
}

TEST(Gemm, Refusals) {
  OpTest inner = gemm({});
  inner.input<float>({1, 2}, {1, 2}).input<float>({3, 1}, {1, 2, 3});
  EXPECT_EQ(inner.run(), Status::kInvalidModel);
  OpTest c = gemm({});
  c.input<float>({1, 1}, {1}).input<float>({1, 2}, {1, 2}).input<float>({2, 1}, {1, 2});
  EXPECT_EQ(c.run(), Status::kInvalidModel);
}

TEST(Gemm, IntegersBeyondTheirType) {
  attrs::GemmT a;
  a.alpha = 1e9f;
  OpTest high = gemm(a);
  high.input<int32_t>({1, 1}, {1000}).input<int32_t>({1, 2}, {1000, -1000});
  ASSERT_EQ(high.run(), Status::kOk) << high.message();
  EXPECT_EQ(high.y().as<int32_t>(), (std::vector<int32_t>{INT32_MAX, INT32_MIN}));
  a.alpha = -1;
  OpTest wraps = gemm(a);
  wraps.input<uint32_t>({1, 1}, {2}).input<uint32_t>({1, 1}, {3}).input<uint32_t>({1}, {10});
  ASSERT_EQ(wraps.run(), Status::kOk) << wraps.message();
  EXPECT_EQ(wraps.y().as<uint32_t>(), (std::vector<uint32_t>{4}));
}

}  // namespace
}  // namespace vireo::gemm_test

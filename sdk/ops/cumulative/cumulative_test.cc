#include <gtest/gtest.h>

#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::cumulative_test {
namespace {

template <class T>
std::vector<T> run(Op op, bool exclusive, bool reverse, const std::vector<int64_t>& dims, const std::vector<T>& x,
                   int axis) {
  attrs::CumulativeT a;
  a.exclusive = exclusive, a.reverse = reverse;
  OpTest t(op, pack<attrs::Cumulative>(a));
  EXPECT_EQ(t.input<T>(dims, x).template input<int32_t>({}, {axis}).in_place().run(), Status::kOk) << t.message();
  return t.y().template as<T>();
}

TEST(Cumulative, OnnxExamples) {  // ONNX "CumSum": cumsum_1d, _exclusive, _reverse, _reverse_exclusive, cumsum_2d_*
  const std::vector<double> x = {1, 2, 3, 4, 5};
  EXPECT_EQ(run(Op::kCumSum, false, false, {5}, x, 0), (std::vector<double>{1, 3, 6, 10, 15}));
  EXPECT_EQ(run(Op::kCumSum, true, false, {5}, x, 0), (std::vector<double>{0, 1, 3, 6, 10}));
  EXPECT_EQ(run(Op::kCumSum, false, true, {5}, x, 0), (std::vector<double>{15, 14, 12, 9, 5}));
  EXPECT_EQ(run(Op::kCumSum, true, true, {5}, x, 0), (std::vector<double>{14, 12, 9, 5, 0}));
  const std::vector<float> m = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(Op::kCumSum, false, false, {2, 3}, m, 0), (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run(Op::kCumSum, false, false, {2, 3}, m, -1), (std::vector<float>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run(Op::kCumProd, false, false, {2, 3}, m, 1), (std::vector<float>{1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(run(Op::kCumProd, true, true, {2, 3}, m, 1), (std::vector<float>{6, 3, 1, 30, 6, 1}));
}

TEST(Cumulative, IntegersWrapAndHalvesRoundOnce) {
  EXPECT_EQ(run<int32_t>(Op::kCumSum, false, false, {2}, {INT32_MAX, 1}, 0),
            (std::vector<int32_t>{INT32_MAX, INT32_MIN}));
  EXPECT_EQ(run<int64_t>(Op::kCumProd, false, false, {3}, {-3, 5, -7}, 0), (std::vector<int64_t>{-3, -15, 105}));
  const auto y = run<F16>(Op::kCumSum, false, false, {3}, {F16(2048.0f), F16(1.0f), F16(1.0f)}, 0);
  EXPECT_EQ(static_cast<float>(y[2]), 2050.0f);  // rounded sums of halves would stay at 2048
}

TEST(Cumulative, EmptyAndRefusals) {
  EXPECT_TRUE(run<float>(Op::kCumSum, false, true, {2, 0}, {}, 1).empty());
  attrs::CumulativeT a;
  OpTest axis(Op::kCumSum, pack<attrs::Cumulative>(a));
  EXPECT_EQ(axis.input<float>({2}, {1, 2}).input<int64_t>({}, {1}).run(), Status::kInvalidModel);
  OpTest type(Op::kCumSum, pack<attrs::Cumulative>(a));
  EXPECT_EQ(type.input<int8_t>({2}, {1, 2}).input<int64_t>({}, {0}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::cumulative_test

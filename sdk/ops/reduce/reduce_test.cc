#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::reduce_test {
namespace {

using Dims = std::vector<int64_t>;
std::vector<uint8_t> plain(bool keepdims = true, bool noop = false) {
  attrs::ReduceT a;
  a.keepdims = keepdims, a.noop_with_empty_axes = noop;
  return pack<attrs::Reduce>(a);
}
std::vector<uint8_t> norm(attrs::Norm n, bool keepdims = true) {
  attrs::ReduceNormT a;
  a.norm = n, a.keepdims = keepdims;
  return pack<attrs::ReduceNorm>(a);
}

template <class T>
TestTensor run(Op op, const std::vector<uint8_t>& attrs, const Dims& dims, const std::vector<T>& x, const Dims& axes) {
  OpTest t(op, attrs);
  t.input<T>(dims, x).template input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
  EXPECT_EQ(t.run(), Status::kOk) << t.message();
  return t.y();
}

const std::vector<float> kData = {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2};  // ONNX "ReduceMax", [3,2,2]

TEST(Reduce, OnnxExamples) {
  EXPECT_EQ(run(Op::kReduceMax, plain(false), {3, 2, 2}, kData, {1}).as<float>(),
            (std::vector<float>{20, 2, 40, 2, 60, 2}));
  EXPECT_EQ(run(Op::kReduceMin, plain(), {3, 2, 2}, kData, {1}).as<float>(), (std::vector<float>{5, 1, 30, 1, 55, 1}));
  EXPECT_EQ(run(Op::kReduceMean, plain(), {3, 2, 2}, kData, {1}).as<float>(),
            (std::vector<float>{12.5f, 1.5f, 35, 1.5f, 57.5f, 1.5f}));
  std::vector<float> x;
  for (int i = 1; i <= 12; ++i) x.push_back(static_cast<float>(i));
  EXPECT_EQ(run(Op::kReduceSum, plain(false), {3, 2, 2}, x, {1}).as<float>(),
            (std::vector<float>{4, 6, 12, 14, 20, 22}));
  EXPECT_EQ(run(Op::kReduceProd, plain(), {3, 2, 2}, x, {-2}).as<float>(), (std::vector<float>{3, 8, 35, 48, 99, 120}));
  EXPECT_EQ(run(Op::kReduceNorm, norm(attrs::Norm::L1), {3, 2, 2}, x, {2}).as<float>(),
            (std::vector<float>{3, 7, 11, 15, 19, 23}));
  const auto l2 = run(Op::kReduceNorm, norm(attrs::Norm::L2), {3, 2, 2}, x, {2}).as<float>();
  EXPECT_NEAR(l2[0], 2.23606798f, 1e-6f);
  EXPECT_NEAR(l2[5], 16.2788206f, 1e-5f);
  EXPECT_EQ(run(Op::kReduceNorm, norm(attrs::Norm::SumSquare), {3, 2, 2}, x, {1}).as<float>(),
            (std::vector<float>{10, 20, 74, 100, 202, 244}));
  const auto lse = run(Op::kReduceNorm, norm(attrs::Norm::LogSumExp), {3, 2, 2}, kData, {1}).as<float>();
  EXPECT_NEAR(lse[0], 20.00000031f, 1e-5f);
  EXPECT_NEAR(lse[1], 2.31326169f, 1e-6f);
  EXPECT_NEAR(run<float>(Op::kReduceNorm, norm(attrs::Norm::LogSum), {2}, {1, 3}, {0}).as<float>()[0], std::log(4.0f),
              1e-6f);
}

// Every set of axes of a four-dimensional tensor against an index walk written the long way.
TEST(Reduce, EverySetOfAxes) {
  const Dims dims = {2, 3, 1, 4};
  std::vector<int32_t> x;
  for (int i = 0; i < 24; ++i) x.push_back(i * i - 40);
  for (unsigned set = 0; set < 16; ++set) {
    for (int slots : {1, 3}) {
      Dims axes;
      for (int a = 0; a < 4; ++a) {
        if ((set >> a & 1) != 0) axes.push_back(a % 2 == 0 ? a : a - 4);
      }
      OpTest t(Op::kReduceSum, plain(false, /*noop=*/true));
      t.input<int32_t>(dims, x).input<int64_t>({static_cast<int64_t>(axes.size())}, axes).slots(slots);
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      std::vector<int32_t> want(t.y().bytes.size() / 4, 0);
      for (size_t i = 0; i < x.size(); ++i) {
        size_t rest = i, at = 0, step = 1;
        for (int a = 3; a >= 0; --a) {
          const size_t extent = static_cast<size_t>(dims[static_cast<size_t>(a)]);
          if ((set >> a & 1) == 0) {
            at += rest % extent * step;
            step *= extent;
          }
          rest /= extent;
        }
        want[at] += x[i];
      }
      ASSERT_EQ(t.y().as<int32_t>(), want) << set;
    }
  }
}

TEST(Reduce, AxesAbsentOrEmpty) {
  OpTest all(Op::kReduceSum, plain());
  ASSERT_EQ(all.input<float>({2, 2}, {1, 2, 3, 4}).run(), Status::kOk) << all.message();
  EXPECT_EQ(all.y().type.shape, make_shape({1, 1}));
  EXPECT_EQ(all.y().as<float>()[0], 10.0f);
  EXPECT_EQ(run<float>(Op::kReduceSum, plain(), {2}, {1, 2}, {}).as<float>(), (std::vector<float>{3}));
  EXPECT_EQ(run<float>(Op::kReduceSum, plain(true, true), {2}, {1, 2}, {}).as<float>(), (std::vector<float>{1, 2}));
  OpTest scalar(Op::kReduceMean, plain());
  ASSERT_EQ(scalar.input<float>({}, {7}).in_place().run(), Status::kOk) << scalar.message();
  EXPECT_EQ(scalar.y().as<float>()[0], 7.0f);
}

TEST(Reduce, NothingToReduce) {  // ONNX reduce_*_empty_set
  const Dims dims = {2, 0, 4}, axes = {1};
  EXPECT_EQ(run<float>(Op::kReduceSum, plain(), dims, {}, axes).as<float>()[0], 0.0f);
  EXPECT_EQ(run<float>(Op::kReduceProd, plain(), dims, {}, axes).as<float>()[7], 1.0f);
  EXPECT_EQ(run<float>(Op::kReduceMax, plain(), dims, {}, axes).as<float>()[0], -INFINITY);
  EXPECT_EQ(run<float>(Op::kReduceMin, plain(), dims, {}, axes).as<float>()[0], INFINITY);
  EXPECT_EQ(run<uint8_t>(Op::kReduceMax, plain(), dims, {}, axes).as<uint8_t>()[0], 0);
  EXPECT_TRUE(std::isnan(run<float>(Op::kReduceMean, plain(), dims, {}, axes).as<float>()[0]));
  EXPECT_EQ(run<float>(Op::kReduceNorm, norm(attrs::Norm::LogSumExp), dims, {}, axes).as<float>()[0], -INFINITY);
  EXPECT_EQ(run<float>(Op::kReduceNorm, norm(attrs::Norm::LogSum), dims, {}, axes).as<float>()[0], -INFINITY);
}

TEST(Reduce, FloatsAccumulateInFloat64) {
  // 2^24 ones after 2^24: a float32 sum would stay there.
  std::vector<float> x(1025, 1);
  x[0] = 16777216;
  EXPECT_EQ(run<float>(Op::kReduceSum, plain(), {1025}, x, {0}).as<float>()[0], 16778240.0f);
  EXPECT_EQ(
      static_cast<float>(run<F16>(Op::kReduceMean, plain(), {4}, std::vector<F16>(4, F16(60000.0f)), {0}).as<F16>()[0]),
      60000.0f);
}

TEST(Reduce, Extremes) {
  EXPECT_TRUE(std::isnan(run<float>(Op::kReduceMax, plain(), {3}, {1, NAN, 2}, {0}).as<float>()[0]));
  EXPECT_EQ(run<int8_t>(Op::kReduceMin, plain(), {2}, {-128, 127}, {0}).as<int8_t>()[0], -128);
  EXPECT_EQ(run<uint64_t>(Op::kReduceMax, plain(), {2}, {1, UINT64_MAX}, {0}).as<uint64_t>()[0], UINT64_MAX);
  OpTest t(Op::kReduceMax, plain());
  t.input_bool({2, 2}, {0, 1, 0, 0}).input<int64_t>({1}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{1, 0}));
}

TEST(Reduce, IntegersOfMeanAndNorm) {
  EXPECT_EQ(run<int32_t>(Op::kReduceMean, plain(), {2}, {-3, 0}, {0}).as<int32_t>()[0], -1);
  EXPECT_EQ(run<int64_t>(Op::kReduceNorm, norm(attrs::Norm::L1), {2}, {-3, 4}, {0}).as<int64_t>()[0], 7);
  EXPECT_EQ(run<uint32_t>(Op::kReduceNorm, norm(attrs::Norm::L2), {2}, {3, 4}, {0}).as<uint32_t>()[0], 5u);
}

TEST(Reduce, LogSumExpOfInfinities) {
  EXPECT_EQ(run<float>(Op::kReduceNorm, norm(attrs::Norm::LogSumExp), {2}, {INFINITY, 1}, {0}).as<float>()[0],
            INFINITY);
  EXPECT_EQ(run<float>(Op::kReduceNorm, norm(attrs::Norm::LogSumExp), {2}, {-INFINITY, 1}, {0}).as<float>()[0], 1.0f);
}

TEST(Reduce, Refuses) {
  OpTest axis(Op::kReduceSum, plain());
  EXPECT_EQ(axis.input<float>({2}, {1, 2}).input<int64_t>({1}, {1}).run(), Status::kInvalidModel);
  OpTest twice(Op::kReduceSum, plain());
  EXPECT_EQ(twice.input<float>({2, 1}, {1, 2}).input<int64_t>({2}, {1, -1}).run(), Status::kInvalidModel);
  OpTest type(Op::kReduceSum, plain());
  EXPECT_EQ(type.input<int8_t>({2}, {1, 2}).run(), Status::kInvalidModel);
  OpTest logarithm(Op::kReduceNorm, norm(attrs::Norm::LogSum));
  EXPECT_EQ(logarithm.input<int32_t>({2}, {1, 2}).run(), Status::kInvalidModel);
}

TEST(Reduce, RootOfASumThatWrapped) {  // 2^31.5 squared is 2^63: there is no root, but an answer
  attrs::ReduceNormT a;
  a.norm = attrs::Norm::L2;
  OpTest t(Op::kReduceNorm, pack<attrs::ReduceNorm>(a));
  t.input<int64_t>({1}, {3037000500});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{INT64_MIN}));
}

}  // namespace
}  // namespace vireo::reduce_test

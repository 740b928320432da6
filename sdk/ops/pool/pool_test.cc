#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::pool_test {
namespace {

std::vector<float> count(int n) {  // 1, 2, ... n
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i + 1);
  return v;
}

OpTest pool(Op op, const attrs::PoolT& a) { return OpTest(op, pack<attrs::Pool>(a)); }

TEST(MaxPool, OnnxArgmaxPads) {  // ONNX "MaxPool", example maxpool_with_argmax_2d_precomputed_pads
  attrs::PoolT a;
  a.kernel_shape = {5, 5};
  a.pads = {2, 2, 2, 2};
  OpTest t = pool(Op::kMaxPool, a);
  t.input<float>({1, 1, 5, 5}, count(25)).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25,
                                                    25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25}));
  EXPECT_EQ(t.y(1).as<int64_t>(), (std::vector<int64_t>{12, 13, 14, 14, 14, 17, 18, 19, 19, 19, 22, 23, 24,
                                                        24, 24, 22, 23, 24, 24, 24, 22, 23, 24, 24, 24}));
}

TEST(MaxPool, OnnxColumnMajorIndices) {  // example maxpool_with_argmax_2d_precomputed_strides
  attrs::PoolT a;
  a.kernel_shape = {2, 2};
  a.strides = {2, 2};
  a.column_major = true;
  OpTest t = pool(Op::kMaxPool, a);
  t.input<float>({1, 1, 5, 5}, count(25)).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{7, 9, 17, 19}));
  EXPECT_EQ(t.y(1).as<int64_t>(), (std::vector<int64_t>{6, 16, 8, 18}));
}

TEST(MaxPool, CeilModeLeavesOutWindowsThatStartInThePadding) {  // example maxpool_2d_ceil_output_size_reduce_by_one
  attrs::PoolT a;
  a.kernel_shape = {1, 1};
  a.strides = {2, 2};
  a.ceil_mode = true;
  OpTest t = pool(Op::kMaxPool, a);
  t.input<float>({1, 1, 2, 2}, count(4));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1}));
}

TEST(MaxPool, DilatedBytes) {  // example maxpool_2d_dilations, in uint8
  attrs::PoolT a;
  a.kernel_shape = {2, 2};
  a.dilations = {2, 2};
  OpTest t = pool(Op::kMaxPool, a);
  t.input<uint8_t>({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{11, 12, 15, 16}));
}

TEST(MaxPool, NegativeBytesBesidePadding) {  // padding is no value: it never wins
  attrs::PoolT a;
  a.kernel_shape = {3};
  a.pads = {1, 1};
  OpTest t = pool(Op::kMaxPool, a);
  t.input<int8_t>({1, 1, 3}, {-128, -100, -5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{-100, -5, -5}));
}

TEST(AveragePool, OnnxPads) {  // ONNX "AveragePool", example averagepool_2d_precomputed_pads and ..._count_include_pad
  attrs::PoolT a;
  a.kernel_shape = {5, 5};
  a.pads = {2, 2, 2, 2};
  OpTest t = pool(Op::kAveragePool, a);
  t.input<float>({1, 1, 5, 5}, count(25));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 10),
            (std::vector<float>{7, 7.5f, 8, 8.5f, 9, 9.5f, 10, 10.5f, 11, 11.5f}));
  a.count_include_pad = true;
  OpTest u = pool(Op::kAveragePool, a);
  u.input<float>({1, 1, 5, 5}, count(25));
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_NEAR(u.y().as<float>()[0], 2.52f, 1e-6f);
  EXPECT_NEAR(u.y().as<float>()[12], 13.0f, 1e-6f);
}

TEST(AveragePool, OnnxCeil) {  // example averagepool_2d_ceil
  attrs::PoolT a;
  a.kernel_shape = {3, 3};
  a.strides = {2, 2};
  a.ceil_mode = true;
  OpTest t = pool(Op::kAveragePool, a);
  t.input<float>({1, 1, 4, 4}, count(16));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{6, 7.5f, 12, 13.5f}));
}

TEST(AveragePool, LayoutsAgree) {
  attrs::PoolT a;
  a.kernel_shape = {2, 2};
  OpTest t = pool(Op::kAveragePool, a);
  t.input<float>({1, 2, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{2, 3, 12, 13}));
  a.layout = static_cast<uint8_t>(Layout::kNhwc);
  OpTest u = pool(Op::kAveragePool, a);
  u.input<float>({1, 2, 3, 2}, {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{2, 12, 3, 13}));
}

TEST(LpPool, OnnxDilations) {  // ONNX "LpPool", example lppool_2d_dilations
  attrs::PoolT a;
  a.kernel_shape = {2, 2};
  a.dilations = {2, 2};
  OpTest t = pool(Op::kLpPool, a);
  t.input<float>({1, 1, 4, 4}, count(16));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<float>();
  EXPECT_NEAR(y[0], 14.560219778561036f, 1e-5f);
  EXPECT_NEAR(y[3], 23.49468024894146f, 1e-5f);
}

TEST(Pool, Refusals) {
  attrs::PoolT a;
  OpTest none = pool(Op::kMaxPool, a);
  none.input<float>({1, 1, 4, 4}, count(16));
  EXPECT_EQ(none.run(), Status::kInvalidModel);
  a.kernel_shape = {5, 5};
  OpTest large = pool(Op::kAveragePool, a);
  large.input<float>({1, 1, 4, 4}, count(16));
  EXPECT_EQ(large.run(), Status::kInvalidModel);
  OpTest type = pool(Op::kAveragePool, a);
  type.input<int8_t>({1, 1, 1, 1}, {1});
  EXPECT_EQ(type.run(), Status::kInvalidModel);
}

TEST(Pool, KernelsFarLargerThanTheInput) {  // 2^93 taps, of which one is an element
  for (const bool same : {true, false}) {
    attrs::PoolT a;
    a.kernel_shape = {INT32_MAX, INT32_MAX, INT32_MAX};
    if (same) {
      a.auto_pad = static_cast<uint8_t>(AutoPad::kSameUpper);
    } else {
      a.pads = {1 << 30, 1 << 30, 1 << 30, (1 << 30) - 2, (1 << 30) - 2, (1 << 30) - 2};
    }
    a.dilations = {1, 1, 1};
    for (const Op op : {Op::kMaxPool, Op::kAveragePool, Op::kLpPool}) {
      OpTest t = pool(op, a);
      t.input<double>({1, 1, 1, 1, 1}, {3});
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      EXPECT_EQ(t.y().as<double>(), (std::vector<double>{3}));
    }
    a.count_include_pad = true;
    OpTest t = pool(Op::kAveragePool, a);
    t.input<double>({1, 1, 1, 1, 1}, {3});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_NEAR(t.y().as<double>()[0], 3 * 0x1p-93, 0x1p-110);
  }
}

TEST(Pool, TapsAsTheyAreCounted) {  // the mean's divisor against a look at each tap
  for (const int kernel : {1, 2, 3, 7}) {
    for (const int stride : {1, 2, 3}) {
      for (const int dilation : {1, 2, 3}) {
        for (const int pad : {0, 1, 5}) {
          for (const bool with_padding : {false, true}) {
            attrs::PoolT a;
            a.kernel_shape = {kernel}, a.strides = {stride}, a.dilations = {dilation}, a.pads = {pad, pad + 1};
            a.count_include_pad = with_padding;
            a.ceil_mode = true;
            const int n = 11;
            OpTest t = pool(Op::kAveragePool, a);
            t.input<float>({1, 1, n}, count(n));
            if (t.infer() != Status::kOk) continue;  // does not fit
            ASSERT_EQ(t.run(), Status::kOk) << t.message();
            const std::vector<float> y = t.y().as<float>();
            for (size_t o = 0; o < y.size(); ++o) {
              int sum = 0, taps = 0;
              for (int k = 0; k < kernel; ++k) {
                const int i = static_cast<int>(o) * stride - pad + k * dilation;
                sum += i >= 0 && i < n ? i + 1 : 0;
                taps += with_padding ? i < n + pad + 1 : i >= 0 && i < n;
              }
              if (taps == 0) {
                EXPECT_TRUE(std::isnan(y[o]));
              } else {
                EXPECT_NEAR(y[o], static_cast<float>(sum) / static_cast<float>(taps), 1e-5f);
              }
            }
          }
        }
      }
    }
  }
}

TEST(MaxPool, NotANumberWins) {  // as in the tuned kernels; its index: of the first one
  attrs::PoolT a;
  a.kernel_shape = {4};
  for (const size_t at : {size_t{0}, size_t{1}, size_t{2}}) {
    std::vector<float> x = {1, 2, 0, NAN};
    x[at] = NAN;
    OpTest t = pool(Op::kMaxPool, a);
    t.input<float>({1, 1, 4}, x).outputs(2);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_TRUE(std::isnan(t.y(0).as<float>()[0])) << at;
    EXPECT_EQ(t.y(1).as<int64_t>()[0], static_cast<int64_t>(at));
  }
}

}  // namespace
}  // namespace vireo::pool_test

// What the integer operators refuse, and what a hostile file's numbers come to.
#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_resize/int_resize.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/int_table/int_table_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::integer_refusal_test {
namespace {

OpTest conv(const attrs::IntConvT& a) {
  OpTest t(Op::kIntConv, pack<attrs::IntConv>(a));
  t.input<uint8_t>({1, 1, 3}, {1, 2, 3}).input<int8_t>({2, 1, 1}, {1, -1});
  return t;
}

TEST(IntConv, Refusals) {
  attrs::IntConvT good;
  EXPECT_EQ(conv(good).input<float>({2}, {1, 1}).run(), Status::kOk);
  EXPECT_EQ(conv(good).input<float>({3}, {1, 1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(conv(good).input<int32_t>({1}, {1}).run(), Status::kInvalidModel);
  EXPECT_EQ(conv(good).input<float>({1}, {1}).input<int32_t>({1}, {1}).run(), Status::kInvalidModel);
  EXPECT_EQ(conv(good).input<float>({1}, {1}).input<float>({2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(conv(good).input<float>({1}, {1}).absent().input<uint8_t>({1}, {1}).run(), Status::kInvalidModel);
  for (const int bad : {-1, 256}) {  // uint8 input
    attrs::IntConvT a;
    a.x_zero = bad;
    EXPECT_EQ(conv(a).input<float>({1}, {1}).run(), Status::kInvalidModel) << bad;
  }
  for (const int bad : {-129, 128}) {  // int8 output
    attrs::IntConvT a;
    a.y_zero = bad;
    EXPECT_EQ(conv(a).input<float>({1}, {1}).run(), Status::kInvalidModel) << bad;
    attrs::IntConvT b;
    (bad < 0 ? b.low : b.high) = bad;
    EXPECT_EQ(conv(b).input<float>({1}, {1}).run(), Status::kInvalidModel) << bad;
  }
  attrs::IntConvT crossed;
  crossed.low = 5;
  crossed.high = 4;
  EXPECT_EQ(conv(crossed).input<float>({1}, {1}).run(), Status::kInvalidModel);
  attrs::IntConvT type;
  type.output_dtype = static_cast<uint8_t>(DType::kI32);
  EXPECT_EQ(conv(type).input<float>({1}, {1}).run(), Status::kInvalidModel);
}

OpTest wide_conv(const attrs::IntConvT& a, TestTensor weights) {
  OpTest t(Op::kIntConv, pack<attrs::IntConv>(a));
  t.input<int16_t>({1, 1, 3}, {-32768, 2, 3}).input(std::move(weights)).input<float>({1}, {1});
  return t;
}

TEST(IntConv, RefusalsOfOtherWidths) {
  const TestTensor bytes{{DType::kI8, make_shape({2, 1, 1})}, {1, 0xFF}, {}};
  const TestTensor nibbles{{DType::kI4, make_shape({2, 1, 1})}, {0xF1}, {}};
  attrs::IntConvT good;
  good.output_dtype = static_cast<uint8_t>(DType::kI16);
  good.low = -32768;
  good.high = 32767;
  OpTest t = wide_conv(good, bytes);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int16_t>(), (std::vector<int16_t>{-32768, 2, 3, 32767, -2, -3}));
  EXPECT_EQ(wide_conv(good, nibbles).run(), Status::kInvalidModel);  // int4 is for codes of 8 bits
  EXPECT_EQ(wide_conv(good, {{DType::kU8, make_shape({2, 1, 1})}, {1, 2}, {}}).run(), Status::kInvalidModel);
  for (const int bad : {-32769, 32768}) {
    attrs::IntConvT a = good;
    a.x_zero = bad;
    EXPECT_EQ(wide_conv(a, bytes).run(), Status::kInvalidModel) << bad;
    a = good;
    a.y_zero = bad;
    EXPECT_EQ(wide_conv(a, bytes).run(), Status::kInvalidModel) << bad;
  }
  OpTest small(Op::kIntConv, pack<attrs::IntConv>(attrs::IntConvT{}));
  small.input<uint8_t>({1, 1, 3}, {1, 2, 3}).input(nibbles).input<float>({1}, {1});
  ASSERT_EQ(small.run(), Status::kOk) << small.message();
  EXPECT_EQ(small.y().as<int8_t>(), (std::vector<int8_t>{1, 2, 3, 0, 0, 0}));
}

TEST(IntConv, MultipliersOfAHostileFile) {  // NaN becomes the least code, infinities the bounds; no sum is undefined
  attrs::IntConvT a;
  a.low = -100;
  OpTest t = conv(a);
  t.input<float>({2}, {NAN, INFINITY}).input<int32_t>({2}, {INT32_MAX, INT32_MIN});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{-100, -100, -100, 127, 127, 127}));  // INT32_MIN - 1 wraps
}

TEST(IntGemm, Refusals) {
  const auto gemm = [] {
    OpTest t(Op::kIntGemm, pack<attrs::IntGemm>(attrs::IntGemmT{}));
    t.input<int8_t>({1, 2}, {1, 2}).input<uint8_t>({2, 2}, {1, 2, 3, 4});
    return t;
  };
  EXPECT_EQ(gemm().input<float>({}, {1}).run(), Status::kOk);
  EXPECT_EQ(gemm().input<float>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(gemm().input<float>({1}, {1}).absent().input<int8_t>({1}, {0}).run(), Status::kInvalidModel);
  EXPECT_EQ(gemm().input<float>({1}, {1}).input<int32_t>({3}, {0, 0, 0}).run(), Status::kInvalidModel);
}

TEST(IntAdd, InPlaceAndRefusals) {
  attrs::IntAddT a;
  a.low = -128;
  OpTest t(Op::kIntAdd, pack<attrs::IntAdd>(a));
  t.input<int8_t>({3}, {-100, 0, 100}).input<int8_t>({1}, {-50}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{-128, -50, 50}));
  OpTest u(Op::kIntAdd, pack<attrs::IntAdd>(a));
  u.input<int8_t>({3}, {1, 2, 3}).input<int8_t>({2}, {1, 2});
  EXPECT_EQ(u.run(), Status::kInvalidModel);
  OpTest v(Op::kIntMul, pack<attrs::IntMul>(attrs::IntMulT{}));
  v.input<int8_t>({1}, {1}).input<int32_t>({1}, {1});
  EXPECT_EQ(v.run(), Status::kInvalidModel);
}

TEST(IntAveragePool, Refusals) {
  attrs::IntAveragePoolT large;
  large.kernel_shape = {40000};
  large.pads = {20000, 20000};
  OpTest wide(Op::kIntAveragePool, pack<attrs::IntAveragePool>(large));
  wide.input<int16_t>({1, 1, 3}, {1, 2, 3}).input<float>({1}, {1});
  EXPECT_EQ(wide.run(), Status::kUnsupported);  // a sum may leave int32
  attrs::IntAveragePoolT a;
  a.kernel_shape = {2};
  const auto pool = [](const attrs::IntAveragePoolT& from) {
    OpTest t(Op::kIntAveragePool, pack<attrs::IntAveragePool>(from));
    t.input<uint8_t>({1, 1, 3}, {1, 2, 3});
    return t;
  };
  EXPECT_EQ(pool(a).input<float>({1}, {0.5f}).run(), Status::kOk);
  EXPECT_EQ(pool(a).input<float>({3}, {0, 1, 0.5f}).run(), Status::kOk);
  EXPECT_EQ(pool(a).input<float>({2}, {1, 0.5f}).run(), Status::kInvalidModel);
  a.kernel_shape = {};
  EXPECT_EQ(pool(a).input<float>({1}, {1}).run(), Status::kInvalidModel);
  a.kernel_shape = {INT32_MAX};
  EXPECT_NE(pool(a).input<float>({1}, {1}).run(), Status::kOk);
}

TEST(IntResize, Refusals) {
  const auto resize = [](const std::vector<int32_t>& axes) {
    attrs::IntResizeT a;
    a.axes = axes;
    OpTest t(Op::kIntResize, pack<attrs::IntResize>(a));
    t.input<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    return t;
  };
  EXPECT_EQ(resize({1}).input<int32_t>({1, 2}, {0, 2}).input<int32_t>({1, 2}, {1, 1}).run(), Status::kOk);
  for (const int32_t bad : {-1, 3}) {  // places that only a run sees
    EXPECT_EQ(resize({1}).input<int32_t>({1, 2}, {0, bad}).input<int32_t>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
  }
  EXPECT_EQ(resize({2}).input<int32_t>({1, 2}, {0, 2}).input<int32_t>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(resize({}).input<int32_t>({1, 2}, {0, 2}).input<int32_t>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(resize({1}).input<int32_t>({1, 2}, {0, 2}).input<int32_t>({2, 1}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(resize({1}).input<int32_t>({1, 2}, {0, 2}).input<float>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(resize({1}).input<int32_t>({2}, {0, 2}).input<int32_t>({2}, {1, 1}).run(), Status::kInvalidModel);
  OpTest twice = resize({1, 1});
  for (int i = 0; i < 4; ++i) twice.input<int32_t>({1, 1}, {0});
  EXPECT_EQ(twice.run(), Status::kInvalidModel);
  const std::vector<int32_t> many(static_cast<size_t>(kMaxIntResizeOuter) + 1, 0);
  const auto taps = static_cast<int64_t>(many.size());
  EXPECT_EQ(resize({0}).input<int32_t>({1, taps}, many).input<int32_t>({1, taps}, many).run(), Status::kUnsupported);
}

TEST(IntResize, SumsOfAHostileFileWrapAround) {
  attrs::IntResizeT a;
  a.axes = {0, 1};
  OpTest t(Op::kIntResize, pack<attrs::IntResize>(a));
  t.input<uint8_t>({1, 1}, {255}).input<int32_t>({1, 2}, {0, 0}).input<int32_t>({1, 2}, {INT32_MAX, INT32_MIN});
  t.input<int32_t>({1, 1}, {0}).input<int32_t>({1, 1}, {INT32_MIN});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{0}));  // -1 * 255 * -2^31 = 255 * 2^31 = -2^31 (mod 2^32)
}

TEST(IntTable, Refusals) {
  const std::vector<int8_t> table(256, 1);
  OpTest t(Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}));
  t.input<float>({1}, {1}).input<int8_t>({256}, table);
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  OpTest wide(Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}));
  wide.input<int16_t>({1}, {1}).input<int8_t>({256}, table);
  EXPECT_EQ(wide.run(), Status::kInvalidModel);
  OpTest u(Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}));
  u.input<int8_t>({1}, {1}).input<int8_t>({255}, std::vector<int8_t>(255, 1));
  EXPECT_EQ(u.run(), Status::kInvalidModel);
}

TEST(IntSoftmax, HostileTablesAndRefusals) {
  OpTest t(Op::kIntSoftmax, pack<attrs::IntSoftmax>(attrs::IntSoftmaxT{}));
  t.input<int8_t>({2}, {1, 1}).input<int32_t>({256}, std::vector<int32_t>(256, 0));  // 0 * (256 / 0)
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{0, 0}));
  attrs::IntSoftmaxT a;
  a.axis = 1;
  OpTest u(Op::kIntSoftmax, pack<attrs::IntSoftmax>(a));
  u.input<int8_t>({2}, {1, 1}).input<int32_t>({256}, std::vector<int32_t>(256, 1));
  EXPECT_EQ(u.run(), Status::kInvalidModel);
  // What is kept is bool, and no larger than x.
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3}, {2, 2}}) {
    OpTest v(Op::kIntSoftmax, pack<attrs::IntSoftmax>(attrs::IntSoftmaxT{}));
    v.input<int8_t>({1, 2}, {1, 1}).input<int32_t>({256}, std::vector<int32_t>(256, 1));
    v.input_bool(dims, std::vector<uint8_t>(static_cast<size_t>(dims.size() == 1 ? 3 : 4), 1));
    EXPECT_EQ(v.run(), Status::kInvalidModel);
  }
  OpTest w(Op::kIntSoftmax, pack<attrs::IntSoftmax>(attrs::IntSoftmaxT{}));
  w.input<int8_t>({1, 2}, {1, 1}).input<int32_t>({256}, std::vector<int32_t>(256, 1)).input<int8_t>({2}, {1, 1});
  EXPECT_EQ(w.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::integer_refusal_test

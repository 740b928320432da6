#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::binary_test {
namespace {

using Dims = std::vector<int64_t>;
std::vector<uint8_t> plain() { return pack<attrs::Binary>(attrs::BinaryT{}); }
std::vector<uint8_t> mod(bool truncated) {
  attrs::ModT a;
  a.truncated = truncated;
  return pack<attrs::Mod>(a);
}
std::vector<uint8_t> shift(bool right) {
  attrs::BitShiftT a;
  a.right = right;
  return pack<attrs::BitShift>(a);
}

template <class T, class Out = T, class U = T>
std::vector<Out> run(Op op, const std::vector<uint8_t>& attrs, const std::vector<T>& a, const std::vector<U>& b) {
  OpTest t(op, attrs);
  t.input<T>({static_cast<int64_t>(a.size())}, a).template input<U>({static_cast<int64_t>(b.size())}, b);
  EXPECT_EQ(t.run(), Status::kOk) << op_name(op) << ": " << t.message();
  return t.y().template as<Out>();
}

std::vector<float> ramp(int64_t n, float from) {
  std::vector<float> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(from + static_cast<float>(i));
  return v;
}
int64_t count(const Dims& d) {
  int64_t n = 1;
  for (int64_t x : d) n *= x;
  return n;
}

// Sub of every pair of shapes against an index walk written the long way.
TEST(Binary, BroadcastsAsNumPyDoes) {
  const std::pair<Dims, Dims> pairs[] = {{{2, 3, 4, 5}, {2, 3, 4, 5}},
                                         {{2, 3, 4, 5}, {}},
                                         {{2, 3, 4, 5}, {5}},
                                         {{4, 5}, {2, 3, 4, 5}},
                                         {{1, 4, 5}, {2, 3, 1, 1}},
                                         {{3, 4, 5}, {2, 1, 1, 1}},
                                         {{2, 1, 4, 1}, {1, 3, 1, 5}},
                                         {{1}, {1, 1, 1}},
                                         {{}, {}},
                                         {{0, 3}, {3}},
                                         {{2, 0, 4}, {1, 1, 4}},
                                         {{1, 2, 1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2, 1}}};
  for (const auto& [da, db] : pairs) {
    for (int slots : {1, 4}) {
      OpTest t(Op::kSub, plain());
      const auto a = ramp(count(da), 0), b = ramp(count(db), 1000);
      t.input<float>(da, a).input<float>(db, b).slots(slots);
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      const Shape s = t.y().type.shape;
      const auto y = t.y().as<float>();
      for (size_t i = 0; i < y.size(); ++i) {
        int64_t rest = static_cast<int64_t>(i), at[2] = {0, 0}, step[2] = {1, 1};
        for (int d = s.rank - 1; d >= 0; --d) {
          const int64_t index = rest % s[d];
          rest /= s[d];
          for (int k = 0; k < 2; ++k) {
            const Dims& dims = k == 0 ? da : db;
            const int axis = d - (s.rank - static_cast<int>(dims.size()));
            if (axis < 0) continue;
            if (dims[static_cast<size_t>(axis)] != 1) at[k] += index * step[k];
            step[k] *= dims[static_cast<size_t>(axis)];
          }
        }
        ASSERT_EQ(y[i], a[static_cast<size_t>(at[0])] - b[static_cast<size_t>(at[1])]) << i;
      }
    }
  }
}

TEST(Binary, InPlaceOfTheFirst) {
  OpTest t(Op::kMul, plain());
  t.input<float>({2, 2}, {1, 2, 3, 4}).input<float>({2}, {10, 100}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{10, 200, 30, 400}));
}

TEST(Binary, RefusesShapesAndTypes) {
  OpTest shapes(Op::kAdd, plain());
  EXPECT_EQ(shapes.input<float>({3}, {1, 2, 3}).input<float>({2}, {1, 2}).run(), Status::kInvalidModel);
  OpTest types(Op::kAdd, plain());
  EXPECT_EQ(types.input<float>({1}, {1}).input<double>({1}, {1}).run(), Status::kInvalidModel);
  EXPECT_STREQ(types.message(), "input 0 is float32, but input 1 is float64: one type wanted");
}

TEST(Binary, IntegersWrap) {
  EXPECT_EQ(run<uint8_t>(Op::kAdd, plain(), {250}, {10}), (std::vector<uint8_t>{4}));
  EXPECT_EQ(run<int32_t>(Op::kAdd, plain(), {INT32_MAX}, {1}), (std::vector<int32_t>{INT32_MIN}));
  EXPECT_EQ(run<int64_t>(Op::kMul, plain(), {INT64_MAX}, {2}), (std::vector<int64_t>{-2}));
  EXPECT_EQ(run<uint16_t>(Op::kMul, plain(), {65535}, {65535}), (std::vector<uint16_t>{1}));
  EXPECT_EQ(run<int8_t>(Op::kSub, plain(), {-128}, {1}), (std::vector<int8_t>{127}));
}

TEST(Binary, SixteenBitFloatsRoundOnce) {
  EXPECT_EQ(static_cast<float>(run<F16>(Op::kAdd, plain(), {F16(2048.0f)}, {F16(1.0f)})[0]), 2048.0f);  // tie to even
  EXPECT_EQ(static_cast<float>(run<BF16>(Op::kMul, plain(), {BF16(3.0f)}, {BF16(0.5f)})[0]), 1.5f);
}

TEST(Binary, Division) {
  EXPECT_EQ(run<int32_t>(Op::kDiv, plain(), {-7, 7, INT32_MIN}, {2, -2, -1}),
            (std::vector<int32_t>{-3, -3, INT32_MIN}));
  EXPECT_EQ(run<uint8_t>(Op::kDiv, plain(), {255}, {2}), (std::vector<uint8_t>{127}));
  EXPECT_EQ(run<float>(Op::kDiv, plain(), {1}, {0})[0], INFINITY);
  OpTest zero(Op::kDiv, plain());
  EXPECT_EQ(zero.input<int64_t>({2}, {4, 2}).input<int64_t>({2}, {1, 0}).run(), Status::kInvalidArgument);
  EXPECT_STREQ(zero.message(), "integer division by zero: element 1 of the divisor [2] is 0");
}

TEST(Binary, Mod) {  // ONNX "Mod": mod_mixed_sign_int32, mod_mixed_sign_float32, mod_int64_fmod
  const std::vector<int32_t> a = {-4, 7, 5, 4, -7, 8}, b = {2, -3, 8, -2, 3, 5};
  EXPECT_EQ(run<int32_t>(Op::kMod, mod(false), a, b), (std::vector<int32_t>{0, -2, 5, 0, 2, 3}));
  EXPECT_EQ(run<int32_t>(Op::kMod, mod(true), a, b), (std::vector<int32_t>{0, 1, 5, 0, -1, 3}));
  const auto y = run<float>(Op::kMod, mod(true), {-4.3f, 7.2f}, {2.1f, -3.4f});
  EXPECT_NEAR(y[0], -0.1f, 1e-6f);
  EXPECT_NEAR(y[1], 0.4f, 1e-6f);
  const auto z =
      run<float>(Op::kMod, mod(false), {-4.3f, 5, -5, -0.0f, INFINITY, 5}, {2.1f, INFINITY, INFINITY, 3, 2, 0});
  EXPECT_NEAR(z[0], 2.0f, 1e-6f);
  EXPECT_EQ(z[1], 5.0f);
  EXPECT_EQ(z[2], INFINITY);
  EXPECT_FALSE(std::signbit(z[3]));
  EXPECT_TRUE(std::isnan(z[4]) && std::isnan(z[5]));
  EXPECT_EQ(run<int64_t>(Op::kMod, mod(false), {INT64_MIN}, {-1}), (std::vector<int64_t>{0}));
}

TEST(Binary, MinAndMaxKeepNaN) {
  for (Op op : {Op::kMin, Op::kMax}) {
    EXPECT_TRUE(std::isnan(run<float>(op, plain(), {NAN}, {1})[0]));
    EXPECT_TRUE(std::isnan(run<float>(op, plain(), {1}, {NAN})[0]));
  }
  EXPECT_EQ(run<uint64_t>(Op::kMax, plain(), {UINT64_MAX}, {1}), (std::vector<uint64_t>{UINT64_MAX}));
  EXPECT_EQ(run<int8_t>(Op::kMin, plain(), {-128}, {1}), (std::vector<int8_t>{-128}));
}

TEST(Binary, Comparisons) {
  EXPECT_EQ((run<float, uint8_t>(Op::kLess, plain(), {1, 2, NAN}, {2, 2, 1})), (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ((run<float, uint8_t>(Op::kLessOrEqual, plain(), {1, 2, NAN}, {2, 2, 1})), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ((run<uint64_t, uint8_t>(Op::kLess, plain(), {1}, {UINT64_MAX})), (std::vector<uint8_t>{1}));
  EXPECT_EQ((run<float, uint8_t>(Op::kEqual, plain(), {0, NAN}, {-0.0f, NAN})), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ((run<int64_t, uint8_t>(Op::kEqual, plain(), {1ll << 40, 3}, {0, 3})), (std::vector<uint8_t>{0, 1}));
  OpTest text(Op::kEqual, plain());
  text.input_strings({2}, {"a", "string"}).input_strings({1}, {"string"});
  ASSERT_EQ(text.run(), Status::kOk) << text.message();
  EXPECT_EQ(text.y().bytes, (std::vector<uint8_t>{0, 1}));
}

TEST(Binary, Pow) {  // ONNX "Pow": the dtype is the base's
  EXPECT_EQ(run<float>(Op::kPow, plain(), {1, 2, 3}, {4, 5, 6}), (std::vector<float>{1, 32, 729}));
  EXPECT_EQ((run<int32_t, int32_t, float>(Op::kPow, plain(), {1, 2, 3}, {4, 5, 6})),
            (std::vector<int32_t>{1, 32, 729}));
  EXPECT_EQ((run<float, float, uint64_t>(Op::kPow, plain(), {1, 2, 3}, {4, 5, 6})), (std::vector<float>{1, 32, 729}));
  EXPECT_EQ(run<int64_t>(Op::kPow, plain(), {2, -1, 5, 3}, {63, -3, -1, 0}),
            (std::vector<int64_t>{INT64_MIN, -1, 0, 1}));
  OpTest t(Op::kPow, plain());
  t.input<float>({2, 1}, {2, 3}).input<float>({2}, {2, 3}).slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{4, 8, 9, 27}));
}

TEST(Binary, BitShift) {  // ONNX "BitShift" of opset 28
  EXPECT_EQ(run<uint8_t>(Op::kBitShift, shift(true), {16, 4, 1}, {1, 2, 3}), (std::vector<uint8_t>{8, 1, 0}));
  EXPECT_EQ(run<uint8_t>(Op::kBitShift, shift(false), {16, 4, 1}, {4, 2, 8}), (std::vector<uint8_t>{0, 16, 0}));
  EXPECT_EQ(run<int8_t>(Op::kBitShift, shift(true), {-8, -8, 8, -1}, {1, 9, 9, -1}),
            (std::vector<int8_t>{-4, -1, 0, -1}));
  EXPECT_EQ(run<int32_t>(Op::kBitShift, shift(false), {1, 1, -1}, {31, 32, -1}),
            (std::vector<int32_t>{INT32_MIN, 0, 0}));
  EXPECT_EQ(run<uint64_t>(Op::kBitShift, shift(true), {UINT64_MAX}, {63}), (std::vector<uint64_t>{1}));
}

TEST(Binary, BitwiseOnIntegersAndBools) {
  EXPECT_EQ(run<int16_t>(Op::kBitwiseAnd, plain(), {-1}, {0x0FF0}), (std::vector<int16_t>{0x0FF0}));
  EXPECT_EQ(run<uint32_t>(Op::kBitwiseOr, plain(), {1u << 31}, {1}), (std::vector<uint32_t>{(1u << 31) | 1}));
  EXPECT_EQ(run<int8_t>(Op::kBitwiseXor, plain(), {5}, {-1}), (std::vector<int8_t>{-6}));
  OpTest t(Op::kBitwiseXor, plain());
  t.input_bool({2, 1}, {0, 1}).input_bool({2}, {0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{0, 1, 1, 0}));
}

TEST(Binary, PRelu) {
  OpTest t(Op::kPRelu, plain());
  t.input<float>({1, 2, 2}, {-1, 1, -2, 2}).input<float>({2, 1}, {0.5f, 0.25f}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-0.5f, 1, -0.5f, 2}));
  OpTest wide(Op::kPRelu, plain());  // the slope may not widen the input
  EXPECT_EQ(wide.input<float>({2}, {1, 2}).input<float>({2, 2}, {1, 2, 3, 4}).run(), Status::kInvalidModel);
}

TEST(Binary, PowOfUint64ToAFloat) {
  EXPECT_EQ((run<uint64_t, uint64_t, float>(Op::kPow, plain(), {1ull << 32, 1ull << 63, 3}, {1.96875f, 2, 2})),
            (std::vector<uint64_t>{1ull << 63, UINT64_MAX, 9}));
}

}  // namespace
}  // namespace vireo::binary_test

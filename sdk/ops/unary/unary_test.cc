#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sdk/ops/testing.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo::unary_test {
namespace {

std::vector<uint8_t> plain() { return pack<attrs::Unary>(attrs::UnaryT{}); }
std::vector<uint8_t> elu(float alpha, float gamma, float divisor) {
  attrs::EluT a;
  a.alpha = alpha, a.gamma = gamma, a.divisor = divisor;
  return pack<attrs::Elu>(a);
}

template <class T>
std::vector<T> run(Op op, const std::vector<uint8_t>& attrs, const std::vector<T>& x) {
  OpTest t(op, attrs);
  t.input<T>({static_cast<int64_t>(x.size())}, x);
  EXPECT_EQ(t.run(), Status::kOk) << op_name(op) << ": " << t.message();
  return t.y().template as<T>();
}

struct Case {
  Op op;
  double (*f)(double);
  double low, high;  // where the operator is defined
};

class UnaryFloat : public testing::TestWithParam<Case> {};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log(1 + std::exp(x)); }
INSTANTIATE_TEST_SUITE_P(
    Formulas, UnaryFloat,
    testing::Values(Case{Op::kSqrt, [](double x) { return std::sqrt(x); }, 0, 9},
                    Case{Op::kExp, [](double x) { return std::exp(x); }, -9, 9},
                    Case{Op::kLog, [](double x) { return std::log(x); }, 0.1, 9},
                    Case{Op::kSin, [](double x) { return std::sin(x); }, -9, 9},
                    Case{Op::kCos, [](double x) { return std::cos(x); }, -9, 9},
                    Case{Op::kTan, [](double x) { return std::tan(x); }, -1, 1},
                    Case{Op::kAsin, [](double x) { return std::asin(x); }, -1, 1},
                    Case{Op::kAcos, [](double x) { return std::acos(x); }, -1, 1},
                    Case{Op::kAtan, [](double x) { return std::atan(x); }, -9, 9},
                    Case{Op::kSinh, [](double x) { return std::sinh(x); }, -5, 5},
                    Case{Op::kCosh, [](double x) { return std::cosh(x); }, -5, 5},
                    Case{Op::kAsinh, [](double x) { return std::asinh(x); }, -9, 9},
                    Case{Op::kAcosh, [](double x) { return std::acosh(x); }, 1, 9},
                    Case{Op::kAtanh, [](double x) { return std::atanh(x); }, -0.9, 0.9},
                    Case{Op::kTanh, [](double x) { return std::tanh(x); }, -5, 5},
                    Case{Op::kErf, [](double x) { return std::erf(x); }, -4, 4}, Case{Op::kSigmoid, sigmoid, -9, 9},
                    Case{Op::kSoftplus, softplus, -9, 9},
                    Case{Op::kMish, [](double x) { return x * std::tanh(softplus(x)); }, -9, 9},
                    Case{Op::kHardSwish, [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }, -5, 5},
                    Case{Op::kRelu, [](double x) { return std::max(x, 0.0); }, -5, 5},
                    Case{Op::kAbs, [](double x) { return std::fabs(x); }, -5, 5},
                    Case{Op::kNeg, [](double x) { return -x; }, -5, 5}));

// float64 against the formula; the smaller types against float64's answer for the same (exactly represented) input.
// Bounds: a handful of roundings of the type, relative to the larger of the answer and 1 (asin and friends cancel
// around 0).
TEST_P(UnaryFloat, MatchesTheFormulaInEveryType) {
  const Case& c = GetParam();
  std::vector<double> x;
  std::vector<float> xf;
  std::vector<F16> xh;
  std::vector<BF16> xb;
  for (int i = 0; i <= 64; ++i) {
    const double step = c.low + (c.high - c.low) * i / 64;
    // 8 significant bits, towards the middle: exact in all four types and inside the domain.
    const BF16 v(static_cast<float>(step * 0.9921875 + (c.low + c.high) / 2 * 0.0078125));
    x.push_back(static_cast<double>(static_cast<float>(v)));
    xf.push_back(v), xh.push_back(F16(v)), xb.push_back(v);
  }
  const auto y = run(c.op, plain(), x);
  const auto yf = run(c.op, plain(), xf);
  const auto yh = run(c.op, plain(), xh);
  const auto yb = run(c.op, plain(), xb);
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = c.f(x[i]), size = std::max(1.0, std::fabs(want));
    EXPECT_NEAR(y[i], want, 8 * 0x1p-53 * size) << x[i];
    EXPECT_NEAR(static_cast<double>(yf[i]), want, 8 * 0x1p-24 * size) << x[i];
    const double half = c.f(static_cast<double>(static_cast<float>(xh[i])));
    EXPECT_NEAR(static_cast<double>(static_cast<float>(yh[i])), half, 2 * 0x1p-11 * std::max(1.0, std::fabs(half)));
    EXPECT_NEAR(static_cast<double>(static_cast<float>(yb[i])), want, 2 * 0x1p-8 * size);
  }
}

TEST_P(UnaryFloat, InPlaceAndInSlotsIsTheSame) {
  const Case& c = GetParam();
  std::vector<float> x;
  for (int i = 0; i < 10000; ++i) x.push_back(static_cast<float>(c.low + (c.high - c.low) * i / 10000));
  OpTest t(c.op, plain());
  t.input<float>({100, 1, 100}, x).in_place().slots(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto want = run(c.op, plain(), x), got = t.y().as<float>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(float_bits(got[i]), float_bits(want[i])) << x[i];
}

TEST(Unary, Rounding) {  // ONNX "Round": halves to even
  const std::vector<float> x = {0.1f, 0.5f,  0.9f,  1.2f,  1.5f,  1.8f,  2.3f, 2.5f,
                                2.7f, -1.1f, -1.5f, -1.9f, -2.2f, -2.5f, -2.8f};
  EXPECT_EQ(run(Op::kRound, plain(), x), (std::vector<float>{0, 0, 1, 1, 2, 2, 2, 2, 3, -1, -2, -2, -2, -2, -3}));
  EXPECT_EQ(run<float>(Op::kFloor, plain(), {-1.5f, 1.2f, 2}), (std::vector<float>{-2, 1, 2}));
  EXPECT_EQ(run<float>(Op::kCeil, plain(), {-1.5f, 1.2f, 2}), (std::vector<float>{-1, 2, 2}));
}

TEST(Unary, Integers) {
  EXPECT_EQ(run<int8_t>(Op::kAbs, plain(), {-128, -1, 0, 127}), (std::vector<int8_t>{-128, 1, 0, 127}));
  EXPECT_EQ(run<uint8_t>(Op::kAbs, plain(), {0, 255}), (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(run<int32_t>(Op::kNeg, plain(), {INT32_MIN, 5}), (std::vector<int32_t>{INT32_MIN, -5}));
  EXPECT_EQ(run<int64_t>(Op::kSign, plain(), {INT64_MIN, 0, 9}), (std::vector<int64_t>{-1, 0, 1}));
  EXPECT_EQ(run<uint64_t>(Op::kSign, plain(), {0, UINT64_MAX}), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(run<int16_t>(Op::kRelu, plain(), {-7, 7}), (std::vector<int16_t>{0, 7}));
}

TEST(Unary, ExtremesStayFinite) {
  for (float x : {-1e30f, -200.0f, 200.0f, 1e30f}) {
    EXPECT_EQ(run<float>(Op::kSigmoid, plain(), {x})[0], x < 0 ? 0.0f : 1.0f);
    EXPECT_EQ(run<float>(Op::kSoftplus, plain(), {x})[0], x < 0 ? 0.0f : x);
  }
  for (Op op : {Op::kRelu, Op::kSign, Op::kSigmoid, Op::kAbs})
    EXPECT_TRUE(std::isnan(run<float>(op, plain(), {NAN})[0]));
}

TEST(Unary, EluSeluCelu) {
  // ONNX "Elu" elu_example (alpha 2), "Selu" selu_example (alpha 2, gamma 3).
  EXPECT_NEAR(run<float>(Op::kElu, elu(2, 1, 1), {-1})[0], -1.2642411f, 1e-6f);
  EXPECT_NEAR(run<float>(Op::kElu, elu(2, 3, 1), {-1})[0], -3.79272318f, 1e-6f);
  EXPECT_EQ(run<float>(Op::kElu, elu(2, 3, 1), {1})[0], 3.0f);
  // Celu with alpha 2: 2 * (exp(-1 / 2) - 1).
  EXPECT_NEAR(run<float>(Op::kElu, elu(2, 1, 2), {-1})[0], -0.78693867f, 1e-6f);
  OpTest t(Op::kElu, elu(1, 1, 0));
  t.input<float>({1}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

TEST(Unary, ActivationsWithAttributes) {
  attrs::LeakyReluT leaky;
  leaky.alpha = 0.1f;
  EXPECT_EQ(run<float>(Op::kLeakyRelu, pack<attrs::LeakyRelu>(leaky), {-1, 0, 1}), (std::vector<float>{-0.1f, 0, 1}));
  attrs::HardSigmoidT hard;
  hard.alpha = 0.5f, hard.beta = 0.6f;  // ONNX "HardSigmoid", hardsigmoid_example
  const auto y = run<float>(Op::kHardSigmoid, pack<attrs::HardSigmoid>(hard), {-1, 0, 1});
  EXPECT_NEAR(y[0], 0.1f, 1e-7f);
  EXPECT_NEAR(y[1], 0.6f, 1e-7f);
  EXPECT_EQ(y[2], 1.0f);
  attrs::SwishT swish;
  EXPECT_NEAR(run<float>(Op::kSwish, pack<attrs::Swish>(swish), {3})[0], 2.8577223f, 1e-6f);
  attrs::ShrinkT shrink;
  shrink.lambd = 1.5f, shrink.bias = 1.5f;  // ONNX "Shrink", soft
  EXPECT_EQ(run<float>(Op::kShrink, pack<attrs::Shrink>(shrink), {-2, -1, 0, 1, 2}),
            (std::vector<float>{-0.5f, 0, 0, 0, 0.5f}));
  EXPECT_EQ(run<int8_t>(Op::kShrink, pack<attrs::Shrink>(shrink), {-4, -1, 4}), (std::vector<int8_t>{-2, 0, 2}));
}

TEST(Unary, Gelu) {  // ONNX "Gelu", gelu_default_1 and gelu_tanh_1
  attrs::GeluT a;
  auto y = run<float>(Op::kGelu, pack<attrs::Gelu>(a), {-1, 0, 1});
  EXPECT_NEAR(y[0], -0.15865526f, 1e-7f);
  EXPECT_NEAR(y[2], 0.84134474f, 1e-7f);
  a.form = attrs::GeluForm::Tanh;
  y = run<float>(Op::kGelu, pack<attrs::Gelu>(a), {-1, 0, 1});
  EXPECT_NEAR(y[0], -0.158808f, 1e-6f);
  EXPECT_NEAR(y[2], 0.841192f, 1e-6f);
}

TEST(Unary, IsNaNAndIsInf) {
  const std::vector<float> x = {-INFINITY, INFINITY, NAN, -NAN, 0, 3e38f};
  OpTest nan(Op::kIsNaN, plain());
  nan.input<float>({6}, x);
  ASSERT_EQ(nan.run(), Status::kOk) << nan.message();
  EXPECT_EQ(nan.y().bytes, (std::vector<uint8_t>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(nan.y().type.dtype, DType::kBool);
  attrs::IsInfT a;
  a.detect_negative = false;
  OpTest inf(Op::kIsInf, pack<attrs::IsInf>(a));
  inf.input<float>({6}, x);
  ASSERT_EQ(inf.run(), Status::kOk) << inf.message();
  EXPECT_EQ(inf.y().bytes, (std::vector<uint8_t>{0, 1, 0, 0, 0, 0}));

  for (DType t : {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ}) {
    TestTensor narrow;
    narrow.type = {t, make_shape({4})};
    narrow.bytes = {0x7F, 0x80, 0x7C, 0xFF};
    const bool fnuz = t == DType::kF8E4M3FNUZ || t == DType::kF8E5M2FNUZ;
    OpTest f8(Op::kIsNaN, plain());
    ASSERT_EQ(f8.input(narrow).run(), Status::kOk);
    EXPECT_EQ(f8.y().bytes, fnuz ? (std::vector<uint8_t>{0, 1, 0, 0}) : (std::vector<uint8_t>{1, 0, 0, 1}));
    OpTest f8inf(Op::kIsInf, pack<attrs::IsInf>(attrs::IsInfT{}));
    ASSERT_EQ(f8inf.input(narrow).run(), Status::kOk);
    EXPECT_EQ(f8inf.y().bytes, (std::vector<uint8_t>{0, 0, t == DType::kF8E5M2, 0}));
  }
}

TEST(Unary, Not) {
  OpTest t(Op::kNot, plain());
  t.input_bool({2, 1}, {0, 1}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{1, 0}));
}

TEST(Unary, EmptyAndScalar) {
  OpTest empty(Op::kExp, plain());
  empty.input<float>({0, 3}, {});
  EXPECT_EQ(empty.run(), Status::kOk);
  OpTest scalar(Op::kExp, plain());
  scalar.input<float>({}, {0});
  ASSERT_EQ(scalar.run(), Status::kOk);
  EXPECT_EQ(scalar.y().as<float>()[0], 1.0f);
}

TEST(Unary, RefusesTypes) {
  OpTest exp(Op::kExp, plain());
  EXPECT_EQ(exp.input<int32_t>({1}, {1}).run(), Status::kInvalidModel);
  EXPECT_STREQ(exp.message(), "input 0 is int32, wanted float16, bfloat16, float32 or float64");
  OpTest neg(Op::kNeg, plain());
  EXPECT_EQ(neg.input<uint8_t>({1}, {1}).run(), Status::kInvalidModel);
  OpTest no(Op::kNot, plain());
  EXPECT_EQ(no.input<uint8_t>({1}, {1}).run(), Status::kInvalidModel);
}

TEST(Unary, ShrinkBeyondTheType) {
  attrs::ShrinkT a;
  a.lambd = 0, a.bias = -1e20f;
  EXPECT_EQ(run<int64_t>(Op::kShrink, pack<attrs::Shrink>(a), {1, -1}), (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  a.bias = 5;
  EXPECT_EQ(run<uint8_t>(Op::kShrink, pack<attrs::Shrink>(a), {3, 9}), (std::vector<uint8_t>{254, 4}));
}

}  // namespace
}  // namespace vireo::unary_test

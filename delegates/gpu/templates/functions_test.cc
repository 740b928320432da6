// Every function against libm in float64, and integers, casts and 16-bit floats against plain code, to the bit.
#include <gtest/gtest.h>
#include <math.h>

#include <limits>

#include "delegates/gpu/templates/chain.h"
#include "delegates/gpu/templates/functions.h"
#include "delegates/gpu/templates/testing.h"
#include "sdk/base/half.h"
#include "sdk/base/requantize.h"

namespace vireo::gpu::functions_test {
namespace {

// y = step(x...), all dense over one axis.
ChainProblem elementwise(Step step, const std::vector<DType>& types, int64_t count) {
  ChainProblem p;
  p.shape = {count};
  int* operands[] = {&step.a, &step.b, &step.c};
  for (size_t i = 0; i < types.size(); ++i) {
    p.expression.inputs.push_back({types[i], dense(p.shape)});
    *operands[i] = static_cast<int>(i);
  }
  p.expression.steps.push_back(step);
  p.expression.outputs.push_back({static_cast<int>(types.size()), dense(p.shape)});
  return p;
}

Dispatch made(const ChainProblem& p, const Target& t) { return make_chain(p, choose_chain(p, t), t); }

// Vulkan lets a card take numbers below 2^-126 for 0: such operands are left out there.
void drop_subnormals(std::vector<float>* v) {
  if (trial_card() == nullptr || trial_card()->target.keeps_denormals32) return;
  for (float& x : *v) x = fpclassify(x) == FP_SUBNORMAL ? 0.0f : x;
}

std::vector<float> hard_floats(float range, uint32_t seed) {
  std::vector<float> v = random_floats(1500, seed, -range, range);
  for (const float small : random_floats(200, seed + 1, -1, 1)) v.push_back(small);
  for (const float tiny : random_floats(50, seed + 2, -1e-3f, 1e-3f)) v.push_back(tiny);
  const float more[] = {0.0f,    -0.0f, 1.0f,     -1.0f,    0.5f,  -0.5f,  1e-30f,   -1e-30f,   1e-42f,
                        -1e-42f, 1e30f, -1e30f,   88.0f,    89.0f, -88.0f, -104.0f,  0.34f,     0.9f,
                        0.625f,  3.0f,  65504.0f, 65520.0f, 1e5f,  -1e5f,  INFINITY, -INFINITY, NAN};
  v.insert(v.end(), std::begin(more), std::end(more));
  drop_subnormals(&v);
  return v;
}

// What a card may be off in a root, which is more than in a quotient.
double root_slack() { return trial_card() == nullptr ? 0 : 4.5; }

struct Case {
  Function function;
  double (*of)(double);
  double ulps;
  float range = 20;
  double absolute = 0;  // an error that counts as none
};

double sigmoid(double x) { return 1 / (1 + exp(-x)); }
double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }
double relu(double x) { return x < 0 ? 0 : x; }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double hardswish(double x) { return x * fmin(fmax(x / 6 + 0.5, 0), 1); }
double gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
double mish(double x) { return x * tanh(softplus(x)); }
double swish(double x) { return x * sigmoid(1.5 * x); }
double elu(double x) { return 1.25 * (x > 0 ? x : 0.75 * expm1(x / 2)); }
double leaky(double x) { return x < 0 ? static_cast<double>(0.1f) * x : x; }
double reciprocal(double x) { return 1 / x; }
double negative(double x) { return -x; }

TEST(Functions, FloatsAreWithinTheirBounds) {
  const Case cases[] = {
      {Function::kAbs, fabs, 0},
      {Function::kNeg, negative, 0},
      {Function::kSqrt, sqrt, 0.5},
      {Function::kExp, exp, 2, 100, 1e-43},
      {Function::kLog, log, 3, 1000},
      {Function::kSin, sin, 3},
      {Function::kCos, cos, 3},
      {Function::kSin, sin, 3, 1e6},
      {Function::kCos, cos, 3, 1e20f},
      {Function::kTan, tan, 6},
      {Function::kAsin, asin, 4, 1},
      {Function::kAcos, acos, 4, 1},
      {Function::kAtan, atan, 4},
      {Function::kSinh, sinh, 7},
      {Function::kCosh, cosh, 6},
      {Function::kAsinh, asinh, 5, 3000},
      {Function::kAcosh, acosh, 5, 3000},
      {Function::kAtanh, atanh, 5, 1},
      {Function::kTanh, tanh, 4},
      {Function::kSigmoid, sigmoid, 4, 80, 1e-37},
      {Function::kRelu, relu, 0},
      {Function::kSoftplus, softplus, 5, 30, 1.2e-7},
      {Function::kErf, erf, 4},
      {Function::kFloor, floor, 0},
      {Function::kCeil, ceil, 0},
      {Function::kRound, rint, 0},
      {Function::kSign, sign, 0},
      {Function::kHardSwish, hardswish, 3, 20, 1e-6},
      {Function::kGeluErf, gelu, 8, 20, 2e-6},
      {Function::kMish, mish, 12, 20, 1e-6},
      {Function::kSwish, swish, 6, 20, 1e-6},
      {Function::kElu, elu, 6},
      {Function::kLeakyRelu, leaky, 1},
      {Function::kReciprocal, reciprocal, 0.5},
  };
  Trials trials;
  uint32_t seed = 1;
  for (const Case& c : cases) {
    Step step;
    step.function = c.function;
    step.p[0] = c.function == Function::kSwish ? 1.5f : c.function == Function::kElu ? 0.75f : 0.1f;
    step.p[1] = 1.25f;
    step.p[2] = 2;
    const std::vector<float> x = hard_floats(c.range, seed++);
    const ChainProblem p = elementwise(step, {DType::kF32}, static_cast<int64_t>(x.size()));
    trials.add(name_of(c.function), made(p, rich_target()), rich_target(), {bytes_of(x), Bytes(x.size() * 4, 7)},
               [x, c](const std::vector<Bytes>& out) {
                 const std::vector<float> y = as<float>(out[1]);
                 for (size_t i = 0; i < x.size(); ++i) {
                   const double wanted = c.of(static_cast<double>(x[i]));
                   if (c.absolute > 0 && fabs(static_cast<double>(y[i]) - wanted) <=
                                             c.absolute * std::max(1.0, fabs(static_cast<double>(x[i]))))
                     continue;
                   ASSERT_LE(ulps_apart(y[i], wanted), c.ulps + root_slack() + 0.001)
                       << name_of(c.function) << "(" << x[i] << ") = " << y[i] << ", not " << wanted;
                 }
               });
  }
}

// Integers of every type through one function, against int64 arithmetic of which the low bits are kept.
template <class T>
void check_integers(Trials& trials, DType type, Function f, int64_t (*of)(int64_t, int64_t), bool nonzero) {
  Step step;
  step.function = f;
  step.type = type;
  std::vector<T> a = as<T>(random_bytes(301 * sizeof(T), 5)), b = as<T>(random_bytes(301 * sizeof(T), 6));
  a[0] = std::numeric_limits<T>::min();
  b[0] = static_cast<T>(-1);
  if (nonzero) {
    for (T& v : b) v = v == 0 ? T(1) : v;
  }
  for (const Target& target : {plain_target(), rich_target()}) {
    if (sizeof(T) == 8 && !target.int64) continue;
    const ChainProblem p = elementwise(step, {type, type}, 301);
    trials.add(std::string(name_of(f)) + " " + dtype_name(type), made(p, target), target,
               {bytes_of(a), bytes_of(b), Bytes(301 * sizeof(T), 9)}, [=](const std::vector<Bytes>& out) {
                 const std::vector<T> y = as<T>(out[2]);
                 for (size_t i = 0; i < y.size(); ++i) {
                   ASSERT_EQ(y[i], static_cast<T>(of(static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i])))) << i;
                 }
               });
  }
}

TEST(Functions, IntegersWrap) {
  Trials trials;
  const auto all = [&](Function f, int64_t (*of)(int64_t, int64_t), bool nonzero) {
    check_integers<int8_t>(trials, DType::kI8, f, of, nonzero);
    check_integers<uint8_t>(trials, DType::kU8, f, of, nonzero);
    check_integers<int16_t>(trials, DType::kI16, f, of, nonzero);
    check_integers<int32_t>(trials, DType::kI32, f, of, nonzero);
    check_integers<uint32_t>(trials, DType::kU32, f, of, nonzero);
  };
  using I = int64_t;
  using U = uint64_t;
  all(
      Function::kAdd, [](I a, I b) { return static_cast<I>(static_cast<U>(a) + static_cast<U>(b)); }, false);
  all(
      Function::kMul, [](I a, I b) { return static_cast<I>(static_cast<U>(a) * static_cast<U>(b)); }, false);
  all(
      Function::kDiv, [](I a, I b) { return b == -1 ? -a : a / b; }, true);
  all(
      Function::kModFloored,
      [](I a, I b) {
        const I r = b == -1 ? 0 : a % b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
      },
      true);
  all(
      Function::kMin, [](I a, I b) { return a < b ? a : b; }, false);
  all(
      Function::kPRelu, [](I a, I b) { return a < 0 ? static_cast<I>(static_cast<U>(a) * static_cast<U>(b)) : a; },
      false);
  check_integers<int64_t>(
      trials, DType::kI64, Function::kSub,
      [](I a, I b) { return static_cast<I>(static_cast<U>(a) - static_cast<U>(b)); }, false);
  check_integers<int64_t>(
      trials, DType::kI64, Function::kMax, [](I a, I b) { return a > b ? a : b; }, false);
}

// Towards zero, held within int64, low bits; NaN: 0 (sdk/ops/cast).
int64_t to_i64(float v) {
  if (v != v) return 0;
  if (v >= 9223372036854775808.0f) return INT64_MAX;
  return v <= -9223372036854775808.0f ? INT64_MIN : static_cast<int64_t>(v);
}

template <class T>
void check_cast(Trials& trials, DType to) {
  std::vector<float> x = hard_floats(1e6f, 3);
  for (const float v : random_floats(200, 8, -1e20f, 1e20f)) x.push_back(v);
  for (const float v : random_floats(200, 9, -5e9f, 5e9f)) x.push_back(v);
  Step step;
  step.type = to;
  const ChainProblem p = elementwise(step, {DType::kF32}, static_cast<int64_t>(x.size()));
  trials.add(std::string("cast to ") + dtype_name(to), made(p, rich_target()), rich_target(),
             {bytes_of(x), Bytes(x.size() * sizeof(T), 3)}, [x](const std::vector<Bytes>& out) {
               const std::vector<T> y = as<T>(out[1]);
               for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], static_cast<T>(to_i64(x[i]))) << x[i];
             });
}

TEST(Functions, CastsOfFloatsToIntegers) {
  Trials trials;
  check_cast<int8_t>(trials, DType::kI8);
  check_cast<uint8_t>(trials, DType::kU8);
  check_cast<int16_t>(trials, DType::kI16);
  check_cast<int32_t>(trials, DType::kI32);
  check_cast<uint32_t>(trials, DType::kU32);
  check_cast<int64_t>(trials, DType::kI64);
}

TEST(Functions, SixteenBitFloatsRoundToNearestEven) {
  Trials trials;
  std::vector<float> x = hard_floats(70000.0f, 4);
  for (const float v : random_floats(3000, 8, -1e-4f, 1e-4f)) x.push_back(v);
  for (const float v : random_floats(3000, 9, -1e-7f, 1e-7f)) x.push_back(v);
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const bool half = type == DType::kF16;
    Step narrow, widen;
    narrow.type = type;
    trials.add("narrow", made(elementwise(narrow, {DType::kF32}, static_cast<int64_t>(x.size())), plain_target()),
               plain_target(), {bytes_of(x), Bytes(x.size() * 2, 3)}, [x, half](const std::vector<Bytes>& out) {
                 const std::vector<uint16_t> y = as<uint16_t>(out[1]);
                 for (size_t i = 0; i < x.size(); ++i)
                   ASSERT_EQ(y[i], half ? f32_to_f16(x[i]) : f32_to_bf16(x[i])) << x[i];
               });
    trials.add("widen", made(elementwise(widen, {type}, 65536), plain_target()), plain_target(),
               {bytes_of(codes), Bytes(65536 * 4, 3)}, [codes, half](const std::vector<Bytes>& out) {
                 const std::vector<uint32_t> y = as<uint32_t>(out[1]);
                 for (size_t i = 0; i < codes.size(); ++i)
                   ASSERT_EQ(y[i], float_bits(half ? f16_to_f32(codes[i]) : bf16_to_f32(codes[i]))) << i;
               });
  }
}

void add_pairs(Trials& trials, Function f, const std::vector<float>& a, const std::vector<float>& b,
               double (*of)(double, double), double ulps) {
  Step step;
  step.function = f;
  const ChainProblem p = elementwise(step, {DType::kF32, DType::kF32}, static_cast<int64_t>(a.size()));
  trials.add(name_of(f), made(p, rich_target()), rich_target(), {bytes_of(a), bytes_of(b), Bytes(a.size() * 4, 7)},
             [=](const std::vector<Bytes>& out) {
               const std::vector<float> y = as<float>(out[2]);
               for (size_t i = 0; i < a.size(); ++i) {
                 const double wanted = of(static_cast<double>(a[i]), static_cast<double>(b[i]));
                 ASSERT_LE(ulps_apart(y[i], wanted), ulps == 0 ? 0 : ulps + root_slack())
                     << a[i] << ", " << b[i] << ": " << y[i] << ", not " << wanted;
                 const bool same_sign = isnan(wanted) || signbit(y[i]) == signbit(wanted);
                 ASSERT_TRUE(same_sign) << a[i] << ", " << b[i];
               }
             });
}

double floored_mod(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0) return copysign(r, b);
  return (r < 0) != (b < 0) ? static_cast<double>(static_cast<float>(r) + static_cast<float>(b)) : r;
}

TEST(Functions, PowersAndRemainders) {
  Trials trials;
  const float ends[] = {0.0f,        -0.0f, 1.0f,   -1.0f,  2.0f,     -2.0f,     3.0f, 0.5f,        -0.5f,     2.5f,
                        16777215.0f, 1e20f, -1e20f, 1e-42f, INFINITY, -INFINITY, NAN,  0.99999994f, 1.0000001f};
  std::vector<float> a, b;
  for (const float x : ends) {
    for (const float y : ends) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  drop_subnormals(&a);
  drop_subnormals(&b);
  std::vector<float> ma = a, mb = b;
  for (const float x : random_floats(3000, 1, 0, 10)) a.push_back(x);
  for (const float y : random_floats(3000, 2, -30, 30)) b.push_back(y);
  for (const float x : random_floats(500, 3, 0.99f, 1.01f)) a.push_back(x);
  for (const float y : random_floats(500, 4, -8000, 8000)) b.push_back(y);
  add_pairs(trials, Function::kPow, a, b, pow, 3);
  for (const float x : random_floats(1000, 5, -1e9f, 1e9f)) ma.push_back(x);
  for (const float y : random_floats(1000, 6, -7, 7)) mb.push_back(y);
  add_pairs(trials, Function::kModTruncated, ma, mb, fmod, 0);
  add_pairs(trials, Function::kModFloored, ma, mb, floored_mod, 0);
  check_integers<int32_t>(
      trials, DType::kI32, Function::kPow,
      [](int64_t x, int64_t n) {
        if (n < 0) return x == 1 || (x == -1 && n % 2 == 0) ? int64_t{1} : x == -1 ? int64_t{-1} : int64_t{0};
        uint64_t y = 1;
        for (uint64_t s = static_cast<uint64_t>(x); n != 0; n >>= 1, s *= s) y *= (n & 1) != 0 ? s : 1;
        return static_cast<int64_t>(y);
      },
      false);
}

// A device's own quotient may be 2.5 units in the last place off.
TEST(Functions, QuotientsThatAreToBeNearest) {
  Trials trials;
  Step step;
  step.function = Function::kDiv;
  step.p[0] = 1;
  std::vector<float> a = random_floats(2000, 7, -1e9f, 1e9f), b = random_floats(2000, 8, 1, 4e9f);
  for (const float whole : {255.0f, 256.0f, 1.0f, 7919.0f}) {
    for (float sum = 8388608; sum < 1e12f; sum *= 1.0371f) {
      a.push_back(whole);
      b.push_back(sum);
    }
  }
  const ChainProblem p = elementwise(step, {DType::kF32, DType::kF32}, static_cast<int64_t>(a.size()));
  trials.add("quotient", made(p, rich_target()), rich_target(), {bytes_of(a), bytes_of(b), Bytes(a.size() * 4, 7)},
             [=](const std::vector<Bytes>& out) {
               const std::vector<float> y = as<float>(out[2]);
               for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] / b[i]) << a[i] << ", " << b[i];
             });
}

template <class T>
void check_quantize(Trials& trials, DType type, float scale, T zero) {
  std::vector<float> x = hard_floats(200 * scale, 3);
  for (int k = -300; k < 300; ++k) {  // beside halves, where a quotient that is off by one place shows
    const float tie = (static_cast<float>(k) + 0.5f) * scale;
    x.insert(x.end(), {tie, nextafterf(tie, 1e9f), nextafterf(tie, -1e9f)});
  }
  ChainProblem p;
  p.shape = {static_cast<int64_t>(x.size())};
  View one;
  one.strides = {0};
  p.expression.inputs = {{DType::kF32, dense(p.shape)}, {DType::kF32, one}, {type, one}};
  Step narrow, widen;
  narrow.function = Function::kQuantize;
  narrow.type = type;
  narrow.a = 0;
  narrow.b = widen.b = 1;
  narrow.c = widen.c = 2;
  widen.function = Function::kDequantize;
  widen.a = 3;
  p.expression.steps = {narrow, widen};
  p.expression.outputs = {{3, dense(p.shape)}, {4, dense(p.shape)}};
  trials.add("quantize", made(p, rich_target()), rich_target(),
             {bytes_of(x), bytes_of(std::vector<float>{scale}), bytes_of(std::vector<T>{zero}),
              Bytes(x.size() * sizeof(T)), Bytes(x.size() * 4)},
             [=](const std::vector<Bytes>& out) {
               const std::vector<T> codes = as<T>(out[3]);
               const std::vector<float> back = as<float>(out[4]);
               for (size_t i = 0; i < x.size(); ++i) {
                 ASSERT_EQ(codes[i], round_and_clamp(x[i] / scale, zero, std::numeric_limits<T>::min(),
                                                     std::numeric_limits<T>::max()))
                     << x[i];
                 ASSERT_EQ(back[i], static_cast<float>(codes[i] - zero) * scale);
               }
             });
}

TEST(Functions, CodesAreThoseOfTheReference) {
  Trials trials;
  check_quantize<int8_t>(trials, DType::kI8, 0.037f, 0);
  check_quantize<uint8_t>(trials, DType::kU8, 1.7e-3f, 131);
  check_quantize<int16_t>(trials, DType::kI16, 0.1f, -7);
  check_quantize<uint8_t>(trials, DType::kU8, 3.0f, 0);
}

TEST(Functions, WhatHasNoCodeIsRefused) {
  Step step;
  step.function = Function::kPow;
  EXPECT_NE(made(elementwise(step, {DType::kF32, DType::kI32}, 4), rich_target()).refusal, "");
  step.function = Function::kSin;
  step.type = DType::kI32;
  EXPECT_NE(made(elementwise(step, {DType::kI32}, 4), rich_target()).refusal, "");
  step.function = Function::kAdd;
  step.type = DType::kI64;
  EXPECT_NE(made(elementwise(step, {DType::kI64, DType::kI64}, 4), plain_target()).refusal, "");
  EXPECT_EQ(made(elementwise(step, {DType::kI64, DType::kI64}, 4), rich_target()).refusal, "");
}

}  // namespace
}  // namespace vireo::gpu::functions_test

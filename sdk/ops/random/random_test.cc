#include "sdk/ops/random/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::random_test {
namespace {

constexpr int64_t kCount = 40000;

std::vector<uint8_t> attributes(const attrs::RandomT& a) { return pack<attrs::Random>(a); }

struct Moments {
  double mean = 0, variance = 0;
};
template <class T>
Moments moments(const std::vector<T>& v) {
  Moments m;
  for (T x : v) m.mean += static_cast<double>(x) / static_cast<double>(v.size());
  for (T x : v) m.variance += std::pow(static_cast<double>(x) - m.mean, 2) / static_cast<double>(v.size());
  return m;
}

TEST(RandomStream, KnownVector) {  // SplitMix64 from state 1234567, as published with the algorithm's reference code
  RandomStream s(1234567);
  EXPECT_EQ(s.bits(), 6457827717110365317u);
  EXPECT_EQ(s.bits(), 3203168211198807973u);
  EXPECT_EQ(s.bits(), 9817491932198370423u);
}

// Tolerances: five standard errors; the mean's is sigma / sqrt(n), the variance's sigma^2 sqrt((kurtosis - 1) / n).
TEST(RandomUniform, Moments) {
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kF32);
  a.shape = {kCount / 100, 100};
  a.low = -2;
  a.high = 4;
  OpTest t(Op::kRandomUniform, attributes(a));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({kCount / 100, 100}));
  const auto y = t.y().as<float>();
  for (float v : y) EXPECT_TRUE(v >= -2 && v <= 4);
  const Moments m = moments(y);
  EXPECT_NEAR(m.mean, 1, 5 * std::sqrt(3.0 / kCount));
  EXPECT_NEAR(m.variance, 3, 5 * 3 * std::sqrt(0.8 / kCount));
}

TEST(RandomNormalLike, Moments) {
  attrs::RandomT a;
  a.mean = 3;
  a.scale = 2;
  OpTest t(Op::kRandomNormalLike, attributes(a));
  t.input<double>({kCount}, std::vector<double>(kCount));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<double>();
  const Moments m = moments(y);
  EXPECT_NEAR(m.mean, 3, 5 * 2 / std::sqrt(kCount));
  EXPECT_NEAR(m.variance, 4, 5 * 4 * std::sqrt(2.0 / kCount));
  int64_t within = 0;
  for (double v : y) within += std::abs(v - 3) < 2;
  EXPECT_NEAR(static_cast<double>(within) / kCount, 0.6827, 5 * std::sqrt(0.6827 * 0.3173 / kCount));
}

TEST(Bernoulli, FollowsEachProbability) {
  std::vector<float> p;
  for (int64_t i = 0; i < kCount; ++i) p.push_back(i % 2 == 0 ? 0.25f : 1.0f);
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kBool);
  OpTest t(Op::kBernoulli, attributes(a));
  t.input<float>({kCount}, p);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.dtype, DType::kBool);
  int64_t quarter = 0;
  for (size_t i = 0; i < t.y().bytes.size(); i += 2) {
    quarter += t.y().bytes[i];
    EXPECT_EQ(t.y().bytes[i + 1], 1);
  }
  EXPECT_NEAR(static_cast<double>(quarter) / (kCount / 2), 0.25, 5 * std::sqrt(0.25 * 0.75 / (kCount / 2)));
}

TEST(Multinomial, FrequenciesAreTheSoftmax) {
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kI64);
  a.sample_size = kCount;
  OpTest t(Op::kMultinomial, attributes(a));
  const float off = -INFINITY;
  t.input<float>({2, 4}, {100 + std::log(1.0f), off, 100 + std::log(3.0f), off, off, 0, off, off});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, kCount}));
  const auto y = t.y().as<int64_t>();
  int64_t third = 0;
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(y[i] == 0 || y[i] == 2);
    third += y[i] == 2;
    ASSERT_EQ(y[kCount + i], 1);
  }
  EXPECT_NEAR(static_cast<double>(third) / kCount, 0.75, 5 * std::sqrt(0.25 * 0.75 / kCount));
}

TEST(Multinomial, RefusesRowsWithoutAClass) {
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kI32);
  OpTest t(Op::kMultinomial, attributes(a));
  t.input<float>({1, 2}, {-INFINITY, -INFINITY});
  EXPECT_EQ(t.run(), Status::kInvalidArgument);
}

TEST(Random, SeedFixesTheStream) {
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kF32);
  a.shape = {64};
  a.seeded = true;
  a.seed = 1;
  OpTest one(Op::kRandomNormal, attributes(a)), again(Op::kRandomNormal, attributes(a));
  a.seed = 2;
  OpTest other(Op::kRandomNormal, attributes(a));
  ASSERT_EQ(one.run(), Status::kOk);
  ASSERT_EQ(again.run(), Status::kOk);
  ASSERT_EQ(other.run(), Status::kOk);
  EXPECT_EQ(one.y().bytes, again.y().bytes);
  EXPECT_NE(one.y().bytes, other.y().bytes);
}

TEST(Random, SessionsStreamMovesOn) {
  attrs::RandomT a;
  a.dtype = static_cast<uint8_t>(DType::kF32);
  const std::vector<uint8_t> bytes = attributes(a);
  uint64_t state = 7;
  float first = 0, second = 0;
  for (float* v : {&first, &second}) {
    Tensor y{DType::kF32, {}, v, 4};
    Tensor* outputs[] = {&y};
    KernelContext ctx;
    ctx.outputs = outputs;
    ctx.attr_bytes = Span<const uint8_t>(bytes.data(), bytes.size());
    ctx.random = &state;
    ASSERT_EQ(find_ref(Op::kRandomUniform)->run(ctx), Status::kOk);
  }
  EXPECT_NE(first, second);
  RandomStream expected(7);
  EXPECT_EQ(first, static_cast<float>(expected.uniform()));
  EXPECT_EQ(second, static_cast<float>(expected.uniform()));
  EXPECT_EQ(state, expected.state());
}

TEST(Random, RefusesIntegerNoise) {
  OpTest t(Op::kRandomUniformLike, attributes({}));
  t.input<int32_t>({1}, {0});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::random_test

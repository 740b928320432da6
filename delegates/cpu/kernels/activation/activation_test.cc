#include "delegates/cpu/kernels/activation/activation.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;

struct Row {
  const char* name;
  Activate f;
  double (*exact)(double);
  float lo, hi;
  double ulp;       // bound in units in the last place ...
  double absolute;  // ... or absolute, whichever is wider
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// Bounds are those that math-inl.h states. Where a formula subtracts 1 from a rounded exponential or multiplies by x,
// the absolute part is that rounding: 2^-24 of the largest intermediate value.
const Row kRows[] = {
    {"exp", {Activation::kExp}, [](double x) { return std::exp(x); }, -110, 95, 1.5, 1.5e-45},
    {"log", {Activation::kLog}, [](double x) { return std::log(x); }, 0, 1e30f, 2, 0},
    {"log near 1", {Activation::kLog}, [](double x) { return std::log(x); }, 0.5f, 2, 2, 0},
    {"log subnormal", {Activation::kLog}, [](double x) { return std::log(x); }, 0, 1e-37f, 2, 0},
    {"sqrt", {Activation::kSqrt}, [](double x) { return std::sqrt(x); }, 0, 1e30f, 0.5001, 0},
    {"sigmoid", {Activation::kSigmoid}, sigmoid, -87, 87, 3, 0},
    {"tanh", {Activation::kTanh}, [](double x) { return std::tanh(x); }, -12, 12, 3, 0},
    {"tanh small", {Activation::kTanh}, [](double x) { return std::tanh(x); }, -0.7f, 0.7f, 3, 0},
    {"erf", {Activation::kErf}, [](double x) { return std::erf(x); }, -6, 6, 3, 0},
    {"gelu",
     {Activation::kGelu},
     [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); },
     -12,
     12,
     3,
     0x1p-22},
    {"gelu tanh",
     {Activation::kGeluTanh},
     [](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
     -12,
     12,
     3,
     0x1p-21},
    {"silu", {Activation::kSilu, 1}, [](double x) { return x * sigmoid(x); }, -80, 80, 4, 0},
    {"swish", {Activation::kSilu, 1.5f}, [](double x) { return x * sigmoid(1.5 * x); }, -20, 20, 20, 0},
    {"elu", {Activation::kElu, 0.75f}, [](double x) { return x < 0 ? 0.75 * std::expm1(x) : x; }, -20, 20, 1, 0x1p-23},
    {"selu",
     {Activation::kSelu, 1.67326319f, 1.05070102f},
     [](double x) { return 1.05070102 * (x < 0 ? 1.67326319 * std::expm1(x) : x); },
     -20,
     20,
     3,
     0x1p-21},
    {"celu", {Activation::kCelu, 2}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -20, 20, 1, 0x1p-22},
    {"softplus", {Activation::kSoftplus}, softplus, -90, 90, 4, 0x1p-24},
    {"softsign", {Activation::kSoftsign}, [](double x) { return x / (1 + std::abs(x)); }, -50, 50, 1.5, 0},
    {"mish", {Activation::kMish}, [](double x) { return x * std::tanh(softplus(x)); }, -20, 20, 8, 0x1p-19},
    {"hard sigmoid",
     {Activation::kHardSigmoid, 0.2f, 0.5f},
     [](double x) { return std::min(std::max(0.2f * x + 0.5, 0.0), 1.0); },
     -5,
     5,
     1,
     0x1p-23},
    {"hard swish",
     {Activation::kHardSwish},
     [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); },
     -5,
     5,
     3,
     0x1p-21},
    {"relu", {Activation::kRelu}, [](double x) { return std::max(x, 0.0); }, -5, 5, 0, 0},
    {"clip", {Activation::kClip, -1, 2}, [](double x) { return std::min(std::max(x, -1.0), 2.0); }, -5, 5, 0, 0},
    {"leaky relu", {Activation::kLeakyRelu, 0.25f}, [](double x) { return x < 0 ? x * 0.25 : x; }, -5, 5, 0, 0},
    {"thresholded relu", {Activation::kThresholdedRelu, 0.5f}, [](double x) { return x > 0.5 ? x : 0; }, -5, 5, 0, 0},
    {"reciprocal", {Activation::kReciprocal}, [](double x) { return 1 / x; }, -5, 5, 0.5001, 0},
    {"floor", {Activation::kFloor}, [](double x) { return std::floor(x); }, -5, 5, 0, 0},
    {"ceil", {Activation::kCeil}, [](double x) { return std::ceil(x); }, -5, 5, 0, 0},
    {"round", {Activation::kRound}, [](double x) { return std::nearbyint(x); }, -5, 5, 0, 0},
    {"abs", {Activation::kAbs}, [](double x) { return std::abs(x); }, -5, 5, 0, 0},
    {"neg", {Activation::kNeg}, [](double x) { return -x; }, -5, 5, 0, 0},
    {"sin", {Activation::kSin}, [](double x) { return std::sin(x); }, -10, 10, 3, 0},
    {"sin far", {Activation::kSin}, [](double x) { return std::sin(x); }, -51000, 51000, 3, 0},
    {"sin farther", {Activation::kSin}, [](double x) { return std::sin(x); }, 40000, 1e9f, 3, 0},
    {"cos", {Activation::kCos}, [](double x) { return std::cos(x); }, -10, 10, 3, 0},
    {"cos far", {Activation::kCos}, [](double x) { return std::cos(x); }, -51000, 51000, 3, 0},
    {"square", {Activation::kSquare}, [](double x) { return x * x; }, -5, 5, 0.5001, 0},
};

TEST(Activation, ErrorBounds) {
  for_each_level([](const char*) {
    for (const Row& row : kRows) {
      SCOPED_TRACE(row.name);
      constexpr size_t kCount = 20011;
      testing::Floats x(kCount), y(kCount);
      testing::fill_uniform(x, 7, row.lo, row.hi);
      if (row.hi == 1e30f) {
        for (float& v : x) v = std::exp(std::log(v / 1e30f) * 7);  // spreads over the exponents
      }
      x[0] = row.lo;
      x[1] = row.hi;
      activate_f32(x.data(), y.data(), kCount, row.f, Parallel{});
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < kCount; ++i) {
        if (testing::lost(x[i])) continue;
        const double want = row.exact(x[i]);
        if (testing::lost(want) && y[i] == 0) continue;
        const double ulp = std::abs(y[i] - want) <= row.absolute ? 0 : testing::ulp_error(y[i], want);
        if (ulp > worst) {
          worst = ulp;
          at = x[i];
        }
      }
      EXPECT_LE(worst, row.ulp) << "at x = " << at;
    }
  });
}

// The float32 next to each multiple of pi / 2: what the reduction leaves is all that there is of the result.
TEST(Activation, SinesAtTheirZeros) {
  for_each_level([](const char*) {
    constexpr size_t kCount = 32768;
    testing::Floats x(kCount), y(kCount);
    for (size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(static_cast<double>(i) * M_PI_2);
    for (const bool cosine : {false, true}) {
      activate_f32(x.data(), y.data(), kCount, {cosine ? Activation::kCos : Activation::kSin}, Parallel{});
      for (size_t i = 1; i < kCount; ++i) {
        const double want = cosine ? std::cos(static_cast<double>(x[i])) : std::sin(static_cast<double>(x[i]));
        ASSERT_LE(testing::ulp_error(y[i], want), 2) << x[i];
      }
    }
    const float in[] = {-0.0f, INFINITY, -INFINITY, NAN};
    float out[4];
    activate_f32(in, out, 4, {Activation::kSin}, Parallel{});
    EXPECT_TRUE(out[0] == 0 && std::signbit(out[0]));
    for (int i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(out[i]));
  });
}

TEST(Activation, SpecialValues) {
  for_each_level([](const char*) {
    const float in[] = {NAN, INFINITY, -INFINITY, 0.0f, 200.0f, -200.0f, 1e-40f};
    float out[7];
    for (const Row& row : kRows) {
      activate_f32(in, out, 7, row.f, Parallel{});
      EXPECT_TRUE(std::isnan(out[0])) << row.name;
    }
    const auto run = [&](Activation kind) { activate_f32(in, out, 7, {kind, 1, 1}, Parallel{}); };
    run(Activation::kExp);
    EXPECT_EQ(out[1], INFINITY);
    EXPECT_EQ(out[2], 0.0f);
    EXPECT_EQ(out[3], 1.0f);
    EXPECT_EQ(out[4], INFINITY);
    EXPECT_EQ(out[5], 0.0f);
    run(Activation::kLog);
    EXPECT_EQ(out[1], INFINITY);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], -INFINITY);
    run(Activation::kTanh);
    EXPECT_EQ(out[1], 1.0f);
    EXPECT_EQ(out[2], -1.0f);
    EXPECT_EQ(out[6], testing::kSubnormals ? 1e-40f : 0.0f);
    run(Activation::kErf);
    EXPECT_EQ(out[1], 1.0f);
    EXPECT_EQ(out[2], -1.0f);
    run(Activation::kSigmoid);
    EXPECT_EQ(out[1], 1.0f);
    EXPECT_EQ(out[2], 0.0f);
    run(Activation::kSoftplus);
    EXPECT_EQ(out[1], INFINITY);
    EXPECT_EQ(out[2], 0.0f);
    EXPECT_EQ(out[4], 200.0f);
  });
}

TEST(Activation, EveryLengthInPlaceAndThreaded) {
  for_each_level([](const char*) {
    for (size_t count = 0; count < 70; ++count) {
      testing::Floats x(count), y(count);
      testing::fill_uniform(x, 3);
      activate_f32(x.data(), y.data(), static_cast<int64_t>(count), {Activation::kRelu}, Parallel{});
      activate_f32(x.data(), x.data(), static_cast<int64_t>(count), {Activation::kRelu}, Parallel{});
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(x[i], y[i]);
        ASSERT_GE(x[i], 0);
      }
    }
    testing::Floats x(100000), y(100000);
    testing::fill_uniform(x, 3);
    testing::Threads threads(3);
    activate_f32(x.data(), y.data(), 100000, {Activation::kNeg}, threads.parallel());
    for (size_t i = 0; i < 100000; ++i) ASSERT_EQ(y[i], -x[i]);
  });
}

}  // namespace
}  // namespace vireo::cpu

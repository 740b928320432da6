// Softmax, normalisations and reductions over drawn shapes and tilings, against plain loops in float64.
#include <gtest/gtest.h>
#include <math.h>

#include <utility>

#include "delegates/gpu/templates/rows.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::rows_test {
namespace {

Expression read(DType type, const View& view) {
  Expression e;
  e.inputs = {{type, view}};
  e.outputs = {{0, {}}};
  return e;
}
// Of `before` statistics and v: the steps' last value.
Statistic statistic(Combine combine, int before, std::vector<Step> steps, DType type = DType::kF32) {
  Statistic s;
  s.combine = combine;
  for (int i = 0; i <= before; ++i) s.map.inputs.push_back(given(type));
  s.map.steps = std::move(steps);
  s.map.outputs = {{s.map.steps.empty() ? 0 : before + static_cast<int>(s.map.steps.size()), {}}};
  return s;
}

RowsProblem softmax(const Extents& shape, const View& from) {
  RowsProblem p;
  p.shape = shape;
  p.prologue = read(DType::kF32, from);
  p.statistics = {statistic(Combine::kMax, 0, {}),
                  statistic(Combine::kSum, 1, {step(Function::kSub, 0, 1), step(Function::kExp, 2)})};
  p.epilogue.inputs = {given(DType::kF32), given(DType::kF32), given(DType::kF32)};
  p.epilogue.steps = {step(Function::kSub, 0, 1), step(Function::kExp, 3), step(Function::kDiv, 4, 2)};
  p.epilogue.outputs = {{5, from}};
  return p;
}

std::vector<RowsTiling> tilings(const RowsProblem& p, const Target& t, int64_t length) {
  std::vector<RowsTiling> out = {choose_rows(p, t), {64, 64, 0}, {64, 8, 0}, {64, 1, 0}};
  for (const uint32_t lanes : {64u, 16u}) {
    const uint32_t each = static_cast<uint32_t>((length + lanes - 1) / lanes);
    if (each <= 8) out.push_back({64, lanes, each});
  }
  return out;
}

// Each of them for a device, and for one whose lanes exchange values; with extents that change as well.
std::vector<std::pair<RowsTiling, Target>> each(const std::vector<RowsTiling>& tilings, const Target& target,
                                                bool also_exchanging = true) {
  Target exchanges = target;
  exchanges.subgroup = 32;
  exchanges.shuffles = true;
  std::vector<std::pair<RowsTiling, Target>> out;
  for (const RowsTiling& t : tilings) {
    out.emplace_back(t, target);
    if (also_exchanging) out.emplace_back(t, exchanges);
    out.emplace_back(t, opened(target));
    out.emplace_back(t, opened(exchanges));
  }
  return out;
}

TEST(Rows, SoftmaxAlongAnyAxis) {
  Trials trials;
  for (const int64_t length : {1, 3, 16, 64, 65, 300}) {
    for (const bool last : {true, false}) {  // [5, length], or [length, 5] seen the other way round
      const Extents shape = {5, length};
      View v = dense(shape);
      if (!last) v.strides = {1, 5};
      const std::vector<float> x =
          random_floats(static_cast<size_t>(5 * length), static_cast<uint32_t>(length), -20, 20);
      const RowsProblem p = softmax(shape, v);
      for (const auto& [t, target] : each(tilings(p, rich_target(), length), rich_target(), last && length > 16)) {
        trials.add("softmax of " + std::to_string(length), make_rows(p, t, target), target,
                   {bytes_of(x), Bytes(x.size() * 4, 1)}, [=](const std::vector<Bytes>& out) {
                     const std::vector<float> y = as<float>(out[1]);
                     for (int64_t r = 0; r < 5; ++r) {
                       const auto at = [&](int64_t i) {
                         return static_cast<size_t>(v.strides[0] * r + v.strides[1] * i);
                       };
                       double most = -INFINITY, sum = 0;
                       for (int64_t i = 0; i < length; ++i) most = fmax(most, static_cast<double>(x[at(i)]));
                       for (int64_t i = 0; i < length; ++i) sum += exp(static_cast<double>(x[at(i)]) - most);
                       for (int64_t i = 0; i < length; ++i) {
                         const double wanted = exp(static_cast<double>(x[at(i)]) - most) / sum;
                         EXPECT_NEAR(static_cast<double>(y[at(i)]), wanted, 1e-6 * wanted + 1e-12);
                       }
                     }
                   });
      }
    }
  }
}

TEST(Rows, NormalisationOverTwoAxesInHalf) {
  Trials trials;
  const Extents shape = {2, 3, 4, 5};  // rows are the last two
  RowsProblem p;
  p.shape = shape;
  p.row_axes = 2;
  p.prologue = read(DType::kF16, dense(shape));
  p.prologue.steps = {step(Function::kCast, 0)};
  p.prologue.outputs = {{1, {}}};
  p.statistics = {statistic(Combine::kSum, 0, {constant(1 / 20.0f), step(Function::kMul, 0, 1)}),
                  statistic(Combine::kSum, 1,
                            {step(Function::kSub, 0, 1), step(Function::kMul, 2, 2), constant(1 / 20.0f),
                             step(Function::kMul, 3, 4)})};
  View scale;  // one a last coordinate
  scale.strides = {0, 0, 0, 1};
  p.epilogue.inputs = {given(DType::kF32), given(DType::kF32), given(DType::kF32), {DType::kF32, scale}};
  Step narrow = step(Function::kCast, 9);
  narrow.type = DType::kF16;
  p.epilogue.steps = {constant(1e-5f),
                      step(Function::kAdd, 2, 4),
                      step(Function::kSqrt, 5),
                      step(Function::kSub, 0, 1),
                      step(Function::kDiv, 7, 6),
                      step(Function::kMul, 8, 3),
                      narrow};
  p.epilogue.outputs = {{10, dense(shape)}};
  EXPECT_NE(make_rows(p, choose_rows(p, plain_target()), plain_target()).refusal, "");  // elements of two bytes
  Bytes codes;
  std::vector<double> x;
  for (int i = 0; i < 120; ++i) {  // 1 + i / 64, modulo 16: exact in float16
    const uint16_t code = static_cast<uint16_t>(0x3C00 + (i * 37 % 512) * 2);
    codes.push_back(static_cast<uint8_t>(code));
    codes.push_back(static_cast<uint8_t>(code >> 8));
    x.push_back(1 + (i * 37 % 512) * 2 / 1024.0);
  }
  const std::vector<float> gamma = random_floats(5, 3);
  for (const auto& [t, target] : each(tilings(p, rich_target(), 20), rich_target())) {
    trials.add(
        "norm", make_rows(p, t, target), target, {codes, bytes_of(gamma), Bytes(240)},
        [=](const std::vector<Bytes>& out) {
          const std::vector<uint16_t> y = as<uint16_t>(out[2]);
          for (size_t r = 0; r < 6; ++r) {
            double mean = 0, square = 0;
            for (size_t i = 0; i < 20; ++i) mean += x[r * 20 + i] / 20;
            for (size_t i = 0; i < 20; ++i) square += (x[r * 20 + i] - mean) * (x[r * 20 + i] - mean) / 20;
            for (size_t i = 0; i < 20; ++i) {
              const double wanted = (x[r * 20 + i] - mean) / sqrt(square + 1e-5) * static_cast<double>(gamma[i % 5]);
              const int sign = y[r * 20 + i] >> 15, exponent = y[r * 20 + i] >> 10 & 31;
              const double got = ldexp(1024.0 * (exponent != 0) + (y[r * 20 + i] & 1023), std::max(exponent, 1) - 25) *
                                 (sign ? -1 : 1);
              EXPECT_NEAR(got, wanted, 2e-3);
            }
          }
        });
  }
}

TEST(Rows, ReductionsOfIntegersAndNaN) {
  Trials trials;
  const Extents shape = {3, 7, 50};  // over the first axis is made by views; here over the last
  const Bytes bytes = random_bytes(1050, 9);
  for (const Combine combine : {Combine::kSum, Combine::kMax, Combine::kMin, Combine::kProduct}) {
    RowsProblem p;
    p.shape = shape;
    p.prologue = read(DType::kI8, dense(shape));
    Step widen = step(Function::kCast, 0);
    widen.type = DType::kI32;
    p.prologue.steps = {widen};
    p.prologue.outputs = {{1, {}}};
    p.statistics = {statistic(combine, 0, {}, DType::kI32)};
    p.epilogue.inputs = {given(DType::kI32)};
    p.epilogue.outputs = {{0, dense({3, 7})}};
    p.per_row = true;
    for (const auto& [t, target] : each(tilings(p, plain_target(), 50), plain_target())) {
      trials.add("integers", make_rows(p, t, target), target, {bytes, Bytes(84)}, [=](const std::vector<Bytes>& out) {
        const std::vector<int32_t> y = as<int32_t>(out[1]);
        const std::vector<int8_t> x = as<int8_t>(bytes);
        for (size_t r = 0; r < 21; ++r) {
          uint32_t sum = 0, product = 1;
          int32_t most = INT32_MIN, least = INT32_MAX;
          for (size_t i = 0; i < 50; ++i) {
            const int32_t v = x[r * 50 + i];
            sum += static_cast<uint32_t>(v);
            product *= static_cast<uint32_t>(v);
            most = std::max(most, v);
            least = std::min(least, v);
          }
          const int32_t wanted[] = {static_cast<int32_t>(sum), static_cast<int32_t>(product), most, least};
          EXPECT_EQ(y[r], wanted[static_cast<size_t>(combine)]);
        }
      });
    }
  }
  RowsProblem p;
  p.shape = {4, 9};
  p.prologue = read(DType::kF32, dense(p.shape));
  p.statistics = {statistic(Combine::kMax, 0, {})};
  p.epilogue.inputs = {given(DType::kF32)};
  p.epilogue.outputs = {{0, dense({4})}};
  p.per_row = true;
  std::vector<float> x = random_floats(36, 2);
  x[0] = x[13] = x[26] = NAN;
  x[35] = INFINITY;
  trials.add("NaN", make_rows(p, choose_rows(p, rich_target()), rich_target()), rich_target(), {bytes_of(x), Bytes(16)},
             [](const std::vector<Bytes>& out) {
               const std::vector<float> y = as<float>(out[1]);
               EXPECT_TRUE(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
               EXPECT_EQ(y[3], INFINITY);
             });
}

}  // namespace
}  // namespace vireo::gpu::rows_test

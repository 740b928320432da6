// Products of one row: several sums a place, columns that lie apart, and an x that is a norm, against plain loops.
#include "delegates/gpu/templates/gemv.h"

#include <gtest/gtest.h>
#include <math.h>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::gemv_test {
namespace {

Target exchanging() {
  Target t = rich_target();
  t.subgroup = 32;
  t.shuffles = true;
  return t;
}

Step cast(DType type, int a) {
  Step s = step(Function::kCast, a);
  s.type = type;
  return s;
}

// Numbers that float16 and bfloat16 have.
std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> out = random_floats(count, seed);
  for (float& v : out) v = floorf(v * 64) / 64;
  return out;
}
Bytes stored(DType type, const std::vector<float>& v) {
  if (type == DType::kF32) return bytes_of(v);
  std::vector<uint16_t> out;
  for (const float f : v) {
    uint32_t bits = 0;
    memcpy(&bits, &f, 4);
    out.push_back(type == DType::kF16 ? half_of(f) : static_cast<uint16_t>(bits >> 16));
  }
  return bytes_of(out);
}

// y = sum0 * sum1 + sum2, of as many as there are, over a space of two axes whose columns are taken in turn.
GemvProblem columns_in_turn(int64_t outer, int64_t inner, int64_t k, size_t sums, DType x, DType w) {
  GemvProblem p;
  p.shape = {outer, inner};
  p.k = k;
  p.x_dtype = x;
  p.w_dtype = w;
  const auto many = static_cast<int64_t>(sums);
  // Column (o, i) of sum s is line (o * sums + s) * inner + i.
  for (int64_t s = 0; s < many; ++s) p.columns.push_back({s * inner * k, {many * inner * k, k}});
  for (size_t s = 0; s < sums; ++s) p.epilogue.inputs.push_back(given());
  int v = 0;
  for (size_t s = 1; s < sums; ++s) {
    p.epilogue.steps.push_back(step(s == 1 ? Function::kMul : Function::kAdd, v, static_cast<int>(s)));
    v = static_cast<int>(sums + p.epilogue.steps.size()) - 1;
  }
  p.epilogue.outputs = {{v, dense(p.shape)}};
  return p;
}

// x / sqrt(mean of squares + 1e-5), rounded to float16, times gamma, rounded again.
RowsProblem norm(int64_t k) {
  RowsProblem p;
  p.shape = {1, k};
  p.prologue.inputs = {{DType::kF16, dense(p.shape)}};
  p.prologue.steps = {step(Function::kCast, 0)};
  p.prologue.outputs = {{1, {}}};
  Statistic mean;
  mean.map.inputs = {given()};
  mean.map.steps = {step(Function::kMul, 0, 0), constant(1 / static_cast<float>(k)), step(Function::kMul, 1, 2)};
  mean.map.outputs = {{3, {}}};
  p.statistics = {mean};
  p.epilogue.inputs = {given(), given(), {DType::kF16, dense(p.shape)}};
  p.epilogue.steps = {constant(1e-5f), step(Function::kAdd, 1, 3), step(Function::kSqrt, 4), step(Function::kDiv, 0, 5),
                      cast(DType::kF16, 6)};
  Step product = step(Function::kMul, 7, 2);
  product.type = DType::kF16;
  p.epilogue.steps.push_back(product);
  p.epilogue.outputs = {{8, {}}};
  return p;
}

float as_half(float v) {
  const uint16_t bits = half_of(v);
  const int exponent = bits >> 10 & 31;
  const float size = ldexpf(static_cast<float>(1024 * (exponent != 0) + (bits & 1023)), std::max(exponent, 1) - 25);
  return (bits >> 15) != 0 ? -size : size;
}

void expect(const GemvProblem& p, const std::vector<float>& x, const std::vector<float>& w, const Bytes& got,
            double least_error) {
  const std::vector<float> y = as<float>(got);
  const int64_t inner = p.shape[1];
  for (int64_t at = 0; at < p.shape[0] * inner; ++at) {
    double result = 0, size = 0;
    for (size_t s = 0; s < p.columns.size(); ++s) {
      const int64_t first =
          p.columns[s].offset + at / inner * p.columns[s].steps[0] + at % inner * p.columns[s].steps[1];
      double sum = 0, sizes = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const double one = static_cast<double>(x[static_cast<size_t>(p.x_offset + k)]) *
                           static_cast<double>(w[static_cast<size_t>(first + k)]);
        sum += one;
        sizes += fabs(one);
      }
      size = s == 1 ? size * sizes : size + sizes;
      result = s == 0 ? sum : s == 1 ? result * sum : result + sum;
    }
    ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(at)]), result, 6e-8 * 80 * size + least_error * size) << at;
  }
}

TEST(Gemv, SeveralSumsAPlace) {
  Trials trials;
  constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16;
  const std::pair<DType, DType> types[] = {{kF16, kF16}, {kF32, kF16}, {kF16, kF32}, {kF32, kF32}, {kBF16, kBF16}};
  size_t turn = 0;
  for (const auto& [x_type, w_type] : types) {
    for (const size_t sums : {1, 2, 3}) {
      for (const int64_t k : {8, 264, 2048}) {
        GemvProblem p = columns_in_turn(3, 7, k, sums, x_type, w_type);
        p.x_offset = turn % 2 == 0 ? 0 : 16;
        const std::vector<float> x = numbers(static_cast<size_t>(k + p.x_offset), 1),
                                 w = numbers(static_cast<size_t>(21 * k) * sums, 2);
        const Target target = exchanging();
        GemvTiling t = choose_gemv(p, target);
        if (++turn % 3 == 0) t = {64, 3};
        const Dispatch d = make_gemv(p, t, target);
        EXPECT_EQ(d.program.bindings, 3u);
        trials.add("columns in turn", d, target, {stored(x_type, x), stored(w_type, w), Bytes(21 * 4, 1)},
                   [=](const std::vector<Bytes>& out) { expect(p, x, w, out[2], 0); });
      }
    }
  }
}

TEST(Gemv, NormOnTheWayIn) {
  Trials trials;
  for (const int64_t k : {64, 520, 2048, 6144}) {
    GemvProblem p = columns_in_turn(2, 5, k, 2, DType::kF16, k == 64 ? DType::kF32 : DType::kF16);
    p.rows = {norm(k)};
    const std::vector<float> x = numbers(static_cast<size_t>(k), 3), gamma = numbers(static_cast<size_t>(k), 4),
                             w = numbers(static_cast<size_t>(20 * k), 5);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    std::vector<float> made;
    for (size_t i = 0; i < x.size(); ++i) {
      const double root = sqrt(squares / static_cast<double>(k) + 1e-5);
      made.push_back(as_half(as_half(static_cast<float>(static_cast<double>(x[i]) / root)) * gamma[i]));
    }
    const Target target = exchanging();
    const Dispatch d = make_gemv(p, choose_gemv(p, target), target);
    EXPECT_EQ(d.program.bindings, 4u);
    // A number beside the border of two halves may be the other one: a few of k are 2^-11 apart.
    trials.add("norm", d, target,
               {stored(p.w_dtype, w), stored(DType::kF16, x), stored(DType::kF16, gamma), Bytes(10 * 4, 1)},
               [=](const std::vector<Bytes>& out) { expect(p, made, w, out[3], 2e-5); });
  }
}

// Codes of each type, in blocks of several sizes, with a zero point.
TEST(Gemv, CodesWithScales) {
  Trials trials;
  struct Case {
    DType type;
    int64_t block, k;
    int32_t zero;
    DType scale;
  };
  constexpr DType kF32 = DType::kF32, kF16 = DType::kF16;
  size_t turn = 0;
  for (const Case& c : {Case{DType::kI4, 32, 2048, 0, kF16}, Case{DType::kU4, 32, 1056, 8, kF32},
                        Case{DType::kI4, 128, 384, 0, kF32}, Case{DType::kI8, 528, 528, 0, kF32},
                        Case{DType::kU8, 64, 2112, 121, kF16}, Case{DType::kI4, 32, 16384, 0, kF16}}) {
    for (const bool normed : {false, true}) {
      if (normed && c.k == 16384) continue;  // a row that is too long for shared memory is read where it lies
      const size_t sums = 1 + turn % 2;
      GemvProblem p = columns_in_turn(3, 7, c.k, sums, turn % 3 == 0 ? kF32 : kF16, c.type);
      p.scales = {c.scale, c.block, c.zero};
      if (normed) p.rows = {norm(c.k)};
      const auto count = static_cast<size_t>(21 * c.k) * sums, depth = static_cast<size_t>(c.k);
      const std::vector<float> x = numbers(depth, 11), scales = numbers(count / static_cast<size_t>(c.block), 12);
      const std::vector<float> ones(depth, 1);
      std::vector<float> given = x, w;
      if (normed) {  // gamma is 1
        double squares = 0;
        for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
        const double root = sqrt(squares / static_cast<double>(c.k) + 1e-5);
        for (float& v : given) v = as_half(static_cast<float>(static_cast<double>(v) / root));
      }
      const int bits = dtype_bits(c.type);
      const Bytes codes = random_bytes(count * static_cast<size_t>(bits) / 8, 13);
      for (size_t i = 0; i < count; ++i) {
        int code = bits == 8 ? codes[i] : codes[i / 2] >> (i % 2 * 4) & 15;
        if ((c.type == DType::kI4 || c.type == DType::kI8) && code >= 1 << (bits - 1)) code -= 1 << bits;
        w.push_back(static_cast<float>(code - c.zero) * scales[i / static_cast<size_t>(c.block)]);
      }
      const Target target = exchanging();
      GemvTiling t = choose_gemv(p, target);
      if (turn % 2 == 0) t = {64, 2};
      ++turn;
      std::vector<Bytes> bindings;
      if (!normed) bindings.push_back(stored(p.x_dtype, x));
      bindings.push_back(codes);
      bindings.push_back(stored(c.scale, scales));
      if (normed) bindings.insert(bindings.end(), {stored(kF16, x), stored(kF16, ones)});
      bindings.emplace_back(21 * 4, 1);
      trials.add("codes", make_gemv(p, t, target), target, bindings,
                 [=](const std::vector<Bytes>& out) { expect(p, given, w, out.back(), normed ? 2e-5 : 0); });
    }
  }
}

TEST(Gemv, RefusesByReason) {
  const Target target = exchanging();
  const GemvProblem good = columns_in_turn(1, 4, 64, 1, DType::kF16, DType::kF16);
  EXPECT_EQ(make_gemv(good, choose_gemv(good, target), target).refusal, "");
  EXPECT_EQ(make_gemv(good, {256, 4}, rich_target()).refusal, "lanes that exchange nothing");
  EXPECT_EQ(make_gemv(good, {48, 4}, target).refusal, "a row among lanes that this GPU does not have");
  const auto refusal = [&](GemvProblem p) { return make_gemv(p, {256, 4}, target).refusal; };
  GemvProblem p = good;
  p.k = 60;
  EXPECT_EQ(refusal(p), "a row that is not read 16 bytes at a time");
  p = good;
  p.columns[0].offset = 4;
  EXPECT_EQ(refusal(p), "a row that is not read 16 bytes at a time");
  p = good;
  p.w_dtype = DType::kI8;
  EXPECT_EQ(refusal(p), "the GPU has no product of float16 and int8");
  p = good;
  p.rows = {norm(128)};
  EXPECT_EQ(refusal(p), "x is not one row");
  p = columns_in_turn(1, 4, 96, 1, DType::kF16, DType::kI4);
  p.scales.block = 64;
  EXPECT_EQ(refusal(p), "columns that are no whole blocks of codes");
  p.scales.block = 16;
  EXPECT_EQ(refusal(p), "columns that are no whole blocks of codes");
  p = columns_in_turn(1, 4, 1 << 14, 1, DType::kF16, DType::kF16);
  p.rows = {norm(1 << 14)};
  EXPECT_EQ(refusal(p), "a row that is longer than what this GPU shares");
}

}  // namespace
}  // namespace vireo::gpu::gemv_test

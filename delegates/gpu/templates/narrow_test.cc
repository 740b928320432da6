// Elements of 8 bits and less: floats against sdk/base/narrow_float.h, integers in words.
#include <gtest/gtest.h>
#include <math.h>

#include "delegates/gpu/templates/chain.h"
#include "delegates/gpu/templates/testing.h"
#include "sdk/base/narrow_float.h"

namespace vireo::gpu {
namespace narrow_test {
namespace {

constexpr DType kFloats[] = {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                             DType::kF4E2M1,   DType::kF6E2M3,     DType::kF6E3M2};

Dispatch cast(DType from, DType to, size_t count, bool saturate, const Target& target) {
  ChainProblem p;
  p.shape = {static_cast<int64_t>(count)};
  Step step;
  step.type = to;
  step.a = 0;
  step.p[0] = saturate ? 0.0f : 1.0f;
  p.expression.inputs = {{from, dense(p.shape)}};
  p.expression.steps = {step};
  p.expression.outputs = {{1, dense(p.shape)}};
  return make_chain(p, choose_chain(p, target), target);
}

size_t bytes_for(DType t, size_t count) { return static_cast<size_t>(dtype_bytes(t, static_cast<int64_t>(count))); }
unsigned code_at(const Bytes& bytes, DType t, size_t i) {
  const auto bits = static_cast<size_t>(dtype_bits(t)), at = i * bits;
  return bytes[at / 8] >> (at % 8) & ((1u << bits) - 1);
}

TEST(Narrow, EveryCodeIsItsNumber) {
  Trials trials;
  for (const DType t : kFloats) {
    const size_t count = dtype_bits(t) == 4 ? 16 : 256;
    Bytes codes(bytes_for(t, count));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<uint8_t>(dtype_bits(t) == 4 ? 2 * i | (2 * i + 1) << 4 : i);
    trials.add(dtype_name(t), cast(t, DType::kF32, count, true, plain_target()), plain_target(),
               {codes, Bytes(count * 4, 0x55)}, [=](const std::vector<Bytes>& result) {
                 const std::vector<float> got = as<float>(result[1]);
                 for (size_t i = 0; i < count; ++i) {
                   const float wanted = narrow_to_f32(*narrow_float(t), static_cast<uint8_t>(i));
                   if (isnan(wanted)) {
                     EXPECT_TRUE(isnan(got[i])) << i;
                   } else {
                     EXPECT_EQ(got[i], wanted) << i;
                     EXPECT_EQ(signbit(got[i]), signbit(wanted)) << i;
                   }
                 }
               });
  }
}

// Numbers of every size, both sides of each tie among them.
std::vector<float> numbers() {
  std::vector<float> out = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-38f, 3e38f};
  for (int e = -20; e <= 18; ++e) {
    for (int m = 0; m < 32; ++m) {
      const float v = ldexpf(1 + static_cast<float>(m) / 32, e);
      for (const float near : {v, nextafterf(v, 0), nextafterf(v, INFINITY)}) {
        out.push_back(near);
        out.push_back(-near);
      }
    }
  }
  return out;
}

TEST(Narrow, NumbersAreRoundedOnce) {
  Trials trials;
  const std::vector<float> x = numbers();
  for (const DType t : kFloats) {
    for (const bool saturate : {true, false}) {
      trials.add(std::string(dtype_name(t)) + (saturate ? " saturating" : ""),
                 cast(DType::kF32, t, x.size(), saturate, plain_target()), plain_target(),
                 {bytes_of(x), Bytes((bytes_for(t, x.size()) + 3) / 4 * 4, 0x55)},
                 [=](const std::vector<Bytes>& result) {
                   for (size_t i = 0; i < x.size(); ++i) {
                     const uint8_t wanted = f64_to_narrow(*narrow_float(t), static_cast<double>(x[i]), saturate);
                     const unsigned got = code_at(result[1], t, i);
                     if (isnan(x[i])) {  // its sign is nobody's promise
                       EXPECT_EQ(got & 0x7F, wanted & 0x7Fu);
                     } else {
                       ASSERT_EQ(got, wanted) << x[i];
                     }
                   }
                 });
    }
  }
}

TEST(Narrow, IntegersOfTwoAndFourBits) {
  Trials trials;
  for (const DType t : {DType::kU4, DType::kI4, DType::kU2, DType::kI2}) {
    for (const size_t count : {1, 7, 16, 61}) {
      const int bits = dtype_bits(t);
      std::vector<int32_t> x(count);
      for (size_t i = 0; i < count; ++i) x[i] = static_cast<int32_t>(i * 5) - 9;
      const size_t bytes = (bytes_for(t, count) + 3) / 4 * 4;
      trials.add(std::string("to ") + dtype_name(t), cast(DType::kI32, t, count, true, plain_target()), plain_target(),
                 {bytes_of(x), Bytes(bytes, 0x55)}, [=](const std::vector<Bytes>& result) {
                   for (size_t i = 0; i < count; ++i)
                     ASSERT_EQ(code_at(result[1], t, i), static_cast<unsigned>(x[i]) & ((1u << bits) - 1));
                 });
      const Bytes codes = random_bytes(bytes, 7);
      trials.add(std::string("from ") + dtype_name(t), cast(t, DType::kI32, count, true, plain_target()),
                 plain_target(), {codes, Bytes(count * 4, 0x55)}, [=](const std::vector<Bytes>& result) {
                   for (size_t i = 0; i < count; ++i) {
                     const auto code = static_cast<int32_t>(code_at(codes, t, i));
                     const bool negative = dtype_is_signed(t) && (code >> (bits - 1)) != 0;
                     ASSERT_EQ(as<int32_t>(result[1])[i], negative ? code - (1 << bits) : code);
                   }
                 });
    }
  }
}

TEST(Narrow, NothingIsComputedWithCodesOfFloats) {
  ChainProblem p;
  p.shape = {4};
  Step add;
  add.function = Function::kAdd;
  add.type = DType::kF8E5M2;
  add.a = add.b = 0;
  p.expression.inputs = {{DType::kF8E5M2, dense(p.shape)}};
  p.expression.steps = {add};
  p.expression.outputs = {{1, dense(p.shape)}};
  EXPECT_NE(make_chain(p, choose_chain(p, plain_target()), plain_target()).refusal, "");
}

}  // namespace
}  // namespace narrow_test
}  // namespace vireo::gpu

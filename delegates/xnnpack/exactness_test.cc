// Codes: what the delegate takes has the bits of INTEGER.md, on every instruction set (the same test runs under
// emulators of other CPUs); what it leaves differs, and here is the smallest case in which it does.
#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/testing.h"
#include "sdk/base/requantize.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/integer.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo::xnnpack {
namespace {

using testing::Case;
using testing::tensor;

constexpr auto kLast = static_cast<uint8_t>(Layout::kNhwc);
const TestTensor kAbsent;

using Exactness = testing::DelegateTest;

TestTensor bytes(DType type, uint32_t seed, const std::vector<int64_t>& dims, int low, int high) {
  std::mt19937 rng(seed);
  std::uniform_int_distribution<int> code(low, high);
  std::vector<uint8_t> values(static_cast<size_t>(element_count(make_shape(dims))));
  for (uint8_t& v : values) v = static_cast<uint8_t>(code(rng));
  return tensor<uint8_t>(type, dims, values);
}
TestTensor codes(DType type, uint32_t seed, const std::vector<int64_t>& dims) {
  return bytes(type, seed, dims, type == DType::kI8 ? -128 : 0, type == DType::kI8 ? 127 : 255);
}
TestTensor weights(uint32_t seed, const std::vector<int64_t>& dims) { return bytes(DType::kI8, seed, dims, -127, 127); }

// Multipliers that put sums of `terms` products at and beside halves: (j + 1/2) / acc, rounded, for sums that occur.
// With others, saturation both ways and results around zero.
TestTensor multipliers(uint32_t seed, int64_t channels, int64_t terms) {
  std::mt19937 rng(seed);
  std::uniform_int_distribution<int> acc(1, static_cast<int>(1000 + 60 * terms)), half(0, 100);
  std::uniform_real_distribution<float> spread(-16, -0.01f);
  std::vector<float> m;
  for (int64_t c = 0; c < channels; ++c) {
    const float v =
        c % 3 == 2 ? std::exp2(spread(rng)) : (static_cast<float>(half(rng)) + 0.5f) / static_cast<float>(acc(rng));
    m.push_back(std::min(v, 0x1.fffffep-1f));
  }
  return tensor<float>(DType::kF32, {channels}, m);
}
TestTensor sums(uint32_t seed, int64_t channels) {
  std::mt19937 rng(seed);
  std::uniform_int_distribution<int32_t> bias(-20000, 20000);
  std::vector<int32_t> b;
  for (int64_t c = 0; c < channels; ++c) b.push_back(bias(rng));
  return tensor<int32_t>(DType::kI32, {channels}, b);
}

// 32-bit Arm leaves convolutions of more than one tap that are not depthwise: rules_window.cc says why.
bool is_left_here(int64_t taps, bool depthwise) {
#if defined(__arm__)
  return taps > 1 && !depthwise;
#else
  (void)taps, (void)depthwise;
  return false;
#endif
}

struct Ends {
  DType x, y;
  int32_t x_zero, y_zero, low, high;
};
constexpr Ends kEnds[] = {
    {DType::kI8, DType::kI8, 0, 0, -128, 127},      {DType::kI8, DType::kI8, -128, 127, -128, 127},
    {DType::kU8, DType::kU8, 128, 0, 0, 255},       {DType::kU8, DType::kU8, 0, 255, 3, 250},
    {DType::kU8, DType::kI8, 255, -128, -128, 100}, {DType::kI8, DType::kU8, 17, 3, 3, 255}};

template <class Attrs>
void set_ends(const Ends& e, Attrs* a) {
  a->y_zero = e.y_zero;
  a->low = e.low;
  a->high = e.high;
  a->output_dtype = static_cast<uint8_t>(e.y);
}

TEST_F(Exactness, Convolutions) {
  struct Conv {
    std::vector<int64_t> x, w;
    int32_t group, stride, dilation, pad;
  };
  const Conv convs[] = {{{1, 9, 11, 3}, {5, 3, 3, 3}, 1, 1, 1, 1},     {{2, 8, 13, 4}, {16, 2, 3, 3}, 2, 2, 1, 1},
                        {{1, 7, 7, 40}, {70, 40, 1, 1}, 1, 1, 1, 0},   {{1, 14, 14, 24}, {24, 1, 3, 3}, 24, 1, 1, 1},
                        {{2, 12, 12, 19}, {19, 1, 5, 5}, 19, 2, 2, 4}, {{1, 60, 6}, {8, 6, 5}, 1, 1, 1, 2},
                        {{1, 9, 9, 4}, {12, 1, 3, 3}, 4, 1, 1, 1},     {{1, 16, 16, 32}, {64, 32, 3, 3}, 1, 2, 1, 1},
                        {{1, 3, 3, 7}, {33, 7, 3, 3}, 1, 1, 1, 0},     {{1, 8, 8, 17}, {17, 1, 1, 1}, 17, 1, 1, 0},
                        {{1, 5, 5, 130}, {65, 130, 1, 1}, 1, 2, 1, 0}, {{1, 10, 10, 70}, {70, 1, 3, 3}, 70, 1, 1, 1}};
  uint32_t seed = 1;
  for (const Conv& c : convs) {
    int64_t terms = 1;
    for (size_t i = 1; i < c.w.size(); ++i) terms *= c.w[i];
    for (const Ends& e : kEnds) {
      attrs::IntConvT a;
      a.layout = kLast;
      a.group = c.group;
      a.strides.assign(c.x.size() - 2, c.stride);
      a.dilations.assign(c.x.size() - 2, c.dilation);
      a.pads.assign(2 * (c.x.size() - 2), c.pad);
      a.x_zero = e.x_zero;
      set_ends(e, &a);
      seed += 10;
      const TestTensor x = codes(e.x, seed, c.x), w = weights(seed + 1, c.w), m = multipliers(seed + 2, c.w[0], terms);
      const auto packed = pack<attrs::IntConv>(a);
      if (is_left_here(terms / c.w[1], c.group == c.w[0])) {
        EXPECT_NE(Case(Op::kIntConv, packed, {x, w, m}, 1).reason(), "");
        continue;
      }
      Case(Op::kIntConv, packed, {x, w, m, sums(seed + 3, c.w[0])}, 1).expect_same();
      Case(Op::kIntConv, packed, {x, w, multipliers(seed + 4, 1, terms)}, 1).expect_same();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Exactness, Products) {
  uint32_t seed = 1000;
  for (const int64_t k : {1, 7, 64, 129}) {
    for (const int64_t n : {1, 15, 16, 17, 70}) {
      for (const int64_t rows : {1, 3, 9, 35}) {
        const Ends& e = kEnds[seed / 10 % std::size(kEnds)];
        attrs::IntGemmT a;
        a.a_zero = e.x_zero;
        set_ends(e, &a);
        seed += 10;
        const TestTensor x = codes(e.x, seed, {rows, k}), w = weights(seed + 1, {k, n});
        const auto packed = pack<attrs::IntGemm>(a);
        Case(Op::kIntGemm, packed, {x, w, multipliers(seed + 2, n, k), sums(seed + 3, n)}, 1).expect_same();
        Case(Op::kIntGemm, packed, {x, w, multipliers(seed + 4, 1, k)}, 1).expect_same();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Sums at the ends of int32, where float -> int32 and the zero point behind it might wrap around.
TEST_F(Exactness, LargestSums) {
  const int64_t n = 20;
  std::vector<int32_t> bias;
  for (int64_t c = 0; c < n; ++c) bias.push_back(c % 2 == 0 ? INT32_MIN + 64 * 127 : INT32_MAX - 64 * 127);
  for (const float m : {0x1.fffffep-1f, 0.5f, 0x1p-22f, 0x1p-25f, 0x1p-126f}) {
    for (const int32_t zero : {-128, 0, 127}) {
      attrs::IntGemmT a;
      a.y_zero = zero;
      a.low = -128;
      a.high = 127;
      const TestTensor x = bytes(DType::kI8, 5, {4, 64}, -1, 1);
      Case(Op::kIntGemm, pack<attrs::IntGemm>(a),
           {x, weights(6, {64, n}), tensor<float>(DType::kF32, {1}, {m}), tensor<int32_t>(DType::kI32, {n}, bias)}, 1)
          .expect_same();
    }
  }
}

TEST_F(Exactness, Multiplication) {
  uint32_t seed = 5000;
  for (const float m : {0.5f, 1.5f, 0x1.23456p-7f, 0x1.fffffep-1f, 0x1p-16f, 0x1.8p-9f, 0.1f}) {
    for (const Ends& e : kEnds) {
      attrs::IntMulT a;
      a.a_zero = e.x_zero;
      a.b_zero = e.x == DType::kI8 ? 3 : 250;
      a.multiplier = m;
      set_ends(e, &a);
      a.low = least_code(e.y);
      a.high = greatest_code(e.y);
      const auto packed = pack<attrs::IntMul>(a);
      const TestTensor x = codes(e.x, ++seed, {3, 40, 17}), y = codes(e.x, ++seed, {40, 1});
      const Case c(Op::kIntMul, packed, {x, y}, 2);
#if defined(__arm__) || defined(__aarch64__)
      EXPECT_EQ(c.reason(), "XNNPACK multiplies codes in fixed point on Arm: other bits than IntMul");
#else
      c.expect_same();
#endif
    }
  }
}

TEST_F(Exactness, Means) {
  uint32_t seed = 6000;
  int taken = 0;
  for (const int32_t side : {1, 2, 3, 7, 8, 20}) {
    for (const int64_t channels : {1, 5, 64, 200}) {
      for (const Ends& e : kEnds) {
        attrs::IntAveragePoolT a;
        a.layout = kLast;
        a.kernel_shape = {side, side};
        a.x_zero = e.x_zero;
        set_ends(e, &a);
        a.low = least_code(e.y);
        a.high = greatest_code(e.y);
        const TestTensor m = multipliers(++seed, 1, side * side);
        const Case c(Op::kIntAveragePool, pack<attrs::IntAveragePool>(a),
                     {codes(e.x, ++seed, {2, side, side, channels}), m}, 1);
        if (c.reason() == "XNNPACK rounds the mean's scale twice and does not meet its multiplier") continue;
        c.expect_same();
        ++taken;
      }
    }
  }
  EXPECT_GE(taken, 70);  // of 144: where 1 / n is exact, and about two in three elsewhere
}

TEST_F(Exactness, Dequantization) {
  for (const Ends& e : kEnds) {
    for (const float scale : {1.0f, 0.1f, 0x1.fffffep-9f, 0x1p-126f}) {
      const TestTensor zero = tensor<uint8_t>(e.x, {}, {static_cast<uint8_t>(e.x_zero)});
      Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}),
           {codes(e.x, 8, {7, 37}), tensor<float>(DType::kF32, {}, {scale}), zero}, 1)
          .expect_same();
    }
  }
}

// Two nodes that have the filter in common and nothing else.
TEST_F(Exactness, PackedWeightsAreNotMixedUp) {
  const TestTensor x = codes(DType::kI8, 1, {5, 32});
  const vireo_delegate& d = vireo_xnnpack_delegate;
  attrs::IntGemmT a, b;
  a.output_dtype = b.output_dtype = static_cast<uint8_t>(DType::kI8);
  a.low = b.low = -128;
  b.a_zero = 9;
  const auto filter = weights(2, {32, 24});
  const Case plain(Op::kIntGemm, pack<attrs::IntGemm>(a), {x, filter, multipliers(3, 24, 32)}, 1);
  Case other(Op::kIntGemm, pack<attrs::IntGemm>(b), {x, filter, multipliers(4, 24, 32)}, 1);
  other.value(1).constant = plain.graph()->values[1].constant;  // of the same file
  const vireo_host host = test_host();
  TestPart part(d, nullptr, host, plain.graph(), 0, TestClaim(), /*packs=*/false);
  vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
  ASSERT_EQ(part.memory(1, &memory), VIREO_OK);
  const testing::Guarded state(memory.state_bytes, 64);
  void* loaded = nullptr;
  ASSERT_EQ(part.load(1, state.data(), &loaded), VIREO_OK);
  other.expect_same();  // while the first one's packed weights are alive
  d.unload(loaded);
}

TEST_F(Exactness, Movement) {
  for (const DType type : {DType::kI8, DType::kU8}) {
    for (const int64_t channels : {1, 5, 16, 70}) {
      const TestTensor x = codes(type, static_cast<uint32_t>(channels), {2, 9, 8, channels});
      attrs::PoolT a;
      a.layout = kLast;
      a.kernel_shape = {3, 2};
      a.strides = {2, 2};
      a.pads = {1, 1, 0, 1};
      Case(Op::kMaxPool, pack<attrs::Pool>(a), {x}, 1).expect_same();
      attrs::TransposeT t;
      t.perm = {0, 3, 1, 2};
      Case(Op::kTranspose, pack<attrs::Transpose>(t), {x}, 1).expect_same();
      attrs::ConcatT c;
      c.axis = -1;
      Case(Op::kConcat, pack<attrs::Concat>(c), {x, codes(type, 9, {2, 9, 8, 3})}, 2).expect_same();
    }
  }
}

// (-128) * (-128) in every pair that a kernel might add in 16 bits: exact, or left where this CPU's kernels lose them.
TEST_F(Exactness, PairsOfLargestProducts) {
  const char* const kReason = "a weight is -128: XNNPACK adds two products in 16 bits on this CPU";
  for (const bool depthwise : {false, true}) {
    for (const int64_t taps : {1, 2, 3, 5, 7}) {
      attrs::IntConvT a;
      a.layout = kLast;
      a.group = depthwise ? 24 : 1;
      a.low = -128;
      a.high = 127;
      const TestTensor x = bytes(DType::kI8, 1, {1, 9, 9, 24}, -128, -127);
      const TestTensor w = bytes(DType::kI8, 2, {24, depthwise ? 1 : 24, taps, taps}, -128, -127);
      const auto products = static_cast<float>(taps * taps * (depthwise ? 1 : 24));
      const TestTensor m = tensor<float>(DType::kF32, {1}, {100.0f / (16384 * products)});
      const Case c(Op::kIntConv, pack<attrs::IntConv>(a), {x, w, m}, 1);
      if (is_left_here(taps, depthwise)) {
        EXPECT_NE(c.reason(), "");
      } else if (depthwise ? kernels().codes_depthwise : kernels().codes_dense) {
        c.expect_same();
      } else {
        EXPECT_EQ(c.reason(), kReason);
      }
    }
  }
}

TEST_F(Exactness, WhatIsLeft) {
  const auto packed = pack<attrs::IntGemm>(attrs::IntGemmT{});
  const TestTensor x = codes(DType::kI8, 1, {3, 8}), m = multipliers(2, 4, 8), w = weights(3, {8, 4});
  EXPECT_EQ(Case(Op::kIntGemm, packed, {x, w, m, sums(7, 4)}, 1).reason(), "");
  EXPECT_EQ(Case(Op::kIntGemm, packed, {x, codes(DType::kU8, 4, {8, 4}), m}, 1).reason(), "XNNPACK's weights are int8");
  EXPECT_EQ(Case(Op::kIntGemm, packed, {x, w, m, kAbsent, tensor<int8_t>(DType::kI8, {1}, {1})}, 1).reason(),
            "its weights have a zero point: XNNPACK's have none");
  EXPECT_EQ(Case(Op::kIntGemm, packed, {x, w, tensor<float>(DType::kF32, {1}, {1.0f})}, 1).reason(),
            "a multiplier is 1 or more: XNNPACK's sums might wrap around");
}

}  // namespace
}  // namespace vireo::xnnpack

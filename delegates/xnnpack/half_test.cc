// float16: what is taken is as near to the reference (sums in float32, one rounding) as the bounds here say; what
// XNNPACK sums in float16 on this CPU is left. Prints the errors.
#include <cstdio>

#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo::xnnpack {
namespace {

using testing::Case;
using testing::halves;
using testing::tensor;

constexpr auto kLast = static_cast<uint8_t>(Layout::kNhwc);
constexpr const char* kSums = "XNNPACK sums in float16 on this CPU";
// float16 has 11 bits: a unit in the last place of the largest element is 2^-10 of it, or less.
constexpr double kUnit = 1.0 / (1 << 10);
const TestTensor kAbsent;

class Half : public testing::DelegateTest {
 protected:
  static void SetUpTestSuite() {
    DelegateTest::SetUpTestSuite();
    const Kernels& k = kernels();
    std::printf("float16 %d; sums in float32: dense %d, depthwise %d, pools %d, means %d\n", k.half, k.half_dense,
                k.half_depthwise, k.half_pool, k.half_mean);
  }
  // Within `units` units in the last place of the largest element. `sums`: whether XNNPACK sums as Vireo does.
  static void check(const char* name, const Case& c, bool sums, double units) {
    if (!kernels().half) {
      EXPECT_EQ(c.reason(), "XNNPACK has no float16 on this CPU");
    } else if (!sums) {
      EXPECT_EQ(c.reason(), kSums);
    } else {
      SCOPED_TRACE(name);
      c.expect_close(units * kUnit);
      std::printf("%-20s %.2f units of 2^-10 of the largest element\n", name, c.worst() / kUnit);
    }
  }
};

TEST_F(Half, Sums) {
  const Kernels& k = kernels();
  attrs::ConvT conv;
  conv.layout = kLast;
  conv.pads = {1, 1, 1, 1};
  check("Conv 3x3x40",
        Case(Op::kConv, pack<attrs::Conv>(conv), {halves(1, {1, 9, 9, 40}), halves(2, {24, 40, 3, 3}), halves(3, {24})},
             1),
        k.half_dense, 2);
  conv.group = 24;
  check("Conv depthwise",
        Case(Op::kConv, pack<attrs::Conv>(conv), {halves(4, {1, 9, 9, 24}), halves(5, {24, 1, 3, 3})}, 1),
        k.half_depthwise, 2);
  attrs::ConvTransposeT up;
  up.layout = kLast;
  up.strides = {2, 2};
  check(
      "ConvTranspose",
      Case(Op::kConvTranspose, pack<attrs::ConvTranspose>(up), {halves(6, {1, 5, 5, 16}), halves(7, {16, 9, 3, 3})}, 1),
      k.half_dense, 2);
  attrs::GemmT gemm;
  gemm.trans_b = true;
  check("Gemm k = 300",
        Case(Op::kGemm, pack<attrs::Gemm>(gemm), {halves(8, {9, 300}), halves(9, {33, 300}), halves(10, {33})}, 1),
        k.half_dense, 2);
  const auto none = pack<attrs::MatMul>(attrs::MatMulT{});
  check("MatMul k = 300", Case(Op::kMatMul, none, {halves(11, {5, 300}), halves(12, {300, 40})}, 1), k.half_dense, 2);
  check("MatMul of two", Case(Op::kMatMul, none, {halves(13, {5, 64}), halves(14, {64, 40})}, 2), k.half_dense, 2);
  check("MatMul, batches", Case(Op::kMatMul, none, {halves(15, {3, 5, 64}), halves(16, {3, 64, 40})}, 2), k.half_dense,
        2);
  attrs::PoolT pool;
  pool.layout = kLast;
  pool.kernel_shape = {3, 3};
  check("AveragePool", Case(Op::kAveragePool, pack<attrs::Pool>(pool), {halves(17, {1, 8, 8, 20})}, 1), k.half_pool, 2);
  attrs::GlobalPoolT global;
  global.layout = kLast;
  check("GlobalAveragePool",
        Case(Op::kGlobalAveragePool, pack<attrs::GlobalPool>(global), {halves(18, {1, 30, 30, 20}, 0, 1)}, 1),
        k.half_mean, 2);
}

TEST_F(Half, Elementwise) {
  const auto unary = pack<attrs::Unary>(attrs::UnaryT{});
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  for (const int64_t n : {1, 17, 257}) {
    const TestTensor x = halves(1, {n}, -4, 4), positive = halves(2, {n}, 0.1f, 9);
    check("Abs", Case(Op::kAbs, unary, {x}, 1), true, 0);
    check("Neg", Case(Op::kNeg, unary, {x}, 1), true, 0);
    check("Floor", Case(Op::kFloor, unary, {x}, 1), true, 0);
    check("Ceil", Case(Op::kCeil, unary, {x}, 1), true, 0);
    check("Round", Case(Op::kRound, unary, {x}, 1), true, 0);
    check("Relu", Case(Op::kRelu, unary, {x}, 1), true, 0);
    check("Sqrt", Case(Op::kSqrt, unary, {positive}, 1), true, 1);
    check("Tanh", Case(Op::kTanh, unary, {x}, 1), true, 3);
    check("Sigmoid", Case(Op::kSigmoid, unary, {x}, 1), true, 2);
    check("HardSwish", Case(Op::kHardSwish, unary, {x}, 1), true, 2);
    check("Elu", Case(Op::kElu, pack<attrs::Elu>(attrs::EluT{}), {x}, 1), true, 2);
    check("LeakyRelu", Case(Op::kLeakyRelu, pack<attrs::LeakyRelu>(attrs::LeakyReluT{}), {x}, 1), true, 1);
    check("Swish", Case(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {x}, 1), true, 2);
    check("Clip", Case(Op::kClip, pack<attrs::Clip>(attrs::ClipT{}), {x, kAbsent, halves(3, {1}, 0.5f, 1)}, 1), true,
          0);
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax})
      check("binary", Case(op, binary, {x, positive}, 2), true, 1);
    check("PRelu", Case(Op::kPRelu, binary, {halves(6, {2, 5, n}), halves(7, {n})}, 1), true, 1);
  }
}

TEST_F(Half, Movement) {
  attrs::TransposeT t;
  t.perm = {0, 3, 1, 2};
  const TestTensor x = halves(1, {2, 5, 7, 19});
  check("Transpose", Case(Op::kTranspose, pack<attrs::Transpose>(t), {x}, 1), true, 0);
  attrs::ConcatT concat;
  concat.axis = -1;
  check("Concat", Case(Op::kConcat, pack<attrs::Concat>(concat), {x, x}, 2), true, 0);
  attrs::PoolT pool;
  pool.layout = kLast;
  pool.kernel_shape = {3, 3};
  check("MaxPool", Case(Op::kMaxPool, pack<attrs::Pool>(pool), {x}, 1), true, 0);
  attrs::ResizeT resize;
  resize.mode = attrs::ResizeMode::linear;
  check("Resize",
        Case(Op::kResize, pack<attrs::Resize>(resize),
             {x, kAbsent, kAbsent, tensor<int64_t>(DType::kI64, {4}, {2, 10, 21, 19})}, 1),
        true, 4);
}

TEST_F(Half, WhatItLeaves) {
  const auto unary = pack<attrs::Unary>(attrs::UnaryT{});
  const TestTensor x = halves(1, {4, 8});
  EXPECT_EQ(Case(Op::kSoftmax, pack<attrs::Softmax>(attrs::SoftmaxT{}), {x}, 1).reason(), "not float32");
  if (kernels().half) {
    EXPECT_EQ(Case(Op::kExp, unary, {x}, 1).reason(), "XNNPACK has no float16 for it");
  }
}

}  // namespace
}  // namespace vireo::xnnpack

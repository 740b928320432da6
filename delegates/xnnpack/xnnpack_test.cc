// What the delegate takes, against the reference kernels; what it leaves, and why.
#include "delegates/xnnpack/testing.h"
#include "delegates/xnnpack/weights.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo::xnnpack {
namespace {

using testing::Case;
using testing::reals;
using testing::tensor;

constexpr auto kLast = static_cast<uint8_t>(Layout::kNhwc);
const TestTensor kAbsent;

using Xnnpack = testing::DelegateTest;

attrs::ConvT conv_attrs(size_t spatial, int32_t group, int32_t stride, int32_t dilation, int32_t pad) {
  attrs::ConvT a;
  a.layout = kLast;
  a.group = group;
  a.strides.assign(spatial, stride);
  a.dilations.assign(spatial, dilation);
  a.pads.assign(2 * spatial, pad);
  return a;
}

TEST_F(Xnnpack, Convolutions) {
  struct Conv {
    std::vector<int64_t> x, w;
    int32_t group, stride, dilation, pad;
  };
  const Conv convs[] = {{{1, 9, 11, 3}, {5, 3, 3, 3}, 1, 1, 1, 1},     {{2, 8, 33, 4}, {16, 2, 3, 3}, 2, 2, 1, 1},
                        {{1, 7, 7, 40}, {70, 40, 1, 1}, 1, 1, 1, 0},   {{1, 14, 14, 24}, {24, 1, 3, 3}, 24, 1, 1, 1},
                        {{2, 12, 12, 19}, {19, 1, 5, 5}, 19, 2, 2, 4}, {{1, 60, 6}, {8, 6, 5}, 1, 1, 1, 2},
                        {{1, 9, 9, 4}, {12, 1, 3, 3}, 4, 1, 1, 1},     {{1, 32, 32, 32}, {64, 32, 3, 3}, 1, 2, 1, 1},
                        {{1, 6, 6, 1}, {9, 1, 3, 3}, 1, 1, 1, 0},      {{1, 8, 8, 17}, {17, 1, 1, 1}, 17, 1, 1, 0}};
  for (const Conv& c : convs) {
    const auto seed = static_cast<uint32_t>(c.w[0] + c.stride);
    const auto a = pack<attrs::Conv>(conv_attrs(c.x.size() - 2, c.group, c.stride, c.dilation, c.pad));
    const TestTensor x = reals(seed, c.x), w = reals(seed + 1, c.w);
    Case(Op::kConv, a, {x, w, reals(seed + 2, {c.w[0]})}, 1).expect_close(1e-5);
    Case(Op::kConv, a, {x, w}, 1).expect_close(1e-5);
  }
  attrs::ConvT same = conv_attrs(2, 1, 2, 1, 0);
  for (const AutoPad pad : {AutoPad::kSameUpper, AutoPad::kSameLower, AutoPad::kValid}) {
    same.auto_pad = static_cast<uint8_t>(pad);
    Case(Op::kConv, pack<attrs::Conv>(same), {reals(3, {1, 10, 7, 6}), reals(4, {8, 6, 3, 3})}, 1).expect_close(1e-5);
  }
}

TEST_F(Xnnpack, TransposedConvolutions) {
  for (const int32_t group : {1, 2}) {
    for (const int32_t extra : {0, 1}) {
      attrs::ConvTransposeT a;
      a.layout = kLast;
      a.group = group;
      a.strides = {2, 3};
      a.dilations = {1, 2};
      a.pads = {1, 0, 0, 1};
      a.output_padding = {extra, 0};
      const TestTensor x = reals(1, {2, 5, 6, 8}), w = reals(2, {8, 7, 3, 2});
      Case(Op::kConvTranspose, pack<attrs::ConvTranspose>(a), {x, w, reals(3, {7 * group})}, 1).expect_close(1e-5);
    }
  }
}

TEST_F(Xnnpack, Pools) {
  for (const int64_t channels : {1, 5, 16, 70}) {
    const TestTensor x = reals(static_cast<uint32_t>(channels), {2, 9, 8, channels});
    for (const bool ceil_mode : {false, true}) {
      attrs::PoolT a;
      a.layout = kLast;
      a.kernel_shape = {3, 2};
      a.strides = {2, 2};
      a.pads = {1, 1, 0, 1};
      a.ceil_mode = ceil_mode;
      Case(Op::kMaxPool, pack<attrs::Pool>(a), {x}, 1).expect_close(0);
      Case(Op::kAveragePool, pack<attrs::Pool>(a), {x}, 1).expect_close(1e-6);
    }
    attrs::GlobalPoolT global;
    global.layout = kLast;
    Case(Op::kGlobalAveragePool, pack<attrs::GlobalPool>(global), {x}, 1).expect_close(1e-6);
  }
}

TEST_F(Xnnpack, Resizes) {
  for (const auto mode : {attrs::ResizeCoordinate::half_pixel, attrs::ResizeCoordinate::align_corners,
                          attrs::ResizeCoordinate::asymmetric}) {
    attrs::ResizeT a;
    a.mode = attrs::ResizeMode::linear;
    a.coordinate = mode;
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{2, 10, 21, 5}, {2, 3, 4, 5}}) {
      Case(Op::kResize, pack<attrs::Resize>(a),
           {reals(5, {2, 5, 7, 5}), kAbsent, kAbsent, tensor<int64_t>(DType::kI64, {4}, size)}, 1)
          .expect_close(1e-5);
    }
  }
}

TEST_F(Xnnpack, Products) {
  for (const int64_t n : {1, 7, 33, 130}) {
    const TestTensor x = reals(1, {2, 3, 65}), w = reals(2, {65, n}), b = reals(3, {n});
    const auto none = pack<attrs::MatMul>(attrs::MatMulT{});
    Case(Op::kMatMul, none, {x, w}, 1).expect_close(1e-5);
    Case(Op::kMatMul, none, {x, w}, 2).expect_close(1e-5);
    Case(Op::kMatMul, none, {reals(4, {2, 1, 9, 65}), reals(5, {3, 65, n})}, 2).expect_close(1e-5);
    for (const bool trans : {false, true}) {
      attrs::GemmT g;
      g.trans_b = trans;
      const TestTensor f = trans ? reals(6, {n, 65}) : w, rows = reals(7, {9, 65});
      Case(Op::kGemm, pack<attrs::Gemm>(g), {rows, f, b}, 1).expect_close(1e-5);
      Case(Op::kGemm, pack<attrs::Gemm>(g), {rows, f}, 1).expect_close(1e-5);
    }
  }
}

TEST_F(Xnnpack, Elementwise) {
  const auto unary = pack<attrs::Unary>(attrs::UnaryT{});
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  for (const int64_t n : {1, 3, 16, 257}) {
    const TestTensor x = reals(1, {n}, -4, 4), positive = reals(2, {n}, 0.1f, 9);
    for (const Op op : {Op::kAbs, Op::kNeg, Op::kExp, Op::kTanh, Op::kSigmoid, Op::kRelu, Op::kHardSwish, Op::kFloor,
                        Op::kCeil, Op::kRound}) {
      Case(op, unary, {x}, 1).expect_close(2e-6);
      Case(op, unary, {x}, 1).expect_close(2e-6, /*in_place=*/true);
    }
    for (const Op op : {Op::kSqrt, Op::kLog}) Case(op, unary, {positive}, 1).expect_close(2e-6);
    Case(Op::kGelu, pack<attrs::Gelu>(attrs::GeluT{}), {x}, 1).expect_close(2e-6);
    Case(Op::kElu, pack<attrs::Elu>(attrs::EluT{}), {x}, 1).expect_close(2e-6);
    Case(Op::kLeakyRelu, pack<attrs::LeakyRelu>(attrs::LeakyReluT{}), {x}, 1).expect_close(2e-6);
    Case(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {x}, 1).expect_close(2e-6);
    Case(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {x}, 1).expect_close(2e-6, /*in_place=*/true);
    const TestTensor one = reals(3, {1}, 0.5f, 1);
    Case(Op::kClip, pack<attrs::Clip>(attrs::ClipT{}), {x, kAbsent, one}, 1).expect_close(0);
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax}) {
      Case(op, binary, {x, positive}, 2).expect_close(2e-7);
      Case(op, binary, {x, positive}, 1).expect_close(2e-7, /*in_place=*/true);
      Case(op, binary, {reals(4, {3, 1, n}), reals(5, {2, 1}, 1, 2)}, 2).expect_close(2e-7);
    }
    Case(Op::kPRelu, binary, {reals(6, {2, 5, n}), reals(7, {n})}, 1).expect_close(2e-7);
    Case(Op::kSoftmax, pack<attrs::Softmax>(attrs::SoftmaxT{}), {reals(8, {2, 3, 4 * n})}, 1).expect_close(4e-6);
  }
}

TEST_F(Xnnpack, Movement) {
  attrs::TransposeT t;
  t.perm = {0, 3, 1, 2};
  Case(Op::kTranspose, pack<attrs::Transpose>(t), {reals(1, {2, 5, 7, 19})}, 1).expect_close(0);
  for (const int32_t axis : {1, -1}) {
    attrs::ConcatT c;
    c.axis = axis;
    Case(Op::kConcat, pack<attrs::Concat>(c), {reals(2, {3, 4, 5}), reals(3, {3, 4, 5}), reals(4, {3, 4, 5})}, 3)
        .expect_close(0);
  }
  // What may lie in its place already stays with the CPU.
  attrs::ConcatT outermost;
  outermost.axis = 1;
  EXPECT_EQ(Case(Op::kConcat, pack<attrs::Concat>(outermost), {reals(2, {1, 4, 5}), reals(3, {1, 2, 5})}, 2).reason(),
            "inputs may lie in the output, which XNNPACK gets wrong");
  for (const bool keep : {false, true}) {
    attrs::ReduceT r;
    r.keepdims = keep;
    Case(Op::kReduceMean, pack<attrs::Reduce>(r), {reals(5, {2, 9, 4, 17}), tensor<int64_t>(DType::kI64, {2}, {1, 2})},
         1)
        .expect_close(2e-6);
    Case(Op::kReduceMean, pack<attrs::Reduce>(r), {reals(5, {6, 33}), tensor<int64_t>(DType::kI64, {1}, {-1})}, 1)
        .expect_close(2e-6);
  }
}

TEST_F(Xnnpack, FusedConvolution) {
  const auto a = pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 1));
  const auto none = pack<attrs::Unary>(attrs::UnaryT{});
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  const TestTensor x = reals(1, {1, 9, 10, 8}), w = reals(2, {12, 8, 3, 3}), other = reals(3, {1, 9, 10, 12});
  {  // bias, Clip, sum
    Case c({x, other});
    const int32_t sum =
        c.node(Op::kAdd, binary, {c.node(Op::kConv, a, {0, c.constant(w)}), c.constant(reals(4, {1, 1, 1, 12}))});
    const int32_t low = c.constant(tensor<float>(DType::kF32, {}, {0})),
                  high = c.constant(tensor<float>(DType::kF32, {}, {6}));
    c.output(c.node(Op::kAdd, binary, {c.node(Op::kClip, pack<attrs::Clip>(attrs::ClipT{}), {sum, low, high}), 1}));
    c.expect_close(1e-5);
  }
  {  // sum, Relu
    Case c({x, other});
    const int32_t y = c.node(Op::kConv, a, {0, c.constant(w), c.constant(reals(5, {12}))});
    c.output(c.node(Op::kRelu, none, {c.node(Op::kAdd, binary, {1, y})}));
    c.expect_close(1e-5);
  }
  {  // y * sigmoid(y): two values are alive at once
    Case c({x});
    const int32_t y = c.node(Op::kConv, a, {0, c.constant(w)});
    c.output(c.node(Op::kMul, binary, {y, c.node(Op::kSigmoid, none, {y})}));
    c.expect_close(1e-5);
  }
  {  // Swish, and a result that two read
    Case c({x});
    const int32_t y =
        c.node(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {c.node(Op::kConv, a, {0, c.constant(w)})});
    c.output(c.node(Op::kSub, binary, {c.node(Op::kTanh, none, {y}), y}));
    c.expect_close(1e-5);
  }
}

TEST_F(Xnnpack, FusedProduct) {
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  Case c({reals(1, {1, 12, 48})});
  const int32_t y = c.node(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {0, c.constant(reals(2, {48, 64}))});
  const int32_t b = c.node(Op::kAdd, binary, {c.constant(reals(3, {64})), y});
  c.output(c.node(Op::kGelu, pack<attrs::Gelu>(attrs::GeluT{}), {b}));
  c.expect_close(1e-5);
}

TEST_F(Xnnpack, ElementwiseChainInPlace) {
  const auto none = pack<attrs::Unary>(attrs::UnaryT{});
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  Case c({reals(1, {3, 100}), reals(2, {100})});
  const int32_t y = c.node(Op::kAdd, binary, {0, 1});
  c.output(c.node(Op::kMul, binary, {c.node(Op::kTanh, none, {y}), c.node(Op::kSigmoid, none, {y})}));
  c.expect_close(2e-6, /*in_place=*/true);
}

// Prepared for 8 rows; run with fewer, with none, and with as many again.
TEST_F(Xnnpack, ExtentsThatVary) {
  const auto none = pack<attrs::Unary>(attrs::UnaryT{});
  const auto binary = pack<attrs::Binary>(attrs::BinaryT{});
  const auto at = [](const auto& make) {
    const Case three = make(3), eight = make(8), one = make(1), five = make(5);
    make(8).expect_close_at({&three, &eight, &one, &five, &five, &eight}, 1e-5);
  };
  at([&](int64_t n) { return Case(Op::kTanh, none, {reals(1, {n, 13})}, 1); });
  at([&](int64_t n) { return Case(Op::kMul, binary, {reals(1, {n, 13}), reals(2, {2, n, 1})}, 2); });
  at([&](int64_t n) {
    attrs::TransposeT t;
    t.perm = {1, 2, 0};
    return Case(Op::kTranspose, pack<attrs::Transpose>(t), {reals(1, {n, 5, n})}, 1);
  });
  at([&](int64_t n) {
    attrs::GemmT g;
    g.trans_b = true;
    return Case(Op::kGemm, pack<attrs::Gemm>(g), {reals(1, {n, 20}), reals(2, {33, 20}), reals(3, {33})}, 1);
  });
  at([&](int64_t n) {  // several steps, one result read by two
    Case c({reals(1, {2, n, 20})});
    const int32_t y = c.node(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {0, c.constant(reals(2, {20, 24}))});
    const int32_t b = c.node(Op::kAdd, binary, {c.constant(reals(3, {24})), y});
    c.output(c.node(Op::kMul, binary, {b, c.node(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {b})}));
    return c;
  });
  {  // no rows at all
    const Case empty(Op::kTanh, none, {reals(1, {0, 13})}, 1);
    Case(Op::kTanh, none, {reals(1, {8, 13})}, 1).expect_close_at({&empty}, 0);
  }
  Case windows(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 1)),
               {reals(1, {1, 6, 6, 8}), reals(2, {9, 8, 3, 3})}, 1);
  windows.value(0).varies = true;
  EXPECT_EQ(windows.reason(), "its extents change between runs");
  Case both(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {reals(1, {4, 6}), reals(2, {6, 4})}, 2);
  both.value(1).varies = true;
  EXPECT_EQ(both.reason(), "its extents change between runs");
}

TEST_F(Xnnpack, PackedWeightsAreShared) {
  const Case c(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 8, 1, 1, 1)),
               {reals(1, {1, 6, 6, 8}), reals(2, {8, 1, 3, 3})}, 1);
  const Case d(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {reals(3, {4, 20}), reals(4, {20, 30})}, 1);
  const vireo_delegate& x = vireo_xnnpack_delegate;
  const vireo_host host = test_host();
  for (const Case* one : {&c, &d}) {
    ASSERT_EQ(packed_weight_bytes(), 0u);
    TestPart part(x, nullptr, host, one->graph(), 0, TestClaim(), /*packs=*/false);
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    ASSERT_EQ(part.memory(1, &memory), VIREO_OK);
    const testing::Guarded a(memory.state_bytes, 64), b(memory.state_bytes, 64);
    void *la = nullptr, *lb = nullptr;
    ASSERT_EQ(part.load(1, a.data(), &la), VIREO_OK);
    const size_t once = packed_weight_bytes();
    EXPECT_GT(once, 0u) << (one == &c ? "convolution" : "product");
    ASSERT_EQ(part.load(1, b.data(), &lb), VIREO_OK);
    EXPECT_EQ(packed_weight_bytes(), once);
    x.unload(la);
    EXPECT_EQ(packed_weight_bytes(), once);
    x.unload(lb);
    EXPECT_EQ(packed_weight_bytes(), 0u);
  }
}

// The host keeps the first filter: the delegate's own list stays empty, and what names the copy tells apart all that is
// packed with it.
TEST_F(Xnnpack, TheHostKeepsPackedWeights) {
  const vireo_delegate& x = vireo_xnnpack_delegate;
  const vireo_host host = test_host();
  const auto conv = [](const TestTensor& bias) {
    return Case(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 1)),
                {reals(1, {1, 6, 6, 8}), reals(2, {9, 8, 3, 3}), bias}, 1);
  };
  const Case a = conv(reals(3, {9})), b = conv(reals(4, {9}));
  const Case depthwise(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 8, 1, 1, 1)),
                       {reals(1, {1, 6, 6, 8}), reals(2, {8, 1, 3, 3})}, 1);
  const auto packed = [&](const Case& c, uint32_t index, vireo_packed* out) {
    return TestPart(x, nullptr, host, c.graph(), 0, TestClaim(), /*packs=*/true).pack(index, out);
  };
  vireo_packed of_a = VIREO_PACKED_INIT, of_b = VIREO_PACKED_INIT;
  ASSERT_EQ(packed(a, 0, &of_a), VIREO_OK);
  ASSERT_EQ(packed(b, 0, &of_b), VIREO_OK);
  EXPECT_EQ(of_a.constant, a.graph()->values[1].constant);
  EXPECT_EQ(of_a.sizes[0], of_b.sizes[0]);
  EXPECT_NE(of_a.sizes[2], of_b.sizes[2]) << "the bias is packed too";
  EXPECT_EQ(of_a.sizes[3], of_b.sizes[3]);
  EXPECT_NE(of_a.sizes[3], 0);
  EXPECT_EQ(packed(a, 1, &of_b), VIREO_INVALID_ARGUMENT);
  const Case sum(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {reals(1, {4}), reals(2, {4})}, 1);
  EXPECT_EQ(packed(sum, 0, &of_b), VIREO_INVALID_ARGUMENT);
  for (const Case* c : {&a, &depthwise}) {
    TestPart part(x, nullptr, host, c->graph(), 0, TestClaim(), /*packs=*/true);
    ASSERT_EQ(part.fault(), "");
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    ASSERT_EQ(part.memory(1, &memory), VIREO_OK);
    const testing::Guarded state(memory.state_bytes, 64);
    void* loaded = nullptr;
    ASSERT_EQ(part.load(1, state.data(), &loaded), VIREO_OK);
    EXPECT_EQ(packed_weight_bytes(), 0u);
    x.unload(loaded);
  }
}

// Every Case asks that nothing is left on the heap and that a run takes nothing from it; here, that the heap is ours.
TEST_F(Xnnpack, WhatXnnpackAllocatesIsCounted) {
  const Case c(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 1)),
               {reals(1, {1, 40, 40, 8}), reals(2, {9, 8, 3, 3})}, 1);
  const Case larger(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 1)),
                    {reals(1, {1, 80, 40, 8}), reals(2, {9, 8, 3, 3})}, 1);
  const vireo_host host = test_host();
  const vireo_delegate& x = vireo_xnnpack_delegate;
  const TestPart part(x, nullptr, host, c.graph(), 0, TestClaim(), /*packs=*/false);
  const TestPart larger_part(x, nullptr, host, larger.graph(), 0, TestClaim(), /*packs=*/false);
  vireo_part_memory memory = VIREO_PART_MEMORY_INIT, of_larger = VIREO_PART_MEMORY_INIT;
  const size_t calls = heap_use().calls;
  ASSERT_EQ(part.memory(1, &memory), VIREO_OK);
  ASSERT_EQ(larger_part.memory(1, &of_larger), VIREO_OK);
  EXPECT_GT(heap_use().calls, calls);
  // The indirection buffer has a pointer for each tap of each pixel.
  EXPECT_GE(of_larger.state_bytes, memory.state_bytes + 40 * 40 * 9 * sizeof(void*));
}

TEST_F(Xnnpack, WhatItLeaves) {
  attrs::ConvT first;
  const TestTensor x = reals(1, {1, 3, 8, 8}), w = reals(2, {4, 3, 3, 3});
  EXPECT_EQ(Case(Op::kConv, pack<attrs::Conv>(first), {x, w}, 1).reason(),
            "channels first: XNNPACK wants channels last");
  EXPECT_EQ(Case(Op::kConv, pack<attrs::Conv>(conv_attrs(2, 1, 1, 1, 0)), {reals(3, {1, 8, 8, 3}), w}, 2).reason(),
            "its weights are not constant");
  const auto unary = pack<attrs::Unary>(attrs::UnaryT{});
  EXPECT_EQ(Case(Op::kRelu, unary, {tensor<double>(DType::kF64, {2}, {1, -1})}, 1).reason(),
            "neither float32 nor float16");
  EXPECT_EQ(Case(Op::kErf, unary, {x}, 1).reason(), "XNNPACK has no such operator");
  attrs::SoftmaxT s;
  s.axis = 1;
  EXPECT_EQ(Case(Op::kSoftmax, pack<attrs::Softmax>(s), {x}, 1).reason(), "XNNPACK's Softmax is over the last axis");
  EXPECT_EQ(Case(Op::kSoftmax, pack<attrs::Softmax>(attrs::SoftmaxT{}), {reals(9, {2, 7})}, 1).reason(),
            "XNNPACK's Softmax reads past the end of such a row of its result");
  EXPECT_EQ(Case(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {reals(1, {3, 0}), reals(2, {0, 4})}, 0).reason(),
            "it has no elements");
  Case lies(Op::kRelu, unary, {x}, 1);
  lies.value(1).type.shape[3] = 9;
  EXPECT_EQ(lies.reason(), "its shapes do not agree, or follow from data");
}

}  // namespace
}  // namespace vireo::xnnpack

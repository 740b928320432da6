// Fused kernels against their bodies, which the reference kernels run node by node: through the delegate as a session
// drives it, on every instruction set of this machine.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

std::vector<uint8_t> binary() { return pack<attrs::Binary>(attrs::BinaryT{}); }
std::vector<uint8_t> unary() { return pack<attrs::Unary>(attrs::UnaryT{}); }

TestTensor axes(const std::vector<int64_t>& values) {
  TestTensor t;
  t.type = {DType::kI64, make_shape({static_cast<int64_t>(values.size())})};
  t.bytes.resize(values.size() * sizeof(int64_t));
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

// ---- Products and what follows them

// x [rows, 16] w + added, through a PRelu where it has slopes.
Composite matmul_and_tail(int64_t rows, const std::vector<int64_t>& added, const std::vector<int64_t>& slope = {}) {
  Values v(3);
  const TestTensor w = v.reals({16, 24}, -1, 1);
  Composite c({v.reals({rows, 16}, -1, 1), v.reals(added, -1, 1), v.reals(slope, -1, 1)});
  int32_t y = c.node(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {0, c.constant(w)});
  y = c.node(Op::kAdd, binary(), {y, 1});
  if (!slope.empty()) y = c.node(Op::kPRelu, binary(), {y, 2});
  c.outputs({y});
  return c;
}

TEST(CpuFused, BiasAndSlopesThatVaryAreLeft) {
  matmul_and_tail(3, {24}).expect_close("gemm_f32", 1e-5);
  matmul_and_tail(3, {24}, {24}).expect_close("gemm_f32", 1e-5);
  matmul_and_tail(3, {24}).runs_as(matmul_and_tail(3, {1})).expect_left();
  matmul_and_tail(3, {24}, {24}).runs_as(matmul_and_tail(3, {24}, {1})).expect_left();
}

// Extents of two names with one bound: a product that would be broadcast in front of what is added is refused.
TEST(CpuFused, ProductsThatVary) {
  const auto matmul = [](int64_t rows, int64_t added) { return matmul_and_tail(rows, {added, 24}); };
  matmul(4, 4).runs_as(matmul(3, 3)).expect_close("gemm_f32", 1e-5);
  matmul(4, 4).runs_as(matmul(1, 1)).expect_close("gemm_f32", 1e-5);
  (void)matmul(4, 4).runs_as(matmul(1, 4)).fails_with(VIREO_INVALID_MODEL).run("gemm_f32", 1);
  (void)matmul(4, 4).runs_as(matmul(4, 1)).fails_with(VIREO_INVALID_MODEL).run("gemm_f32", 1);
  for (const bool last : {false, true}) {
    const auto conv = [&](int64_t n, int64_t side, int64_t added_n, int64_t added_side, bool same = false) {
      const auto image = [&](int64_t batch, int64_t channels, int64_t h) {
        return last ? std::vector<int64_t>{batch, h, 6, channels} : std::vector<int64_t>{batch, channels, h, 6};
      };
      Values v(3);
      const TestTensor w = v.reals({8, 5, 3, 3}, -1, 1);
      attrs::ConvT a;
      a.layout = last ? 1 : 0;
      if (same) {
        a.auto_pad = 1;
        a.strides = {2, 2};
      } else {
        a.pads = {1, 1, 1, 1};
      }
      TestTensor added = v.reals(image(added_n, 8, added_side), -1, 1);
      if (same)
        added = v.reals(
            last ? std::vector<int64_t>{added_n, added_side, 3, 8} : std::vector<int64_t>{added_n, 8, added_side, 3},
            -1, 1);
      Composite c({v.reals(image(n, 5, side), -1, 1), added});
      int32_t y = c.node(Op::kConv, pack<attrs::Conv>(a), {0, c.constant(w)});
      y = c.node(Op::kRelu, unary(), {c.node(Op::kAdd, binary(), {y, 1})});
      c.outputs({y});
      return c;
    };
    const char* const kernel = last ? "conv_f32_nhwc" : "conv_f32_nchw";
    conv(2, 7, 2, 7).runs_as(conv(1, 5, 1, 5)).expect_close(kernel, 1e-5);
    conv(2, 7, 2, 4, true).runs_as(conv(1, 5, 1, 3, true)).expect_close(kernel, 1e-5);
    (void)conv(2, 7, 2, 7).runs_as(conv(1, 7, 2, 7)).fails_with(VIREO_INVALID_MODEL).run(kernel, 1);
    (void)conv(2, 7, 2, 7).runs_as(conv(2, 1, 2, 7)).fails_with(VIREO_INVALID_MODEL).run(kernel, 1);
    (void)conv(2, 7, 2, 4, true).runs_as(conv(2, 2, 2, 4, true)).fails_with(VIREO_INVALID_MODEL).run(kernel, 1);
  }
}

// ---- add_norm

std::vector<uint8_t> norm(bool rms, int axis) {
  if (rms) {
    attrs::RMSNormalizationT a;
    a.axis = axis;
    return pack<attrs::RMSNormalization>(a);
  }
  attrs::LayerNormalizationT a;
  a.axis = axis;
  a.epsilon = 1e-4f;
  return pack<attrs::LayerNormalization>(a);
}

struct AddNorm {
  std::vector<int64_t> x, residual;
  int axis = -1;
  bool rms = false, shift = true, sum = false;
  int norm_outputs = 1;
};

Composite add_norm(const AddNorm& n) {
  const int rank = static_cast<int>(n.x.size());
  const std::vector<int64_t> row(n.x.begin() + (n.axis < 0 ? rank + n.axis : n.axis), n.x.end());
  Values v(static_cast<uint32_t>(rank + row.back()));
  Composite c({v.reals(n.x, -2, 2), v.reals(n.residual, -2, 2), v.reals(row, 0.5f, 1.5f), v.reals(row, -1, 1)});
  const int32_t sum = c.node(Op::kAdd, binary(), {0, 1});
  std::vector<int32_t> inputs = {sum, 2};
  if (n.shift && !n.rms) inputs.push_back(3);
  const int32_t y =
      c.node(n.rms ? Op::kRMSNormalization : Op::kLayerNormalization, norm(n.rms, n.axis), inputs, n.norm_outputs);
  c.outputs(n.sum ? std::vector<int32_t>{y, sum} : std::vector<int32_t>{y});
  return c;
}

TEST(CpuAddNorm, AsTheBody) {
  for_each_level([](const char*) {
    for (const std::vector<int64_t>& x :
         {std::vector<int64_t>{1, 1}, {3, 17}, {2, 5, 64}, {1, 7, 200}, {2, 3, 4, 33}}) {
      for (const bool rms : {false, true}) {
        for (const bool sum : {false, true}) {
          for (const int axis : {-1, 1}) {
            for (const int32_t slots : {1, 3}) {
              add_norm({x, x, axis, rms, sum, sum})
                  .expect_close(rms ? "add_rms_norm_f32" : "add_layer_norm_f32", 1e-5, slots);
            }
          }
        }
      }
    }
  });
}

TEST(CpuAddNorm, LeavesOtherBodies) {
  AddNorm repeated{{4, 16}, {16}};
  add_norm(repeated).expect_left();
  AddNorm with_mean{{4, 16}, {4, 16}};
  with_mean.norm_outputs = 2;
  add_norm(with_mean).expect_left();
  Values v(1);
  Composite product({v.reals({4, 16}, -2, 2), v.reals({4, 16}, -2, 2), v.reals({16}, 0, 1)});
  product.outputs({product.node(Op::kRMSNormalization, norm(true, -1), {product.node(Op::kMul, binary(), {0, 1}), 2})});
  product.expect_left();
  Composite of_an_operand({v.reals({4, 16}, -2, 2), v.reals({4, 16}, -2, 2), v.reals({16}, 0, 1)});
  of_an_operand.node(Op::kAdd, binary(), {0, 1});
  of_an_operand.outputs({of_an_operand.node(Op::kRMSNormalization, norm(true, -1), {0, 2})});
  of_an_operand.expect_left();
}

// Rows of nothing have a mean and a deviation all the same, which are no numbers.
TEST(CpuLayerNormalization, OfNothing) {
  Values v(1);
  const auto got = Case(Op::kLayerNormalization, norm(false, 1), {v.reals({4, 0}, 0, 1), v.reals({0}, 0, 1)}, 3)
                       .run("layer_norm_f32", 1);
  ASSERT_EQ(got.size(), 3u);
  for (const size_t o : {1, 2}) {
    TestTensor t;
    t.bytes = got[o];
    ASSERT_EQ(t.bytes.size(), 4 * sizeof(float));
    for (const float value : t.as<float>()) EXPECT_TRUE(std::isnan(value)) << "output " << o;
  }
}

// ---- dynamic_conv

enum class Tail { kNone, kRelu, kPRelu, kHardSigmoid };

struct DynamicConv {
  std::vector<int64_t> x, w;
  int32_t group = 1, stride = 1, pad = 0;
  bool two_scales = false, per_channel = false, w_zero = false, bias = true;
  Tail tail = Tail::kNone;
  bool x_signed = false, w_signed = true;
};

Composite dynamic_conv(const DynamicConv& d) {
  Values v(static_cast<uint32_t>(d.x[2] + d.w[0]));
  const std::vector<int64_t> one = {1}, channels = {d.w[0]};
  std::vector<int64_t> column(d.x.size() - 1, 1);
  column[0] = d.w[0];
  Composite c({v.bytes(d.x_signed ? DType::kI8 : DType::kU8, d.x), v.bytes(d.w_signed ? DType::kI8 : DType::kU8, d.w),
               v.bytes(d.x_signed ? DType::kI8 : DType::kU8, {}),
               v.bytes(d.w_signed ? DType::kI8 : DType::kU8, d.per_channel ? channels : std::vector<int64_t>{}),
               v.reals(one, 0.01f, 0.02f), v.reals(d.per_channel ? column : one, 0.5f, 1.5f), v.reals(column, -2, 2),
               v.reals(column, -0.5f, 0.5f)});
  attrs::ConvIntegerT a;
  const auto spatial = d.x.size() - 2;
  a.group = d.group;
  a.strides.assign(spatial, d.stride);
  a.dilations.assign(spatial, 1);
  a.pads.assign(2 * spatial, d.pad);
  int32_t scale = d.per_channel ? 5 : 4;
  if (d.two_scales) scale = c.node(Op::kMul, binary(), {4, 5});
  std::vector<int32_t> inputs = {0, 1, 2};
  if (d.w_zero) inputs.push_back(3);
  attrs::CastT to_float;
  to_float.to = static_cast<uint8_t>(DType::kF32);
  int32_t y = c.node(Op::kConvInteger, pack<attrs::ConvInteger>(a), inputs);
  y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
  y = c.node(Op::kMul, binary(), {y, scale});
  if (d.bias) y = c.node(Op::kAdd, binary(), {6, y});
  if (d.tail == Tail::kRelu) y = c.node(Op::kRelu, unary(), {y});
  if (d.tail == Tail::kPRelu) y = c.node(Op::kPRelu, binary(), {y, 7});
  if (d.tail == Tail::kHardSigmoid) y = c.node(Op::kHardSigmoid, pack<attrs::HardSigmoid>(attrs::HardSigmoidT{}), {y});
  c.outputs({y});
  return c;
}

TEST(CpuDynamicConv, BitsOfTheBody) {
  for_each_level([](const char*) {
    for (const Tail tail : {Tail::kNone, Tail::kRelu, Tail::kPRelu}) {
      for (const bool bias : {false, true}) {
        const DynamicConv convs[] = {
            {{1, 3, 9, 8}, {5, 3, 3, 3}, 1, 1, 1, false, false, false, bias, tail, false, true},
            {{2, 8, 7, 7}, {17, 8, 1, 1}, 1, 1, 0, true, true, false, bias, tail, false, true},
            {{1, 6, 11, 5}, {6, 1, 3, 3}, 6, 2, 1, true, false, true, bias, tail, true, false},
            {{1, 4, 30}, {8, 2, 5}, 2, 1, 2, false, true, true, bias, tail, false, false},
            {{1, 2, 4, 5, 6}, {3, 2, 3, 2, 2}, 1, 1, 0, true, true, true, bias, tail, true, true}};
        for (const DynamicConv& d : convs) {
          for (const int32_t slots : {1, 3}) dynamic_conv(d).expect_same_bits("dynamic_conv_f32_nchw", slots);
        }
      }
    }
    // One multiplication and addition, rounded once or twice.
    dynamic_conv({{1, 3, 9, 8}, {5, 3, 3, 3}, 1, 1, 1, true, true, true, true, Tail::kHardSigmoid})
        .expect_close("dynamic_conv_f32_nchw", 1e-6);
  });
}

TEST(CpuDynamicConv, LeavesOtherBodies) {
  Values v(2);
  attrs::ConvIntegerT a;
  a.strides = a.dilations = {1, 1};
  a.pads = {0, 0, 0, 0};
  attrs::CastT to_float;
  to_float.to = static_cast<uint8_t>(DType::kF32);
  const auto body = [&](const std::vector<int64_t>& scale, bool cast_first, Op last) {
    Composite c({v.bytes(DType::kU8, {1, 2, 6, 6}), v.bytes(DType::kI8, {3, 2, 3, 3}), v.reals(scale, 1, 2)});
    int32_t y = c.node(Op::kConvInteger, pack<attrs::ConvInteger>(a), {0, 1});
    y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
    if (!cast_first) y = c.node(Op::kRelu, unary(), {y});
    y = c.node(Op::kMul, binary(), {y, 2});
    if (last != Op::kNone) y = c.node(last, unary(), {y});
    c.outputs({y});
    return c;
  };
  body({4, 4}, true, Op::kNone).expect_left();  // a scale for each pixel
  body({1, 4}, true, Op::kNone).expect_left();  // and for each column
  body({1}, false, Op::kNone).expect_left();    // the activation before the scale
  body({1}, true, Op::kSin).expect_left();      // no activation
  body({3, 1, 1}, true, Op::kNone).expect_same_bits("dynamic_conv_f32_nchw");

  // The Mul of two scales in front, one of which the result may replace; behind the product it may not.
  const auto pixel = [&](bool first, const std::vector<int64_t>& scale) {
    Composite c({v.bytes(DType::kU8, {1, 2, 3, 3}), v.bytes(DType::kI8, {3, 2, 3, 3}), v.reals(scale, 1, 2),
                 v.reals({3, 1, 1}, 1, 2)});
    int32_t both = first ? c.node(Op::kMul, binary(), {2, 3}) : 0;
    int32_t y = c.node(Op::kConvInteger, pack<attrs::ConvInteger>(a), {0, 1});
    if (!first) both = c.node(Op::kMul, binary(), {2, 3});
    y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
    c.outputs({c.node(Op::kMul, binary(), {y, both})});
    return c;
  };
  pixel(true, {1, 3, 1, 1}).expect_left();
  pixel(true, {3, 1, 1}).expect_left();
  for (const std::vector<int64_t>& scale : {std::vector<int64_t>{1, 3, 1, 1}, {3, 1, 1}})
    pixel(false, scale).expect_same_bits("dynamic_conv_f32_nchw");

  // One number: in front of one product of one pixel it is as large as the result.
  const auto numbers = [&](const std::vector<int64_t>& scale, int64_t outputs) {
    Composite c({v.bytes(DType::kU8, {1, 2, 3, 3}), v.bytes(DType::kI8, {outputs, 2, 3, 3}), v.reals(scale, 1, 2),
                 v.reals(scale, 1, 2)});
    const int32_t both = c.node(Op::kMul, binary(), {2, 3});
    int32_t y = c.node(Op::kConvInteger, pack<attrs::ConvInteger>(a), {0, 1});
    y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
    c.outputs({c.node(Op::kMul, binary(), {y, both})});
    return c;
  };
  numbers({}, 1).expect_left();
  numbers({1}, 1).expect_left();
  numbers({}, 3).expect_same_bits("dynamic_conv_f32_nchw");
}

// Sums of one channel that the scales broadcast are not as many as the result.
TEST(CpuDynamicConv, ProductsThatAreBroadcast) {
  attrs::ConvIntegerT a;
  a.strides = a.dilations = {1, 1};
  a.pads = {0, 0, 0, 0};
  attrs::CastT to_float;
  to_float.to = static_cast<uint8_t>(DType::kF32);
  const auto conv = [&](int64_t outputs) {
    Values v(3);
    Composite c({v.bytes(DType::kU8, {1, 2, 6, 6}), v.bytes(DType::kI8, {outputs, 2, 3, 3}), v.reals({8, 1, 1}, 1, 2)});
    int32_t y = c.node(Op::kConvInteger, pack<attrs::ConvInteger>(a), {0, 1});
    y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
    c.outputs({c.node(Op::kMul, binary(), {y, 2})});
    return c;
  };
  conv(8).expect_same_bits("dynamic_conv_f32_nchw");
  conv(1).expect_left();
  conv(8).runs_as(conv(8)).expect_same_bits("dynamic_conv_f32_nchw");
  (void)conv(8).runs_as(conv(1)).fails_with(VIREO_INVALID_MODEL).run("dynamic_conv_f32_nchw", 1);
}

// ---- dynamic_gemm

struct DynamicGemm {
  std::vector<int64_t> x;
  int64_t n = 1;
  bool two_scales = false, scale_first = false, later = false, per_column = false, w_zero = false, bias = true;
  bool x_signed = false, w_signed = true;
};

Composite dynamic_gemm(const DynamicGemm& d) {
  Values v(static_cast<uint32_t>(d.x[0] + d.n));
  const std::vector<int64_t> one = {1}, columns = {d.n}, some = d.per_column ? columns : one;
  const DType x = d.x_signed ? DType::kI8 : DType::kU8, w = d.w_signed ? DType::kI8 : DType::kU8;
  Composite c({v.bytes(x, d.x), v.bytes(w, {d.x.back(), d.n}), v.bytes(x, {}),
               v.bytes(w, d.per_column ? columns : std::vector<int64_t>{}), v.reals({}, 0.01f, 0.02f),
               v.reals(some, 0.5f, 1.5f), v.reals(some, 0.5f, 1.5f), v.reals(d.n % 2 == 0 ? columns : one, -2, 2)});
  c.is_constant(1);
  attrs::CastT to_float;
  to_float.to = static_cast<uint8_t>(DType::kF32);
  int32_t scale = d.per_column ? 5 : 4;
  if (d.two_scales && d.scale_first) scale = c.node(Op::kMul, binary(), {4, 5});
  std::vector<int32_t> inputs = {0, 1, 2};
  if (d.w_zero) inputs.push_back(3);
  int32_t y = c.node(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), inputs);
  if (d.two_scales && !d.scale_first) scale = c.node(Op::kMul, binary(), {5, 4});
  y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
  y = c.node(Op::kMul, binary(), {scale, y});
  if (d.later) y = c.node(Op::kMul, binary(), {y, 6});
  if (d.bias) y = c.node(Op::kAdd, binary(), {7, y});
  c.outputs({y});
  return c;
}

TEST(CpuDynamicGemm, BitsOfTheBody) {
  for_each_level([](const char*) {
    for (const bool bias : {false, true}) {
      const DynamicGemm products[] = {
          {{1, 40}, 17, false, false, false, false, false, bias},
          {{1, 1, 33}, 130, true, true, false, true, false, bias},
          {{7, 64}, 48, true, false, false, true, true, bias},
          {{3, 5, 21}, 65, false, false, true, true, false, bias, true, true},
          {{20, 96}, 96, true, true, true, false, true, bias, false, false},
          {{50}, 10, true, false, false, true, false, bias},
          {{1, 12}, 1, true, true, false, false, false, bias},  // the result may lie on a scale
          {{33, 0}, 5, true, true, true, true, true, bias},
          {{2, 4100}, 40, true, true, false, true, false, bias}};
      for (const DynamicGemm& d : products) {
        for (const int32_t slots : {1, 3}) dynamic_gemm(d).expect_same_bits("dynamic_gemm_i8i8f32", slots);
      }
    }
  });
}

TEST(CpuDynamicGemm, LeavesOtherBodies) {
  Values v(2);
  attrs::CastT to_float;
  to_float.to = static_cast<uint8_t>(DType::kF32);
  const auto body = [&](const std::vector<int64_t>& scale, const std::vector<int64_t>& zero,
                        const std::vector<int64_t>& w, int muls, Op last) {
    Composite c({v.bytes(DType::kU8, {4, 6}), v.bytes(DType::kI8, w), v.bytes(DType::kU8, zero), v.reals(scale, 1, 2)});
    int32_t y = c.node(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), {0, 1, 2});
    y = c.node(Op::kCast, pack<attrs::Cast>(to_float), {y});
    for (int i = 0; i < muls; ++i) y = c.node(Op::kMul, binary(), {y, 3});
    if (last != Op::kNone) y = c.node(last, unary(), {y});
    c.outputs({y});
    return c;
  };
  body({4, 1}, {}, {6, 3}, 1, Op::kNone).expect_left();  // a scale for each row
  body({1}, {4}, {6, 3}, 1, Op::kNone).expect_left();    // and a zero point
  body({1}, {}, {2, 6, 3}, 1, Op::kNone).expect_left();  // two matrices
  body({1}, {}, {6, 3}, 3, Op::kNone).expect_left();     // three scales, one after the other
  body({1}, {}, {6, 3}, 0, Op::kNone).expect_left();     // none
  body({1}, {}, {6, 3}, 1, Op::kRelu).expect_left();     // an activation
  body({3}, {}, {6, 3}, 2, Op::kNone).expect_same_bits("dynamic_gemm_i8i8f32");
  const auto rows = [](int64_t m) { return dynamic_gemm({{m, 40}, 24, true, true, false, true, false, true}); };
  rows(9).runs_as(rows(4)).expect_same_bits("dynamic_gemm_i8i8f32");
}

// ---- chain

TEST(CpuChain, Reductions) {
  struct Kind {
    Op op;
    attrs::Norm norm;
  };
  const Kind kinds[] = {{Op::kReduceSum, {}},
                        {Op::kReduceMean, {}},
                        {Op::kReduceMax, {}},
                        {Op::kReduceMin, {}},
                        {Op::kReduceProd, {}},
                        {Op::kReduceNorm, attrs::Norm::L1},
                        {Op::kReduceNorm, attrs::Norm::L2},
                        {Op::kReduceNorm, attrs::Norm::SumSquare}};
  struct Extents {
    std::vector<int64_t> x, b, axes;
  };
  const Extents all[] = {{{3, 40}, {3, 40}, {1}},     {{2, 3, 500}, {1, 500}, {-1}}, {{2, 3, 1500}, {3, 1}, {2, 1}},
                         {{4, 33, 31}, {33, 31}, {}}, {{5, 1}, {5, 1}, {1}},         {{2, 600, 2}, {1}, {2}},
                         {{1, 3, 2500}, {2500}, {2}}};  // 4500 terms at most
  for_each_level([&](const char*) {
    for (const Kind& k : kinds) {
      for (const Extents& e : all) {
        for (const bool keepdims : {false, true}) {
          Values v(static_cast<uint32_t>(e.x.back()));
          const float near = k.op == Op::kReduceProd ? 0.001f : 1;
          Composite c({v.reals(e.x, 1 - near, 1 + near), v.reals(e.b, -near, 0)});
          int32_t y = c.node(Op::kSub, binary(), {0, 1});
          y = c.node(Op::kAbs, unary(), {y});
          attrs::ReduceT plain;
          attrs::ReduceNormT norm;
          plain.keepdims = norm.keepdims = keepdims;
          norm.norm = k.norm;
          std::vector<int32_t> inputs = {y};
          if (!e.axes.empty()) inputs.push_back(c.constant(axes(e.axes)));
          y = c.node(k.op, k.op == Op::kReduceNorm ? pack<attrs::ReduceNorm>(norm) : pack<attrs::Reduce>(plain),
                     inputs);
          c.outputs({y});
          // Sums and products of positive terms: each side is off by 2^-24 for each of them at most.
          const double share = 2 * 4502 * 0x1p-24;
          for (const int32_t slots : {1, 3}) c.expect_close("chain_reduce_f32", share, slots);
        }
      }
    }
  });
}

TEST(CpuChain, LeavesOtherBodies) {
  Values v(3);
  const auto body = [&](const std::vector<int64_t>& along, bool constant, bool noop, Op behind) {
    TestTensor given = axes(along);
    Composite c({v.reals({4, 5, 6}, -1, 1), given});
    int32_t y = c.node(Op::kAbs, unary(), {0});
    attrs::ReduceT a;
    a.noop_with_empty_axes = noop;
    y = c.node(Op::kReduceSum, pack<attrs::Reduce>(a), {y, constant ? c.constant(given) : 1});
    if (behind != Op::kNone) y = c.node(behind, unary(), {y});
    c.outputs({y});
    return c;
  };
  body({2}, true, false, Op::kNone).expect_close("chain_reduce_f32", 1e-6);
  body({1}, true, false, Op::kNone).expect_left();
  body({0, 2}, true, false, Op::kNone).expect_left();
  body({2}, false, false, Op::kNone).expect_left();
  body({}, true, true, Op::kNone).expect_left();
  body({2}, true, false, Op::kNeg).expect_left();
}

}  // namespace
}  // namespace vireo

// Fused kernels against their bodies, which the reference kernels run node by node: through the delegate as a session
// drives it, on every instruction set of this machine.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
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

// Products with weights in float16, against their bodies or the operator, which the reference kernels run.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

struct Product {
  Op op = Op::kMatMul;
  std::vector<int64_t> x, w;
  std::vector<uint8_t> attributes;
  std::vector<int64_t> bias = {}, added = {};  // added: an Add behind it of this shape; a row or a whole tensor
  Op activation = Op::kNone;
  bool computed_weights = false, first = false;  // first: channels are
};

// `halves`: a float16 model; else float32 with a Cast of float16 weights.
Composite product(const Product& p, bool halves) {
  Values v(static_cast<uint32_t>(p.x.back() + p.w[0]));
  const TestTensor weights = v.halves(p.w, -1, 1);
  const auto of = [&](const std::vector<int64_t>& dims) {
    return halves ? v.halves(dims, -1, 1) : v.reals(dims, -1, 1);
  };
  const std::vector<int64_t> one = {1};
  Composite c({of(p.x), of(p.added.empty() ? one : p.added), of(p.bias.empty() ? one : p.bias), weights});
  int32_t w = p.computed_weights ? 3 : c.constant(weights);
  if (!halves) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(DType::kF32);
    w = c.node(Op::kCast, pack<attrs::Cast>(a), {w});
  }
  std::vector<int32_t> operands = {0, w};
  if (!p.bias.empty()) operands.push_back(2);
  int32_t y = c.node(p.op, p.attributes, operands);
  if (!p.added.empty()) y = c.node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {y, 1});
  if (p.activation != Op::kNone) y = c.node(p.activation, pack<attrs::Unary>(attrs::UnaryT{}), {y});
  c.outputs({y});
  return c;
}

std::vector<uint8_t> matmul() { return pack<attrs::MatMul>(attrs::MatMulT{}); }
std::vector<uint8_t> gemm(bool trans_a, bool trans_b, float alpha = 1, float beta = 1) {
  attrs::GemmT a;
  a.trans_a = trans_a;
  a.trans_b = trans_b;
  a.alpha = alpha;
  a.beta = beta;
  return pack<attrs::Gemm>(a);
}
std::vector<uint8_t> conv(int32_t stride, int32_t pad, size_t axes, Layout layout = Layout::kNhwc, int32_t group = 1) {
  attrs::ConvT a;
  a.strides.assign(axes, stride);
  a.pads.assign(2 * axes, pad);
  a.group = group;
  a.layout = static_cast<uint8_t>(layout);
  return pack<attrs::Conv>(a);
}

// Sums of up to 700 terms below 1 differ by their order, by 2^-24 of sums of magnitudes that are at most 40 times the
// largest result here. Bodies in float16 round each value between their nodes, up to four, by 2^-11 of itself: together
// less than 2^-8 of the largest.
constexpr double kShare = 40 * 700 * 0x1p-24, kHalfShare = kShare + 0x1p-8;

TEST(CpuF16, AsTheBody) {
  const Product products[] = {
      {Op::kMatMul, {3, 5, 40}, {40, 33}, matmul()},
      {Op::kMatMul, {1, 700}, {700, 70}, matmul(), {}, {70}, Op::kRelu},
      {Op::kMatMul, {2, 20, 64}, {64, 64}, matmul(), {}, {2, 20, 64}, Op::kSigmoid},
      {Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), {33}},
      {Op::kGemm, {17, 40}, {33, 40}, gemm(false, true, 0.5f), {1, 33}, {}, Op::kTanh},
      {Op::kConv, {2, 6, 7, 5}, {9, 5, 3, 3}, conv(1, 1, 2), {9}, {2, 6, 7, 9}, Op::kRelu},
      {Op::kConv, {1, 9, 9, 40}, {33, 40, 1, 1}, conv(2, 0, 2), {}, {33}},
      {Op::kConv, {1, 30, 3}, {8, 3, 5}, conv(3, 2, 1), {8}},
      {Op::kConv, {1, 4, 5, 6, 3}, {8, 3, 3, 3, 3}, conv(1, 1, 3), {8}},
      {Op::kConv, {1, 6, 6, 4}, {8, 2, 3, 3}, conv(1, 1, 2, Layout::kNhwc, 2), {8}},
      {Op::kConv, {1, 6, 6, 8}, {8, 1, 3, 3}, conv(2, 1, 2, Layout::kNhwc, 8), {8}, {}, Op::kRelu},
      {Op::kConv, {1, 4, 6, 6}, {8, 4, 3, 3}, conv(1, 1, 2, Layout::kNchw), {8}, {1, 8, 6, 6}, Op::kRelu, false, true},
      {Op::kConv, {2, 4, 9, 6}, {8, 4, 3, 3}, conv(2, 1, 2, Layout::kNchw), {}, {8, 1, 1}, Op::kNone, false, true},
  };
  for_each_level([&](const char*) {
    for (const Product& p : products) {
      for (const int32_t slots : {1, 3}) {
        for (const bool halves : {false, true}) {
          const std::string type = halves ? "f16" : "f32_w16", layout = p.first ? "_nchw" : "_nhwc";
          product(p, halves).expect_close(p.op == Op::kConv ? "conv_" + type + layout : "gemm_" + type,
                                          halves ? kHalfShare : kShare, slots);
        }
      }
    }
  });
}

TEST(CpuF16, NodesOfTheirOwn) {
  for_each_level([](const char*) {
    Values v(7);
    Case(Op::kMatMul, matmul(), {v.halves({3, 5, 40}, -1, 1), v.halves({40, 33}, -1, 1)})
        .expect_close("gemm_f16", kHalfShare);
    Case(Op::kGemm, gemm(false, true), {v.halves({2, 40}, -1, 1), v.halves({33, 40}, -1, 1), v.halves({33}, -1, 1)})
        .expect_close("gemm_f16", kHalfShare, 3);
    Case(Op::kConv, conv(1, 1, 2), {v.halves({1, 6, 7, 5}, -1, 1), v.halves({9, 5, 3, 3}, -1, 1)})
        .expect_close("conv_f16_nhwc", kHalfShare);
  });
}

// Rows and images that vary, also where a whole tensor is added; a bias that varies may be one number.
TEST(CpuF16, ExtentsThatVary) {
  for (const bool halves : {false, true}) {
    const std::string type = halves ? "f16" : "f32_w16";
    const auto rows = [&](int64_t n) {
      return product({Op::kMatMul, {n, 64}, {64, 40}, matmul(), {}, {n, 40}}, halves);
    };
    rows(6).runs_as(rows(5)).expect_close("gemm_" + type, kHalfShare);
    const auto images = [&](int64_t n) {
      return product({Op::kConv, {n, 6, 7, 5}, {9, 5, 3, 3}, conv(1, 1, 2), {9}, {n, 6, 7, 9}}, halves);
    };
    images(3).runs_as(images(2)).expect_close("conv_" + type + "_nhwc", kHalfShare);
    const auto bias = [&](int64_t n) {
      return product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), {n}}, halves);
    };
    bias(33).runs_as(bias(1)).expect_left();
  }
}

TEST(CpuF16, LeavesOtherBodies) {
  for (const bool halves : {false, true}) {
    product({Op::kGemm, {40, 17}, {40, 33}, gemm(true, false)}, halves).expect_left();
    product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false, 1, 0.5f), {33}}, halves).expect_left();
    product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), {17, 1}}, halves).expect_left();
    product({Op::kMatMul, {4, 3, 5}, {4, 5, 6}, matmul()}, halves).expect_left();
    Product p{Op::kMatMul, {3, 40}, {40, 40}, matmul()};
    p.computed_weights = true;
    product(p, halves).expect_left();
  }
}

}  // namespace
}  // namespace vireo

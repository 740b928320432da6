// Products whose operands go through bfloat16, against their bodies, which the reference kernels run node by node.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/window.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

std::vector<uint8_t> to(DType type) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(type);
  return pack<attrs::Cast>(a);
}

TestTensor bf16(const TestTensor& wide) {
  TestTensor t;
  t.type = {DType::kBF16, wide.type.shape};
  for (const float v : wide.as<float>()) {
    const uint16_t bits = f32_to_bf16(v);
    t.bytes.push_back(static_cast<uint8_t>(bits & 0xFF));
    t.bytes.push_back(static_cast<uint8_t>(bits >> 8));
  }
  return t;
}

struct Product {
  Op op = Op::kMatMul;
  std::vector<int64_t> x, w;
  std::vector<uint8_t> attributes;
  std::vector<int64_t> bias = {}, added = {};  // added: an Add behind it of this shape; a row or a whole tensor
  Op activation = Op::kNone;
  bool x_first = false, computed_weights = false;
};

Composite product(const Product& p) {
  Values v(static_cast<uint32_t>(p.x.back() + p.w[0]));
  const TestTensor weights = bf16(v.reals(p.w, -1, 1));
  Composite c({v.reals(p.x, -1, 1), v.reals(p.added.empty() ? std::vector<int64_t>{1} : p.added, -1, 1),
               v.reals(p.bias.empty() ? std::vector<int64_t>{1} : p.bias, -1, 1), weights});
  const int32_t stored = p.computed_weights ? 3 : c.constant(weights);
  int32_t w = 0, narrow = 0;
  if (p.x_first) narrow = c.node(Op::kCast, to(DType::kBF16), {0});
  w = c.node(Op::kCast, to(DType::kF32), {stored});
  if (!p.x_first) narrow = c.node(Op::kCast, to(DType::kBF16), {0});
  const int32_t wide = c.node(Op::kCast, to(DType::kF32), {narrow});
  std::vector<int32_t> operands = {wide, w};
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

// Products of bfloat16 are exact, so that the sums of up to 700 terms below 1 differ by their order alone, by 2^-24 of
// sums of magnitudes that are at most 40 times the largest result here.
constexpr double kShare = 40 * 700 * 0x1p-24;

TEST(CpuBf16, AsTheBody) {
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
  };
  for_each_level([&](const char*) {
    for (const Product& p : products) {
      for (const int32_t slots : {1, 3}) {
        product(p).expect_close(p.op == Op::kConv ? "conv_bf16_nhwc" : "gemm_bf16", kShare, slots);
      }
    }
  });
}

TEST(CpuBf16, LeavesOtherBodies) {
  product({Op::kGemm, {40, 17}, {40, 33}, gemm(true, false)}).expect_left();
  product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false, 1, 0.5f), {33}}).expect_left();
  product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), {17, 1}}).expect_left();
  product({Op::kMatMul, {4, 3, 5}, {4, 5, 6}, matmul()}).expect_left();
  product({Op::kConv, {1, 4, 6, 6}, {8, 4, 3, 3}, conv(1, 1, 2, Layout::kNchw), {8}}).expect_left();
  product({Op::kConv, {1, 6, 6, 4}, {8, 2, 3, 3}, conv(1, 1, 2, Layout::kNhwc, 2), {8}}).expect_left();
  // A body whose first node works in place: y may lie on x.
  Product p{Op::kMatMul, {3, 40}, {40, 40}, matmul()};
  p.x_first = true;
  product(p).expect_left();
  p.x_first = false;
  p.computed_weights = true;
  product(p).expect_left();
}

}  // namespace
}  // namespace vireo

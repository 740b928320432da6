// Products whose weights are codes, against their bodies, which the reference kernels run node by node.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

struct Product {
  Op op = Op::kMatMul;
  std::vector<int64_t> x, w;
  std::vector<uint8_t> attributes;
  DType type = DType::kI4;
  int32_t axis = 0, block = 32;
  std::vector<int64_t> scale = {};
  bool zero = false;
  std::vector<int64_t> bias = {}, added = {};  // added: an Add behind it of this shape; a row or a whole tensor
  Op activation = Op::kNone;
  bool computed_scale = false;
  bool half_scale = false, turned = false;  // a Cast in front of the scales; a Transpose behind the matrix
};

Composite product(const Product& p) {
  Values v(static_cast<uint32_t>(p.x.back() + p.w[0]));
  const TestTensor weights = v.bytes(p.type, p.w),
                   scale = p.half_scale ? v.halves(p.scale, -0.1f, 0.1f) : v.reals(p.scale, 0.01f, 0.1f);
  Composite c({v.reals(p.x, -1, 1), v.reals(p.added.empty() ? std::vector<int64_t>{1} : p.added, -1, 1),
               v.reals(p.bias.empty() ? std::vector<int64_t>{1} : p.bias, -1, 1), scale});
  std::vector<int32_t> coded = {c.constant(weights), p.computed_scale ? 3 : c.constant(scale)};
  if (p.half_scale) {
    attrs::CastT wide;
    wide.to = static_cast<uint8_t>(DType::kF32);
    coded[1] = c.node(Op::kCast, pack<attrs::Cast>(wide), {coded[1]});
  }
  if (p.zero) coded.push_back(c.constant(v.bytes(p.type, p.scale)));
  attrs::DequantizeLinearT a;
  a.axis = p.axis;
  a.block_size = p.block;
  int32_t w = c.node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), coded);
  if (p.turned) {
    attrs::TransposeT turn;
    turn.perm = {1, 0};
    w = c.node(Op::kTranspose, pack<attrs::Transpose>(turn), {w});
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

// Sums of up to 700 terms, weights rounded or blocks' sums: by 2^-24 of sums of magnitudes that are at most 40 times
// the largest result here.
constexpr double kShare = 40 * 700 * 0x1p-24;

TEST(CpuCodes, AsTheBody) {
  const struct {
    const char* kernel;
    Product product;
  } kCases[] = {
      {"gemm_f32_w4", {Op::kMatMul, {3, 5, 40}, {40, 33}, matmul(), DType::kI4, 0, 16, {3, 33}}},
      {"gemm_f32_w4",
       {Op::kMatMul, {1, 700}, {700, 70}, matmul(), DType::kU4, 0, 32, {22, 70}, true, {}, {70}, Op::kRelu}},
      {"gemm_f32_w8",
       {Op::kMatMul, {2, 20, 64}, {64, 64}, matmul(), DType::kI8, 1, 0, {64}, false, {}, {2, 20, 64}, Op::kSigmoid}},
      {"gemm_f32_w8", {Op::kMatMul, {4, 64}, {64, 64}, matmul(), DType::kU8, -1, 0, {64}, true}},
      {"gemm_f32_w8", {Op::kMatMul, {4, 64}, {64, 40}, matmul(), DType::kU8, 1, 0, {}, true}},
      {"gemm_f32_w4", {Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), DType::kI4, -2, 64, {1, 33}, false, {33}}},
      {"gemm_f32_w4",
       {Op::kGemm,
        {17, 40},
        {33, 40},
        gemm(false, true, 0.5f),
        DType::kI4,
        1,
        16,
        {33, 3},
        true,
        {1, 33},
        {},
        Op::kTanh}},
      {"gemm_f32_w8", {Op::kGemm, {2, 40}, {33, 40}, gemm(false, true), DType::kI8, 0, 0, {33}}},
  };
  for_each_level([&](const char*) {
    for (const auto& c : kCases) {
      for (const int32_t slots : {1, 3}) product(c.product).expect_close(c.kernel, kShare, slots);
    }
  });
}

// Scales of float16, below zero as well, and matrices that are multiplied turned.
TEST(CpuCodes, HalfScalesAndTurnedMatrices) {
  Product rows = {Op::kMatMul, {1, 5, 72}, {70, 72}, matmul(), DType::kI4, 1, 32, {70, 3}};
  rows.half_scale = rows.turned = true;
  Product many = rows;
  many.x = {40, 72};
  Product plain = {Op::kMatMul, {3, 40}, {40, 33}, matmul(), DType::kI4, 0, 16, {3, 33}, true, {}, {33}, Op::kRelu};
  plain.half_scale = true;
  Product bytes = {Op::kMatMul, {3, 40}, {33, 40}, matmul(), DType::kI8, 0, 0, {33}};
  bytes.turned = true;
  Product gemm_turned = {Op::kGemm, {3, 40}, {33, 40}, gemm(false, false), DType::kI4, 1, 8, {33, 5}, false, {33}};
  gemm_turned.turned = true;
  for_each_level([&](const char*) {
    for (const int32_t slots : {1, 3}) {
      for (const Product* p : {&rows, &many, &plain, &gemm_turned})
        product(*p).expect_close("gemm_f32_w4", kShare, slots);
      product(bytes).expect_close("gemm_f32_w8", kShare, slots);
    }
  });
  const auto of = [&](int64_t count) {
    Product p = rows;
    p.x = {count, 72};
    p.added = {count, 70};
    return product(p);
  };
  of(6).runs_as(of(2)).expect_close("gemm_f32_w4", kShare);
}

// Rows that vary, also where a whole tensor is added.
TEST(CpuCodes, RowsThatVary) {
  const auto of = [](int64_t rows) {
    return product({Op::kMatMul, {rows, 64}, {64, 40}, matmul(), DType::kI8, 1, 0, {40}, false, {}, {rows, 40}});
  };
  of(6).runs_as(of(5)).expect_close("gemm_f32_w8", kShare);
  of(6).runs_as(of(1)).expect_close("gemm_f32_w8", kShare);
}

TEST(CpuCodes, LeavesOtherBodies) {
  Product p = {Op::kMatMul, {3, 40}, {40, 40}, matmul(), DType::kI8, 0, 0, {40}};
  product(p).expect_left();  // a scale for each row
  p.axis = 1;
  p.computed_scale = true;
  product(p).expect_left();
  product({Op::kMatMul, {3, 40}, {40, 40}, matmul(), DType::kI8, 0, 12, {4, 40}}).expect_left();
  product({Op::kMatMul, {3, 40}, {40, 40}, matmul(), DType::kI8, 1, 8, {40, 5}}).expect_left();
  product({Op::kMatMul, {3, 40}, {40, 40}, matmul(), DType::kI16, 1, 0, {40}}).expect_left();
  product({Op::kGemm, {40, 17}, {40, 33}, gemm(true, false), DType::kI8, 1, 0, {33}}).expect_left();
  product({Op::kGemm, {17, 40}, {40, 33}, gemm(false, false, 1, 0.5f), DType::kI8, 1, 0, {33}, false, {33}})
      .expect_left();
}

}  // namespace
}  // namespace vireo

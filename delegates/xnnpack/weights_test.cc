// Products whose constant weights are codes, as the composites that the converter makes of them: what is taken against
// the reference, and why the rest is left.
#include "delegates/xnnpack/weights.h"
#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo::xnnpack {
namespace {

using testing::Case;
using testing::DelegateTest;
using testing::reals;
using testing::tensor;

using CodedWeights = DelegateTest;

struct Product {
  DType type = DType::kI8;
  int64_t rows = 5, k = 64, n = 33;
  bool gemm = false, transposed = false;  // Gemm; with transB
  int zero = 0;                           // every code's zero point; no input where codes are signed and it is 0
  int64_t block = 0;
  bool one_scale = false;
  float least_scale = 0.01f, bias = 0;  // bias > 0: the largest
  Op tail = Op::kNone;
};

TestTensor codes(DType type, uint32_t seed, const std::vector<int64_t>& dims) {
  TestTensor t;
  t.type = {type, make_shape(dims)};
  std::mt19937 rng(seed);
  for (int64_t i = 0; i < tensor_bytes(t.type); ++i) t.bytes.push_back(static_cast<uint8_t>(rng()));
  return t;
}

TestTensor zeros(const Product& p, const std::vector<int64_t>& dims) {
  TestTensor t;
  t.type = {p.type, make_shape(dims)};
  const int byte = dtype_bits(p.type) == 4 ? (p.zero & 15) * 17 : p.zero;
  t.bytes.assign(static_cast<size_t>(tensor_bytes(t.type)), static_cast<uint8_t>(byte));
  return t;
}

Case product(const Product& p) {
  const auto seed = static_cast<uint32_t>(p.k * 131 + p.n);
  const int k_axis = p.transposed ? 1 : 0;
  attrs::DequantizeLinearT a;
  a.axis = 1 - k_axis;
  std::vector<int64_t> scales = {p.n};
  if (p.block > 0) {
    a.axis = k_axis;
    a.block_size = static_cast<int32_t>(p.block);
    const int64_t blocks = (p.k + p.block - 1) / p.block;
    scales = p.transposed ? std::vector<int64_t>{p.n, blocks} : std::vector<int64_t>{blocks, p.n};
  }
  if (p.one_scale) scales = {};
  Case c({reals(seed, {p.rows, p.k})});
  const std::vector<int64_t> dims = p.transposed ? std::vector<int64_t>{p.n, p.k} : std::vector<int64_t>{p.k, p.n};
  std::vector<int32_t> operands = {c.constant(codes(p.type, seed + 1, dims)),
                                   c.constant(reals(seed + 2, scales, p.least_scale, 0.1f))};
  if (p.zero != 0 || !dtype_is_signed(p.type)) operands.push_back(c.constant(zeros(p, scales)));
  const int32_t w = c.node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), operands);
  int32_t y = -1;
  const int32_t bias = p.bias > 0 ? c.constant(reals(seed + 3, {p.n}, p.bias / 2, p.bias)) : -1;
  if (p.gemm) {
    attrs::GemmT g;
    g.trans_b = p.transposed;
    y = c.node(Op::kGemm, pack<attrs::Gemm>(g),
               bias >= 0 ? std::vector<int32_t>{0, w, bias} : std::vector<int32_t>{0, w});
  } else {
    y = c.node(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {0, w});
    if (bias >= 0) y = c.node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {y, bias});
  }
  if (p.tail != Op::kNone) y = c.node(p.tail, pack<attrs::Unary>(attrs::UnaryT{}), {y});
  c.output(y);
  return c;
}

// Sums of k terms, of which the magnitudes add up to less than 40 times the largest result here, each rounded twice,
// and the bias twice more.
double bound(int64_t k) { return 40 * static_cast<double>(2 * k + 2) * 0x1p-24; }

TEST_F(CodedWeights, AsTheBody) {
  for (const DType type : {DType::kI8, DType::kU8, DType::kI4, DType::kU4}) {
    const int middle = dtype_is_signed(type) ? 0 : 1 << (dtype_bits(type) - 1);
    for (const int64_t k : {1, 2, 7, 64, 129}) {
      for (const int64_t n : {1, 8, 33, 70}) {
        for (const int64_t rows : {1, 9}) {
          for (const int kind : {0, 1, 2}) {
            Product p = {type, rows, k, n, kind > 0, kind == 2, middle};
            product(p).expect_close(bound(k));
            p.bias = 3;
            p.tail = Op::kRelu;
            p.one_scale = true;
            product(p).expect_close(bound(k));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(CodedWeights, OneBlock) {
  for (const bool transposed : {false, true})
    product({DType::kI4, 3, 40, 33, true, transposed, 0, 64}).expect_close(bound(40));
}

TEST_F(CodedWeights, FewerRowsThanAtTheBounds) {
  for (const DType type : {DType::kI8, DType::kI4}) {
    const auto at = [&](int64_t rows) { return product({type, rows, 50, 40, false, false, 0, 0, false, 0.01f, 1}); };
    const Case one = at(1), five = at(5), eight = at(8);
    at(8).expect_close_at({&five, &eight, &one}, 50 * 2 * 12.8 * 0x1p-24 * 50);  // weights up to 12.8, x to 1
  }
}

// One filter with two scales or two biases: other packed copies, by the name that the host keeps them under, too.
TEST_F(CodedWeights, PackedCopiesAreNotMixedUp) {
  const vireo_delegate& d = vireo_xnnpack_delegate;
  const vireo_host host = test_host();
  const auto pack = [&](const Case& c) {
    vireo_packed out = VIREO_PACKED_INIT;
    const TestPart part(d, nullptr, host, c.graph(), 0, TestClaim(), /*packs=*/true);
    EXPECT_EQ(part.pack(0, &out), VIREO_OK);
    return out;
  };
  const Case a = product({DType::kI4, 2, 32, 16, false, false, 0, 0, false, 0.01f, 1});
  const Case scaled = product({DType::kI4, 2, 32, 16, false, false, 0, 0, false, 0.02f, 1});
  const Case biased = product({DType::kI4, 2, 32, 16, false, false, 0, 0, false, 0.01f, 2});
  const vireo_packed of_a = pack(a);
  for (const Case* c : {&scaled, &biased}) {
    const vireo_packed other = pack(*c);
    EXPECT_EQ(of_a.sizes[0], other.sizes[0]);
    EXPECT_NE(of_a.sizes[2], other.sizes[2]);
  }
}

TEST_F(CodedWeights, WhatIsLeft) {
  EXPECT_EQ(product({DType::kI4}).reason(), "");
  EXPECT_EQ(product({DType::kI4, 5, 64, 33, false, false, 0, 32}).reason(),
            "XNNPACK rounds x to 8 bits where weights have blocks");
  for (const DType type : {DType::kU8, DType::kU4, DType::kI8}) {
    EXPECT_EQ(product({type, 5, 64, 33, false, false, 7}).reason(),
              "its zero points are not in the middle of the codes: XNNPACK's are");
  }
  EXPECT_EQ(product({DType::kI8, 5, 64, 33, false, false, 0, 0, false, -0.1f}).reason(),
            "XNNPACK's scales are above 0");
  EXPECT_EQ(product({DType::kI8, 5, 64, 33, false, false, 0, 0, false, 0.01f, 3e38f}).reason(),
            "its bias divided by the scale is no float32");
  EXPECT_TRUE(kernels().weights8 && kernels().weights4);  // every kind of CPU that tests have run on
}

}  // namespace
}  // namespace vireo::xnnpack

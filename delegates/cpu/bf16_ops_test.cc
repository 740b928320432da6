// Products whose operands go through bfloat16, against their bodies, which the reference kernels run node by node.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

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

// Which operands lie in bfloat16 between nodes.
struct Halves {
  bool x = false, added = false, y = false;
};

struct Product {
  Op op = Op::kMatMul;
  std::vector<int64_t> x, w;
  std::vector<uint8_t> attributes;
  std::vector<int64_t> bias = {}, added = {};  // added: an Add behind it of this shape; a row or a whole tensor
  Op activation = Op::kNone;
  bool x_first = false, computed_weights = false;
  Halves halves = {};
};

Composite product(const Product& p) {
  Values v(static_cast<uint32_t>(p.x.back() + p.w[0]));
  const TestTensor weights = bf16(v.reals(p.w, -1, 1));
  const TestTensor x = v.reals(p.x, -1, 1), added = v.reals(p.added.empty() ? std::vector<int64_t>{1} : p.added, -1, 1);
  Composite c({p.halves.x ? bf16(x) : x, p.halves.added ? bf16(added) : added,
               v.reals(p.bias.empty() ? std::vector<int64_t>{1} : p.bias, -1, 1), weights});
  const int32_t stored = p.computed_weights ? 3 : c.constant(weights);
  int32_t w = 0, narrow = 0;
  if (p.x_first) narrow = c.node(Op::kCast, to(DType::kBF16), {0});
  w = c.node(Op::kCast, to(DType::kF32), {stored});
  if (!p.x_first && !p.halves.x) narrow = c.node(Op::kCast, to(DType::kBF16), {0});
  const int32_t wide = c.node(Op::kCast, to(DType::kF32), {p.halves.x ? 0 : narrow});
  std::vector<int32_t> operands = {wide, w};
  if (!p.bias.empty()) operands.push_back(2);
  int32_t y = c.node(p.op, p.attributes, operands);
  const int32_t other = p.halves.added ? c.node(Op::kCast, to(DType::kF32), {1}) : 1;
  if (!p.added.empty()) y = c.node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {y, other});
  if (p.activation != Op::kNone) y = c.node(p.activation, pack<attrs::Unary>(attrs::UnaryT{}), {y});
  if (p.halves.y) y = c.node(Op::kCast, to(DType::kBF16), {y});
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

// A result in bfloat16 may go to the other neighbour where the sums' order does.
TEST(CpuBf16, BetweenNodes) {
  const Product products[] = {
      {Op::kMatMul, {2, 20, 64}, {64, 64}, matmul(), {}, {2, 20, 64}, Op::kSigmoid},
      {Op::kGemm, {17, 40}, {40, 33}, gemm(false, false), {33}, {17, 33}, Op::kRelu},
      {Op::kConv, {2, 6, 7, 5}, {9, 5, 3, 3}, conv(1, 1, 2), {9}, {2, 6, 7, 9}, Op::kRelu},
      {Op::kConv, {1, 9, 9, 40}, {33, 40, 1, 1}, conv(1, 0, 2), {}, {1, 9, 9, 33}},
  };
  for_each_level([&](const char*) {
    for (const Product& p : products) {
      for (int which = 1; which < 8; ++which) {
        Product one = p;
        one.halves = {(which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
        product(one).expect_close(p.op == Op::kConv ? "conv_bf16_nhwc" : "gemm_bf16", kShare + 0x1p-7, 3);
      }
    }
    Product depthwise{Op::kConv, {2, 9, 8, 20}, {20, 1, 3, 3}, conv(1, 1, 2, Layout::kNhwc, 20), {20}, {}, Op::kRelu};
    depthwise.halves = {true, false, true};
    product(depthwise).expect_close("depthwise_bf16_nhwc", 0x1p-7, 3);
    depthwise.activation = Op::kTanh;
    product(depthwise).expect_left();
    depthwise.activation = Op::kRelu;
    depthwise.halves.y = false;
    product(depthwise).expect_left();
  });
}

// Rows and images that vary, also where a whole tensor is added.
TEST(CpuBf16, ExtentsThatVary) {
  for (const bool halves : {false, true}) {
    const auto rows = [&](int64_t n) {
      Product p{Op::kMatMul, {n, 64}, {64, 40}, matmul(), {}, {n, 40}};
      p.halves = {halves, halves, halves};
      return product(p);
    };
    rows(6).runs_as(rows(5)).expect_close("gemm_bf16", kShare + 0x1p-7);
    const auto images = [&](int64_t n) {
      Product p{Op::kConv, {n, 6, 7, 5}, {9, 5, 3, 3}, conv(1, 1, 2), {9}, {n, 6, 7, 9}};
      p.halves = {halves, halves, halves};
      return product(p);
    };
    images(3).runs_as(images(2)).expect_close("conv_bf16_nhwc", kShare + 0x1p-7);
  }
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

using Way = attrs::RecurrentDirection;
enum class Lengths { kNone, kWhole, kShorter, kGiven };

struct Cell {
  int64_t steps = 5, batch = 1, inputs = 9, hidden = 8;
  Way way = Way::Forward;
  bool whole = false;  // with bias and initial states
  bool batch_first = false;
  unsigned results = 7;  // y, y_h, y_c: one bit each
  Lengths lengths = Lengths::kNone;
  bool x_first = false, computed_weights = false;
  float clip = 0;
};

Composite lstm(const Cell& p) {
  attrs::RecurrentT a;
  a.direction = p.way;
  a.batch_first = p.batch_first;
  a.clip = p.clip;
  Values v(static_cast<uint32_t>(p.steps + p.batch + p.hidden));
  const int64_t d = p.way == Way::Bidirectional ? 2 : 1;
  const auto first = [&](int64_t outer, int64_t inner) {
    return p.batch_first ? std::vector<int64_t>{p.batch, outer, inner} : std::vector<int64_t>{outer, p.batch, inner};
  };
  TestTensor lens = v.integers({p.batch}, 0);
  for (size_t i = 0; i < lens.bytes.size(); i += sizeof(int32_t))
    lens.bytes[i] = static_cast<uint8_t>(p.steps - (p.lengths == Lengths::kShorter ? 1 : 0));
  std::vector<TestTensor> inputs = {bf16(v.reals({d, 4 * p.hidden, p.inputs}, -0.7f, 0.7f)),
                                    bf16(v.reals({d, 4 * p.hidden, p.hidden}, -0.7f, 0.7f)),
                                    v.reals(first(p.steps, p.inputs), -2, 2)};
  std::vector<int32_t> in = {-1, -1, -1, -1, -1, -1, -1};
  const auto add = [&](size_t operand, const TestTensor& t) {
    in[operand] = static_cast<int32_t>(inputs.size());
    inputs.push_back(t);
  };
  if (p.whole) add(3, v.reals({d, 8 * p.hidden}, -0.5f, 0.5f));
  if (p.lengths != Lengths::kNone) add(4, lens);
  if (p.whole) add(5, v.reals(first(d, p.hidden), -1, 1));
  if (p.whole) add(6, v.reals(first(d, p.hidden), -1, 1));
  Composite c(inputs);
  if (!p.computed_weights) c.is_constant(0).is_constant(1);
  if (p.lengths == Lengths::kWhole || p.lengths == Lengths::kShorter) c.is_constant(static_cast<size_t>(in[4]));
  int32_t narrow = p.x_first ? c.node(Op::kCast, to(DType::kBF16), {2}) : -1;
  in[1] = c.node(Op::kCast, to(DType::kF32), {0});
  in[2] = c.node(Op::kCast, to(DType::kF32), {1});
  if (!p.x_first) narrow = c.node(Op::kCast, to(DType::kBF16), {2});
  in[0] = c.node(Op::kCast, to(DType::kF32), {narrow});
  const int32_t y = c.node(Op::kLSTM, pack<attrs::Recurrent>(a), in, 3);
  std::vector<int32_t> results;
  for (int32_t o = 0; o < 3; ++o) {
    if ((p.results >> o & 1) != 0) results.push_back(y + o);
  }
  c.outputs(results);
  return c;
}

// Both products have the body's own operands: sums of under 40 terms lose 40 * 2^-24, functions 3 * 2^-24; the gates
// keep errors from growing.
constexpr double kCellShare = 5e-6;

TEST(CpuBf16, LstmAsTheBody) {
  for_each_level([](const char*) {
    for (const int64_t steps : {1, 5, 70}) {
      for (const int64_t batch : {1, 3, 6}) {
        for (const Way way : {Way::Forward, Way::Reverse, Way::Bidirectional}) {
          for (const bool whole : {false, true}) {
            Cell p{steps, batch, 9, steps == 5 ? 17 : 8, way, whole};
            p.batch_first = batch == 1 && whole;
            lstm(p).expect_close("lstm_bf16", kCellShare, batch == 6 ? 3 : 1);
          }
        }
      }
    }
    for (unsigned results = 1; results < 8; ++results) {
      for (const Way way : {Way::Forward, Way::Bidirectional}) {
        Cell p{5, 2, 9, 17, way, true};
        p.results = results;
        lstm(p).expect_close("lstm_bf16", kCellShare);
      }
    }
    lstm({70, 1, 40, 33, Way::Bidirectional, true}).by_turns().expect_close("lstm_bf16", 2 * kCellShare, 3);
  });
}

TEST(CpuBf16, LstmWithLengthsOfTheWholeSequence) {
  Cell p{5, 3};
  p.lengths = Lengths::kWhole;
  lstm(p).expect_close("lstm_bf16", kCellShare);
  for (const Lengths other : {Lengths::kShorter, Lengths::kGiven}) {
    p.lengths = other;
    lstm(p).expect_left();
  }
}

TEST(CpuBf16, LstmOfExtentsThatVary) {
  lstm({70, 4, 9, 8}).runs_as(lstm({66, 3, 9, 8})).expect_close("lstm_bf16", kCellShare, 2);
  lstm({70, 4, 9, 8, Way::Bidirectional})
      .runs_as(lstm({3, 1, 9, 8, Way::Bidirectional}))
      .expect_close("lstm_bf16", kCellShare, 2);
}

TEST(CpuBf16, LeavesOtherBodiesOfLstm) {
  Cell p;
  p.x_first = true;
  lstm(p).expect_left();
  p.x_first = false;
  p.computed_weights = true;
  lstm(p).expect_left();
  p.computed_weights = false;
  p.clip = 1;
  lstm(p).expect_left();
  p.clip = 0;
  p.batch_first = true;
  p.batch = 2;
  lstm(p).expect_left();
}

// A norm, its rows' factors, and the Cast: whether a row's sums are of one order more or less moves a result to its
// neighbour in bfloat16, 2^-8 of it.
TEST(CpuBf16, NormAsTheBody) {
  for_each_level([](const char*) {
    for (const std::vector<int64_t>& x : {std::vector<int64_t>{1, 1}, {3, 17}, {2, 5, 64}, {2, 3, 4, 33}}) {
      for (const bool rms : {false, true}) {
        for (const int axis : {-1, 1}) {
          const std::vector<int64_t> row(axis == 1 ? x.begin() + 1 : x.end() - 1, x.end());
          Values v(static_cast<uint32_t>(row.back()));
          Composite c({v.reals(x, -2, 2), v.reals(row, 0.5f, 1.5f), v.reals(row, -1, 1)});
          attrs::LayerNormalizationT layer;
          attrs::RMSNormalizationT only_scaled;
          layer.axis = only_scaled.axis = axis;
          const int32_t y = rms ? c.node(Op::kRMSNormalization, pack<attrs::RMSNormalization>(only_scaled), {0, 1})
                                : c.node(Op::kLayerNormalization, pack<attrs::LayerNormalization>(layer), {0, 1, 2});
          c.outputs({c.node(Op::kCast, to(DType::kBF16), {y})});
          for (const int32_t slots : {1, 3}) c.expect_close(rms ? "rms_norm_bf16" : "layer_norm_bf16", 0x1p-7, slots);
        }
      }
    }
  });
  Values v(1);
  Composite one_factor({v.reals({4, 16}, -2, 2), v.reals({1}, 0.5f, 1.5f)});
  const int32_t y =
      one_factor.node(Op::kRMSNormalization, pack<attrs::RMSNormalization>(attrs::RMSNormalizationT{}), {0, 1});
  one_factor.outputs({one_factor.node(Op::kCast, to(DType::kBF16), {y})});
  one_factor.expect_left();
}

struct Attend {
  std::vector<int64_t> q, k, v;
  std::vector<int64_t> mask = {};
  int32_t heads = 0, kv_heads = 0;
  bool causal = false, cast_k = true, cast_v = true, cast_y = true, q_first = true;
  float softcap = 0;
  int32_t window = -1;
};

Composite attention(const Attend& p) {
  Values v(static_cast<uint32_t>(p.q.back() + p.k[1]));
  const TestTensor k = v.reals(p.k, -2, 2), values = v.reals(p.v, -2, 2);
  Composite c({v.reals(p.q, -2, 2), p.cast_k ? k : bf16(k), p.cast_v ? values : bf16(values),
               v.reals(p.mask.empty() ? std::vector<int64_t>{1} : p.mask, -2, 2)});
  const auto narrow = [&](int32_t input) { return c.node(Op::kCast, to(DType::kBF16), {input}); };
  int32_t q = p.q_first ? narrow(0) : -1;
  std::vector<int32_t> in = {q, p.cast_k ? narrow(1) : 1, p.cast_v ? narrow(2) : 2};
  if (!p.q_first) in[0] = narrow(0);
  if (!p.mask.empty()) in.push_back(3);
  attrs::AttentionT a;
  a.q_heads = p.heads;
  a.kv_heads = p.kv_heads;
  a.causal = p.causal;
  a.softcap = p.softcap;
  a.left_window = p.window;
  const int32_t y = c.node(Op::kAttention, pack<attrs::Attention>(a), in);
  c.outputs({p.cast_y ? c.node(Op::kCast, to(DType::kF32), {y}) : y});
  return c;
}

// Weights are rounded, which the body's are not (2^-8), and y on the other side of a tie (2^-8 of it): at most 2^-7 of
// the largest magnitude of v, 2, which is at most 4 times the largest y here.
TEST(CpuBf16, AttentionAsTheBody) {
  const Attend all[] = {
      {{1, 2, 40, 16}, {1, 2, 40, 16}, {1, 2, 40, 16}},
      {{2, 33, 64}, {2, 20, 32}, {2, 20, 32}, {33, 20}, 4, 2},
      {{2, 17, 64}, {2, 17, 64}, {2, 17, 64}, {}, 4, 4, true},
      {{1, 4, 9, 32}, {1, 2, 300, 32}, {1, 2, 300, 32}, {1, 1, 1, 300}, 0, 0, false, false, false},
      {{1, 2, 9, 8}, {1, 2, 30, 8}, {1, 2, 30, 8}, {1, 1, 9, 30}, 0, 0, false, true, false, true, true, 2.0f},
  };
  for_each_level([&](const char*) {
    for (const Attend& p : all) {
      for (const int32_t slots : {1, 3}) attention(p).expect_close("attention_bf16", 4 * 0x1p-7, slots);
    }
  });
}

// Keys and values in `type`; codes with a scale a row, or one for all.
Composite cached(DType type, std::vector<int64_t> q, const std::vector<int64_t>& k, bool a_row, bool q_first = true) {
  Values v(static_cast<uint32_t>(k[2]));
  const auto narrow = [&](const TestTensor& wide) {
    if (type == DType::kBF16) return bf16(wide);
    TestTensor t;
    t.type = {type, wide.type.shape};
    for (const float x : wide.as<float>()) {
      const uint16_t bits = type == DType::kF16 ? f32_to_f16(x) : static_cast<uint8_t>(static_cast<int8_t>(x * 60));
      t.bytes.push_back(static_cast<uint8_t>(bits & 0xFF));
      if (type == DType::kF16) t.bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
    return t;
  };
  const std::vector<int64_t> scales = a_row ? std::vector<int64_t>{k[0], k[1], k[2], 1} : std::vector<int64_t>{1};
  Composite c({v.reals(std::move(q), -2, 2), narrow(v.reals(k, -2, 2)), narrow(v.reals(k, -2, 2)),
               v.reals(scales, 0.01f, 0.02f), v.reals(scales, 0.01f, 0.02f)});
  attrs::DequantizeLinearT dequantize;
  dequantize.axis = 3;
  dequantize.block_size = a_row ? static_cast<int32_t>(k[3]) : 0;
  const auto wide = [&](int32_t input) {
    if (type != DType::kI8) return c.node(Op::kCast, to(DType::kF32), {input});
    return c.node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(dequantize), {input, input + 2});
  };
  const int32_t first = q_first ? c.node(Op::kCast, to(DType::kF32), {0}) : 0;
  const int32_t keys = wide(1), values = wide(2);
  c.outputs({c.node(Op::kAttention, pack<attrs::Attention>(attrs::AttentionT{}), {first, keys, values})});
  return c;
}

// Sums of up to 300 terms in another order, scores of at most 30.
TEST(CpuBf16, CachedAttentionAsTheBody) {
  for_each_level([&](const char*) {
    for (const DType type : {DType::kBF16, DType::kF16, DType::kI8}) {
      for (const bool a_row : {false, true}) {
        for (const int32_t slots : {1, 3}) {
          cached(type, {1, 6, 1, 16}, {1, 2, 300, 16}, a_row).expect_close("attention_cached", 1e-4, slots);
          cached(type, {2, 4, 40, 24}, {2, 2, 30, 24}, a_row).expect_close("attention_cached", 1e-4, slots);
        }
      }
      cached(type, {1, 6, 1, 16}, {1, 2, 30, 16}, true, false).expect_left();  // y may lie on k
    }
  });
}

TEST(CpuBf16, LeavesOtherAttention) {
  attention({{1, 2, 9, 8}, {1, 2, 30, 8}, {1, 2, 30, 4}}).expect_left();  // y may lie on q
  Attend p{{1, 2, 9, 8}, {1, 2, 30, 8}, {1, 2, 30, 8}};
  p.q_first = false;  // y may lie on k
  attention(p).expect_left();
  p.q_first = true;
  p.window = 3;
  attention(p).expect_left();
}

}  // namespace
}  // namespace vireo

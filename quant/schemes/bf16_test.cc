#include "quant/schemes/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "quant/schemes/testing.h"
#include "sdk/ops/op.h"

namespace vireo::quant::bf16_test {
namespace {

using testing::expect_left;
using testing::floats;
using testing::graph;
using testing::ops;

// What the first node of the graph computes for magnitudes of x and weights: sum |w x|.
std::vector<float> magnitudes(const ir::Graph& g, const ir::ConstantPtr& x) {
  const auto copy = g.clone();
  const auto positive = [](const ir::Constant& c) {
    std::vector<float> v = floats(c);
    for (float& f : v) f = std::fabs(f);
    return ir::make_constant_of<float>(DType::kF32, c.tensor.type.shape, v);
  };
  ir::Node& n = copy->nodes().front();
  copy->set_input(&n, 1, copy->add_constant("", positive(*n.in(1)->constant)));
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(*copy, {positive(*x)}, &out, &error)) << error;
  return floats(*out[0]);
}

TEST(Bf16Scheme, ProductsWithinTheBound) {
  for (const char* text : {R"(
         input %x f32[3,70]
         %y = MatMul(%x, w[70,6])
       )",
                           R"(
         input %x f32[3,70]
         %y = Gemm(%x, w[6,70]) {trans_b:true}
       )",
                           R"(
         input %x f32[1,6,5,4]
         %y = Conv(%x, w[6,4,3,3]) {layout:1}
       )"}) {
    const auto g = graph(text);
    std::mt19937 rng(1);
    std::uniform_real_distribution<float> value(-3, 3);
    const TensorType type = g->inputs()[0]->type;
    std::vector<float> x(static_cast<size_t>(element_count(type.shape)));
    for (float& v : x) v = value(rng);
    const ir::ConstantPtr input = ir::make_constant_of<float>(DType::kF32, type.shape, x);
    std::vector<ir::ConstantPtr> before, after;
    std::string error;
    ASSERT_TRUE(ir::interpret(*g, {input}, &before, &error)) << error;
    const std::vector<float> most = magnitudes(*g, input);
    const std::string product = ops(*g);
    PassLog log, again;
    kBf16.run(*g, log);
    EXPECT_EQ(log.changes, 1u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(ops(*g), "Cast Cast Cast " + product);
    ASSERT_TRUE(ir::interpret(*g, {input}, &after, &error)) << error;
    const std::vector<float> was = floats(*before[0]), is = floats(*after[0]);
    ASSERT_EQ(was.size(), is.size());
    constexpr double kUnit = 0x1p-8;
    double worst = 0;
    for (size_t i = 0; i < is.size(); ++i) {
      const double d = std::fabs(static_cast<double>(is[i]) - was[i]);
      ASSERT_LE(d, (2 * kUnit + kUnit * kUnit) * most[i] + 1e-5) << i;
      worst = std::max(worst, d);
    }
    EXPECT_GT(worst, 1e-4);  // it does round
    kBf16.run(*g, again);
    EXPECT_EQ(again.changes, 0u);
  }
}

// Sums of magnitudes of a matrix' rows, the largest.
double largest_row(const ir::Constant& c, size_t columns) {
  const std::vector<float> v = floats(c);
  double most = 0;
  for (size_t row = 0; row < v.size(); row += columns) {
    double sum = 0;
    for (size_t k = 0; k < columns; ++k) sum += std::fabs(static_cast<double>(v[row + k]));
    most = std::max(most, sum);
  }
  return most;
}

// With |x| <= 1, |h| <= 1, |dh| and |dc| of the step before: |dz| <= (2 u + u^2) sum |w| + u sum |r| + (1 + u) sum |r|
// |dh|. Slopes of sigmoid and tanh are 1/4 and 1 at most, so that c = f c + i g moves by |dc| + |c| |dz| / 4 + |dz| +
// |dz| / 4, where |c| is below the number of steps, and h = o tanh c by |dz| / 4 + |dc|.
TEST(Bf16Scheme, LstmWithinTheBound) {
  const auto g = graph(R"(
    input %x f32[3,2,5]
    %y, %yh, %yc = LSTM(%x, w[2,16,5], r[2,16,4], b[2,32]) {direction:2}
  )");
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> x(30);
  for (float& v : x) v = value(rng);
  const ir::ConstantPtr input = ir::make_constant_of<float>(DType::kF32, g->inputs()[0]->type.shape, x);
  const double w = largest_row(*g->nodes().front().in(1)->constant, 5);
  const double r = largest_row(*g->nodes().front().in(2)->constant, 4);
  std::vector<ir::ConstantPtr> before, after;
  std::string error;
  ASSERT_TRUE(ir::interpret(*g, {input}, &before, &error)) << error;
  PassLog log, again;
  kBf16.run(*g, log);
  EXPECT_EQ(log.changes, 1u);
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(ops(*g), "Cast Cast Cast Cast LSTM");
  ASSERT_TRUE(ir::interpret(*g, {input}, &after, &error)) << error;
  constexpr double kUnit = 0x1p-8;
  double dh = 0, dc = 0;
  for (int step = 1; step <= 3; ++step) {
    const double dz = (2 * kUnit + kUnit * kUnit) * w + kUnit * r + (1 + kUnit) * r * dh;
    dc += dz * (step / 4.0 + 1.25);
    dh = dz / 4 + dc;
  }
  const double bounds[] = {dh, dh, dc};
  for (size_t o = 0; o < 3; ++o) {
    const std::vector<float> was = floats(*before[o]), is = floats(*after[o]);
    ASSERT_EQ(was.size(), is.size());
    double worst = 0;
    for (size_t i = 0; i < is.size(); ++i) worst = std::max(worst, std::fabs(static_cast<double>(is[i]) - was[i]));
    EXPECT_LE(worst, bounds[o]);
    EXPECT_GT(worst, 1e-5);  // it does round
  }
  kBf16.run(*g, again);
  EXPECT_EQ(again.changes, 0u);
}

// |dy| <= (exp(2 e) (1 + u)^2 - 1) sum a |v| + u |y|, and here |v| <= 1, so that sum a |v| and |y| are at most 1.
TEST(Bf16Scheme, AttentionWithinTheBound) {
  const auto g = graph(R"(
    input %q f32[1,2,9,16]
    input %k f32[1,2,40,16]
    input %v f32[1,2,40,16]
    %y = Attention(%q, %k, %v) {scale:0.25}
  )");
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<ir::ConstantPtr> inputs;
  for (const ir::Value* in : g->inputs()) {
    std::vector<float> x(static_cast<size_t>(element_count(in->type.shape)));
    for (float& v : x) v = value(rng);
    inputs.push_back(ir::make_constant_of<float>(DType::kF32, in->type.shape, x));
  }
  std::vector<ir::ConstantPtr> before, after;
  std::string error;
  ASSERT_TRUE(ir::interpret(*g, inputs, &before, &error)) << error;
  PassLog log, again;
  kBf16.run(*g, log);
  EXPECT_EQ(log.changes, 1u);
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(ops(*g), "Cast Cast Cast Attention Cast");
  ASSERT_TRUE(ir::interpret(*g, inputs, &after, &error)) << error;
  const std::vector<float> was = floats(*before[0]), is = floats(*after[0]);
  constexpr double kUnit = 0x1p-8, kMoved = (2 * kUnit + kUnit * kUnit) * 0.25 * 16;
  double worst = 0;
  for (size_t i = 0; i < is.size(); ++i) worst = std::max(worst, std::fabs(static_cast<double>(is[i]) - was[i]));
  EXPECT_LE(worst, std::exp(2 * kMoved) * (1 + kUnit) * (1 + kUnit) - 1 + kUnit);
  EXPECT_GT(worst, 1e-5);  // it does round
  kBf16.run(*g, again);
  EXPECT_EQ(again.changes, 0u);
}

TEST(Bf16Scheme, SharedWeightsStayShared) {
  const auto g = graph(R"(
    input %x f32[3,4]
    input %z f32[2,4]
    %a = MatMul(%x, w[4,6])
    %b = MatMul(%z, w[4,6])
  )");
  const ir::ConstantPtr one = g->nodes().front().in(1)->constant;
  g->set_input(&g->nodes().back(), 1, g->add_constant("w", one));
  PassLog log;
  kBf16.run(*g, log);
  EXPECT_EQ(log.changes, 2u);
  size_t constants = 0;
  for (const ir::Value& v : g->values()) constants += v.constant != nullptr && !v.unused() ? 1 : 0;
  EXPECT_EQ(constants, 1u);
}

TEST(Bf16Scheme, SaysWhatItLeaves) {
  const struct {
    const char* text;
    const char* reason;  // "": not its case
  } kCases[] = {
      {"%y = Conv(%x, w[4,2,3,3]) {layout:1, group:2}", "a convolution in groups: stays float32"},
      {"%y = Conv(%x, w[5,4,3,3])", "channels first: stays float32"},
      {"%y = Attention(%x, %x, %x)", "few queries: stays float32"},
      {"%y = Attention(%x, %x, %x) {left_window:2}", "with windows or lengths: stays float32"},
      {"%y = MatMul(%x, w[1,4,4,6])", "weights other than one matrix stay float32"},
      {"%y = MatMul(%x, %x)", "weights that are computed stay float32"},
      {"%y = MatMul(%x, f32[4,1]{1, 2, 3.4e38, 4})", "a weight is beyond bfloat16: stays float32"},
      {"%r = Reshape(%x, i64[2]{16,4})\n%y = Gemm(%r, w[16,6]) {trans_a:true}",
       "a transposed x, or a bias other than one value a column: stays float32"},
      {"%r = Reshape(%x, i64[2]{16,4})\n%y = Gemm(%r, w[4,6], b[16,1])",
       "a transposed x, or a bias other than one value a column: stays float32"},
      {"%s = Reshape(%x, i64[3]{4,4,4})\n%y, %h, %c = LSTM(%s, w[1,8,4], r[1,8,2]) {clip:1.0}",
       "with other functions, clip, peepholes or coupled gates: stays float32"},
      {"%s = Reshape(%x, i64[3]{4,4,4})\n%y, %h, %c = LSTM(%s, w[1,8,4], r[1,8,2]) {batch_first:true}",
       "batches first: stays float32"},
      {"%s = Reshape(%x, i64[3]{4,4,4})\n%y, %h, %c = LSTM(%s, w[1,8,4], r[1,8,2], _, i32[4]{4,4,3,4})",
       "with lengths: stays float32"},
      {"%s = Reshape(%x, i64[3]{4,4,4})\n%y, %h, %c = LSTM(%s, w[1,4,4], f32[1,4,1]{1, 3.4e38, 1, 1})",
       "a weight is beyond bfloat16: stays float32"},
      {"%y = Relu(%x)", ""},
  };
  for (const auto& c : kCases) {
    expect_left(kBf16, c.text, c.reason);
  }
}

TEST(Bf16Scheme, IsFoundByName) {
  EXPECT_EQ(find_scheme("bf16"), &kBf16);
  EXPECT_EQ(find_scheme("int3"), nullptr);
}

}  // namespace
}  // namespace vireo::quant::bf16_test

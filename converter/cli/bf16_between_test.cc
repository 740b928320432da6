// Which values quant/schemes/bf16 keeps in bfloat16 between nodes, on graphs that fuse_epilogue has fused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "converter/passes/fuse/fuse_attention.h"
#include "converter/passes/fuse/fuse_epilogue.h"
#include "converter/passes/pipeline.h"
#include "quant/schemes/bf16.h"

namespace vireo::bf16_between_test {
namespace {

std::unique_ptr<ir::Graph> graph(const std::string& text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

void fuse(ir::Graph& g) {
  PassLog log;
  quant::kBf16.run(g, log);
  PassLog passed;
  passes::run_pass(g, passes::kFuseAttention, passed);
  passes::run_pass(g, passes::kFuseEpilogue, passed);
}

// Results of nodes that are bfloat16, in the order of nodes: by the text's names.
std::string narrow(const ir::Graph& g) {
  std::string out;
  for (const ir::Node& n : g.nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v->type.dtype == DType::kBF16) out += (out.empty() ? "" : " ") + v->name;
    }
  }
  return out;
}

std::vector<float> floats(const ir::Constant& c) {
  std::vector<float> out(c.tensor.bytes.size() / sizeof(float));
  std::memcpy(out.data(), c.tensor.bytes.data(), c.tensor.bytes.size());
  return out;
}

std::vector<float> run(const ir::Graph& g) {
  const TensorType type = g.inputs()[0]->type;
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> x(static_cast<size_t>(element_count(type.shape)));
  for (float& v : x) v = value(rng);
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(g, {ir::make_constant_of<float>(DType::kF32, type.shape, x)}, &out, &error)) << error;
  return out.empty() ? std::vector<float>() : floats(*out[0]);
}

// `most`: of the largest result, what the roundings between nodes may move one by, beside those of the products.
void expect_kept(const std::string& text, const std::string& values, double most) {
  SCOPED_TRACE(text);
  const auto g = graph(text);
  ASSERT_NE(g, nullptr);
  fuse(*g);
  const std::vector<float> before = run(*g);
  PassLog log;
  quant::kBf16.after(*g, log);
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(narrow(*g), values);
  EXPECT_EQ(log.changes > 0, !values.empty());
  const std::vector<float> after = run(*g);
  ASSERT_EQ(after.size(), before.size());
  float largest = 0;
  for (const float v : before) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], before[i], most * largest) << i;
  PassLog again;
  const std::string printed = ir::print_graph(*g);
  quant::kBf16.after(*g, again);
  EXPECT_EQ(again.changes, 0u);
  EXPECT_EQ(ir::print_graph(*g), printed);
}

// What a product rounds anyway: not a bit changes.
TEST(Bf16Between, ProductsThatReadOneAnotherAlone) {
  expect_kept(R"(
    input %x f32[3,40]
    %a = MatMul(%x, w[40,30])
    %b = Relu(%a)
    %y = Gemm(%b, v[30,8], c[8])
  )",
              "b", 0);
  expect_kept(R"(
    input %x f32[1,6,6,4]
    %a = Conv(%x, w[8,4,3,3], b[8]) {layout:1, pads:[1,1,1,1]}
    %m = MaxPool(%a) {layout:1, kernel_shape:[2,2], strides:[2,2]}
    %y = Conv(%m, v[5,8,1,1]) {layout:1}
  )",
              "a m", 0);
  expect_kept(R"(
    input %x f32[1,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %b = Conv(%x, v[6,4,1,1]) {layout:1}
    %c = Concat(%a, %b) {axis:3}
    %d, %e = Split(%c, i64[2]{5,9}) {axis:3}
    %f = Conv(%d, u[3,5,1,1]) {layout:1}
    %g = Conv(%e, t[3,9,1,1]) {layout:1}
    %y = Add(%f, %g)
  )",
              "a b c d e f", 0x1p-8);
}

// A residual, a depthwise convolution and an average are rounded anew.
TEST(Bf16Between, RoundsOnceWhatWasNotRounded) {
  expect_kept(R"(
    input %x f32[1,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %b = Conv(%a, v[8,8,3,3]) {layout:1, pads:[1,1,1,1]}
    %s = Add(%b, %a)
    %r = Relu(%s)
    %y = Conv(%r, u[5,8,1,1]) {layout:1}
  )",
              "a r", 0x1p-6);
  expect_kept(R"(
    input %x f32[2,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %d = Conv(%a, k[8,1,3,3], b[8]) {layout:1, group:8, pads:[1,1,1,1]}
    %r = HardSwish(%d)
    %e = Conv(%r, l[8,1,3,3]) {layout:1, group:8}
    %y = Conv(%e, u[5,8,1,1]) {layout:1}
  )",
              "a r e", 0x1p-5);
  expect_kept(R"(
    input %x f32[2,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %g = GlobalAveragePool(%a) {layout:1}
    %f = Reshape(%g, i64[2]{2,8})
    %y = Gemm(%f, u[8,5])
  )",
              "a g f", 0x1p-7);
}

// Squeeze and excitation: the average, its products and the factor of each channel.
TEST(Bf16Between, ScalesChannels) {
  expect_kept(R"(
    input %x f32[2,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %g = GlobalAveragePool(%a) {layout:1}
    %s = Conv(%g, u[8,8,1,1]) {layout:1}
    %h = HardSigmoid(%s)
    %m = Mul(%h, %a)
    %y = Conv(%m, t[5,8,1,1]) {layout:1}
  )",
              "a g h m", 0x1p-5);
}

// Keys, values and the result of attention, which rounds all of them anyway; its queries stay.
TEST(Bf16Between, ReadByAttention) {
  expect_kept(R"(
    input %x f32[1,9,8]
    %q = MatMul(%x, w[8,8])
    %k = MatMul(%x, u[8,8])
    %v = MatMul(%x, t[8,8])
    %a = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}
    %y = MatMul(%a, s[8,3])
  )",
              "k v a", 0);
  // A result that something else reads, and keys that are a mask's operand too.
  expect_kept(R"(
    input %x f32[1,9,9]
    %q = MatMul(%x, w[9,9])
    %k = MatMul(%x, u[9,9])
    %v = MatMul(%x, t[9,9])
    %m = Reshape(%k, i64[4]{1,1,9,9})
    %a = Attention(%q, %k, %v, %m) {q_heads:1, kv_heads:1}
    %y = Softmax(%a)
  )",
              "v", 0);
}

// A normalisation that products alone multiply; one whose result is added, or whose factor is one for all, stays.
TEST(Bf16Between, NormsBeforeProducts) {
  expect_kept(R"(
    input %x f32[3,40]
    %n = LayerNormalization(%x, g[40], s[40])
    %a = MatMul(%n, w[40,30])
    %b = MatMul(%n, u[40,30])
    %y = Sub(%a, %b)
  )",
              "n", 0);
  expect_kept(R"(
    input %x f32[3,40]
    %n = RMSNormalization(%x, g[40])
    %y = Gemm(%n, w[40,30])
  )",
              "n", 0);
  expect_kept(R"(
    input %x f32[3,40]
    %n = LayerNormalization(%x, g[40], s[40])
    %a = MatMul(%n, w[40,40])
    %y = Add(%a, %n)
  )",
              "", 0);
  expect_kept(R"(
    input %x f32[3,40]
    %n = LayerNormalization(%x, g[1])
    %y = MatMul(%n, w[40,40])
  )",
              "", 0);
}

TEST(Bf16Between, LeavesWhatOthersRead) {
  expect_kept(R"(
    input %x f32[3,40]
    %a = MatMul(%x, w[40,30])
    %s = Softmax(%a)
    %y = MatMul(%s, v[30,8])
  )",
              "", 0);
  // An operand of Concat that is an input of the model: all of it stays.
  expect_kept(R"(
    input %x f32[3,40]
    %a = MatMul(%x, w[40,30])
    %c = Concat(%a, %x) {axis:1}
    %y = MatMul(%c, v[70,8])
  )",
              "", 0);
  expect_kept(R"(
    input %x f32[2,6,6,4]
    %a = Conv(%x, w[8,4,1,1]) {layout:1}
    %d = Conv(%a, k[8,1,3,3], b[8]) {layout:1, group:8, pads:[1,1,1,1]}
    %r = Sigmoid(%d)
    %y = Conv(%r, u[5,8,1,1]) {layout:1}
  )",
              "", 0);
  // A depthwise weight that bfloat16 has no finite number for.
  const auto large = graph(R"(
    input %x f32[1,2,2,4]
    %a = Conv(%x, w[2,4,1,1]) {layout:1}
    %d = Conv(%a, f32[2,1,1,1]{1, 3.4e38}) {layout:1, group:2}
    %y = Conv(%d, u[5,2,1,1]) {layout:1}
  )");
  ASSERT_NE(large, nullptr);
  fuse(*large);
  PassLog none;
  quant::kBf16.after(*large, none);
  EXPECT_EQ(narrow(*large), "");
  const auto g = graph("input %x f32[3,40]\n%a = MatMul(%x, w[40,30])\n%y = Softmax(%a)");
  ASSERT_NE(g, nullptr);
  fuse(*g);
  PassLog log;
  quant::kBf16.after(*g, log);
  ASSERT_EQ(log.declined.size(), 1u);
  EXPECT_EQ(log.declined[0].second, "read in float32 by Softmax");
}

}  // namespace
}  // namespace vireo::bf16_between_test

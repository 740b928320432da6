#include "quant/int8/attention.h"

#include <cmath>
#include <cstring>
#include <random>

#include "converter/ir/interpret.h"
#include "quant/int8/testing.h"
#include "quant/int8/unnamed.h"

namespace vireo::quant::attention_test {
namespace {

using testing::parsed;
using testing::plan_of;

using Left = std::vector<std::pair<const ir::Node*, std::string>>;

size_t spelled(ir::Graph& g, Left* left = nullptr) {
  Left none;
  return spell_attention(
      g, [](const ir::Node&) -> const char* { return nullptr; }, left == nullptr ? &none : left);
}

std::vector<float> run(const ir::Graph& g) {
  std::mt19937 rng(1);
  std::normal_distribution<float> value(0, 1);
  std::vector<ir::ConstantPtr> in, out;
  for (const ir::Value* v : g.inputs()) {
    std::vector<float> x(static_cast<size_t>(element_count(v->type.shape)));
    for (float& f : x) f = value(rng);
    in.push_back(ir::make_constant_of<float>(DType::kF32, v->type.shape, x));
  }
  std::string error;
  EXPECT_TRUE(ir::interpret(g, in, &out, &error)) << error;
  std::vector<float> y(out[0]->tensor.bytes.size() / sizeof(float));
  std::memcpy(y.data(), out[0]->tensor.bytes.data(), out[0]->tensor.bytes.size());
  return y;
}

std::string ops(const ir::Graph& g) {
  std::string out;
  for (const ir::Node& n : g.nodes()) out += (out.empty() ? "" : " ") + std::string(op_name(n.op));
  return out;
}

// Bound: two products of at most 8 terms of some 3, and a softmax: 100 roundings of numbers below 10.
void expect_same_answers(const std::string& text) {
  const auto g = parsed(text);
  const std::vector<float> before = run(*g);
  EXPECT_EQ(spelled(*g), 1u);
  EXPECT_EQ(g->validate(), "");
  const std::vector<float> after = run(*g);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-4f) << i;
}

TEST(SpellAttention, HeadsWithinTheLastAxis) {
  expect_same_answers(
      "input %q f32[2,5,6]\ninput %k f32[2,7,6]\ninput %v f32[2,7,8]\n"
      "%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y");
}

TEST(SpellAttention, HeadsBeforeRowsAndAScale) {
  expect_same_answers(
      "input %q f32[2,3,5,4]\ninput %k f32[2,3,7,4]\ninput %v f32[2,3,7,2]\n"
      "%y = Attention(%q, %k, %v) {scale:0.3}\noutput %y");
}

TEST(SpellAttention, OneProductOfAllIsDivided) {
  for (
      const char* text :
      {"input %x f32[1,5,4]\n%m = MatMul(%x, w[4,18])\n%a = Add(b[18], %m)\n"
       "%q, %k, %v = Split(%a, i64[3]{6,6,6}) {axis:-1}\n%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y",
       "input %x f32[5,4]\n%a = Gemm(%x, w[18,4], b[18]) {trans_b:true}\n%r = Reshape(%a, i64[3]{1,5,18})\n"
       "%q, %k, %v = Split(%r, i64[3]{6,6,6}) {axis:2}\n%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y"})
    expect_same_answers(text);
  const auto g = parsed(
      "input %x f32[1,5,4]\n%m = MatMul(%x, w[4,18])\n%a = Add(%m, b[18])\n"
      "%q, %k, %v = Split(%a, i64[3]{6,6,6}) {axis:-1}\n%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y");
  EXPECT_EQ(spelled(*g), 1u);
  EXPECT_EQ(ops(*g).find("Split"), std::string::npos) << ops(*g);
  const Plan plan = plan_of(*g);
  EXPECT_EQ(plan.layers.size(), 3u);
  ASSERT_EQ(plan.pairs.size(), 2u);
  EXPECT_TRUE(plan.values[plan.pairs[0].result].scores);
  EXPECT_EQ(plan.values[plan.pairs[0].result].value->name, "y_scaled");
  EXPECT_TRUE(plan.values[plan.pairs[1].a].bounded);
  EXPECT_EQ(plan.values[plan.pairs[1].a].high, 1);
}

TEST(SpellAttention, WhatTakesMoreThanProductsStays) {
  const struct {
    const char *nodes, *why;
  } kCases[] = {
      {"%y = Attention(%q, %k, %v, m[5,7]) {q_heads:2, kv_heads:2}", "its mask adds numbers"},
      {"%y = Attention(%q, %k, %v, f32[1,7]{0,0,0,-3,0,0,-1e9}) {q_heads:2, kv_heads:2}", "its mask adds numbers"},
      {"%y = Attention(%q, %k, %v, f32[1,5]{0,0,0,0,-1e9}) {q_heads:2, kv_heads:2}", "does not list every key"},
      {"%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2, softcap:2}", "soft cap"},
      {"%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2, scale:-1}", "positive"},
      {"%y = Attention(%q, %k, %v) {q_heads:6, kv_heads:6, left_window:1}", "a window of keys"},
  };
  for (const auto& c : kCases) {
    const auto g = parsed("input %q f32[2,5,6]\ninput %k f32[2,7,6]\ninput %v f32[2,7,6]\n" + std::string(c.nodes) +
                          "\noutput %y");
    Left left;
    EXPECT_EQ(spelled(*g, &left), 0u) << c.nodes;
    EXPECT_EQ(ops(*g), "Attention");
    ASSERT_EQ(left.size(), 1u);
    EXPECT_NE(left[0].second.find(c.why), std::string::npos) << left[0].second;
  }
  const auto open = parsed(
      "input %q f32[2,S,6]\ninput %k f32[2,S,6]\ninput %v f32[2,S,6]\n"
      "%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y");
  Left left;
  EXPECT_EQ(spelled(*open, &left), 1u);  // shares sum to one, however many there are
  EXPECT_EQ(plan_of(*open).pairs.size(), 2u);
  const auto grouped = parsed(
      "input %q f32[2,5,6]\ninput %k f32[2,7,3]\ninput %v f32[2,7,3]\ninput %m bool[2,2,5,7]\n"
      "%y = Attention(%q, %k, %v, %m) {q_heads:2, kv_heads:1}\noutput %y");
  EXPECT_EQ(spelled(*grouped, &left), 0u);
  EXPECT_NE(left[0].second.find("tells heads apart"), std::string::npos) << left[0].second;
}

// Heads that share keys are more queries of one head, and see what their query sees.
TEST(SpellAttention, QueriesThatShareKeys) {
  const std::string packed =
      "input %q f32[2,5,12]\ninput %k f32[2,7,6]\ninput %v f32[2,7,8]\n%y = Attention(%q, %k, %v";
  const std::string apart =
      "input %q f32[2,6,5,4]\ninput %k f32[2,2,7,4]\ninput %v f32[2,2,7,3]\n%y = Attention(%q, %k, %v";
  for (const std::string& text :
       {packed + ") {q_heads:4, kv_heads:2}\noutput %y", packed + ") {q_heads:4, kv_heads:2, causal:true}\noutput %y",
        packed + ", f32[1,7]{0,0,-1e9,0,0,-65504,0}) {q_heads:4, kv_heads:2}\noutput %y", apart + ") {}\noutput %y",
        apart + ", bool[2,1,1,7]{1,0,0,1,1,1,1,1,1,1,1,0,0,0}) {causal:true}\noutput %y"}) {
    SCOPED_TRACE(text);
    expect_same_answers(text);
  }
  const auto g = parsed(
      "input %q f32[2,S,12]\ninput %k f32[2,S,6]\ninput %v f32[2,S,6]\n"
      "%y = Attention(%q, %k, %v) {q_heads:4, kv_heads:2, causal:true}\noutput %y");
  Left left;
  EXPECT_EQ(spelled(*g, &left), 1u) << left[0].second;
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(plan_of(*g).pairs.size(), 2u);
}

// Masks choose among keys, so their numbers are not in the codes of scores.
TEST(SpellAttention, MasksThatOnlyChoose) {
  const std::string inputs = "input %q f32[2,5,6]\ninput %k f32[2,7,6]\ninput %v f32[2,7,6]\n";
  for (const char* nodes :
       {"%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2, causal:true}",
        "%y = Attention(%q, %k, %v, f32[1,7]{0,0,-1e9,0,0,-65504,0}) {q_heads:2, kv_heads:2}",
        "%y = Attention(%q, %k, %v, f32[1,7]{0,0,-1e9,0,-inf,0,0}) {q_heads:2, kv_heads:2, causal:true}",
        "%y = Attention(%q, %k, %v, bool[2,1,1,7]{1,0,0,1,1,1,1,1,1,1,1,0,0,0}) {q_heads:2, kv_heads:2}",
        "%c = Cast(bool[1,7]{1,1,1,1,0,0,0}) {to:1}\n%r = Sub(f32[]{1}, %c)\n"
        "%n = Mul(%r, f32[]{-1e9})\n%y = Attention(%q, %k, %v, %n) {q_heads:2, kv_heads:2}"}) {
    SCOPED_TRACE(nodes);
    expect_same_answers(inputs + nodes + "\noutput %y");
  }
  // However long the way is on which it is made; many ways to one node are not all walked.
  std::string turned = inputs + "%c0 = Cast(bool[1,7]{1,1,1,1,0,0,0}) {to:1}\n";
  for (int i = 1; i <= 41; ++i)
    turned += "%c" + std::to_string(i) + " = Sub(f32[]{1}, %c" + std::to_string(i - 1) + ")\n";
  turned += "%m0 = Mul(%c41, f32[]{-1e9})\n";
  expect_same_answers(turned + "%y = Attention(%q, %k, %v, %m0) {q_heads:2, kv_heads:2}\noutput %y");
  for (int i = 1; i <= 24; ++i) {
    const std::string before = "%m" + std::to_string(i - 1);
    turned.append("%m").append(std::to_string(i)).append(" = Add(").append(before).append(", ").append(before);
    turned += ")\n";
  }
  const auto ways = parsed(turned + "%y = Attention(%q, %k, %v, %m24) {q_heads:2, kv_heads:2}\noutput %y");
  EXPECT_EQ(spelled(*ways), 0u);
  // How many queries there are may be open.
  const auto g = parsed(
      "input %x f32[1,S,4]\n%q = MatMul(%x, w[4,4])\n%k = MatMul(%x, v[4,4])\n%v = MatMul(%x, u[4,4])\n"
      "%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2, causal:true}\n%z = MatMul(%y, t[4,4])\noutput %z");
  EXPECT_EQ(spelled(*g), 1u);
  EXPECT_NE(ops(*g).find("ConstantOfShape Trilu Where Softmax"), std::string::npos) << ops(*g);
  const Plan plan = plan_of(*g);
  ASSERT_EQ(plan.pairs.size(), 2u);
  EXPECT_TRUE(plan.values[plan.pairs[0].result].scores);
  for (const CodedValue& v : plan.values)
    EXPECT_TRUE(v.value->producer == nullptr || v.value->producer->op != Op::kWhere);
}

TEST(SpellAttention, ARecipeKeepsIt) {
  const auto g = parsed(
      "input %q f32[2,5,6]\ninput %k f32[2,7,6]\ninput %v f32[2,7,6]\n"
      "%y = Attention(%q, %k, %v) {q_heads:2, kv_heads:2}\noutput %y");
  Left left;
  EXPECT_EQ(spell_attention(
                *g, [](const ir::Node&) { return "as it is"; }, &left),
            0u);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].second, "as it is");
}

// Ranges of a recipe go by names.
TEST(SpellAttention, ValuesThatPassesLeftGetNames) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Relu(%x)\n%b = Relu(%a)\n%y = Relu(%b)\noutput %y");
  for (ir::Node& n : g->nodes()) n.out()->name = n.out()->name == "y" ? "a_result" : "";
  name_values(*g);
  std::string names;
  for (const ir::Node& n : g->nodes()) names += n.out()->name + " ";
  EXPECT_EQ(names, "a_result2 b_result a_result ");
}

// A product of two values stays with its neighbours: where a mask keeps its scores in float, it does too.
TEST(SpellAttention, PairsStayWhereTheirNeighboursDo) {
  const auto masked = parsed(
      "input %x f32[4,4]\ninput %m f32[4,4]\n%q = MatMul(%x, w[4,4])\n%k = MatMul(%x, v[4,4])\n%s = MatMul(%q, %k)\n"
      "%a = Add(%s, %m)\n%p = Softmax(%a)\n%u = MatMul(%x, u[4,4])\n%o = MatMul(%p, %u)\n%y = MatMul(%o, t[4,4])\n"
      "output %y");
  EXPECT_TRUE(plan_of(*masked).pairs.empty());
  const auto plain = parsed(
      "input %x f32[4,4]\n%q = MatMul(%x, w[4,4])\n%k = MatMul(%x, v[4,4])\n%s = MatMul(%q, %k)\n%y = MatMul(%s, "
      "u[4,4])\n"
      "output %y");
  EXPECT_EQ(plan_of(*plain).pairs.size(), 1u);
}

}  // namespace
}  // namespace vireo::quant::attention_test

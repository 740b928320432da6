#include "quant/schemes/dynamic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "converter/ir/interpret.h"
#include "quant/schemes/testing.h"

namespace vireo::quant::dynamic_test {
namespace {

using testing::expect_left;
using testing::floats;
using testing::graph;
using testing::ops;

std::vector<float> normal(size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> x(count);
  for (float& v : x) v = value(rng);
  return x;
}

void fill_weights(ir::Graph& g) {
  uint32_t seed = 1;
  for (ir::Node& n : g.nodes()) {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      const ir::Value* v = n.in(i);
      if (v == nullptr || v->constant == nullptr || v->type.dtype != DType::kF32) continue;
      const std::vector<float> x = normal(static_cast<size_t>(v->constant->tensor.count()), ++seed);
      g.set_input(&n, i, g.add_constant(v->name, ir::make_constant_of<float>(DType::kF32, v->type.shape, x)));
    }
  }
}

std::vector<float> run(const ir::Graph& g) {
  const Shape shape = g.inputs()[0]->type.shape;
  const std::vector<float> x = normal(static_cast<size_t>(element_count(shape)), 99);
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(g, {ir::make_constant_of<float>(DType::kF32, shape, x)}, &out, &error)) << error;
  return out.empty() ? std::vector<float>{} : floats(*out[0]);
}

// Sums of k terms of two normal numbers: x in steps of some 6 / 255, w of some 2.5 / 127, each off by half of it at
// most. |dy| <= k (E|w| sx / 2 + E|x| sw / 2), of which chance leaves far less than the half.
TEST(Int8Dynamic, NearTheFloatProduct) {
  const struct {
    const char *text, *after;
    double terms;
  } kCases[] = {
      {"input %x f32[5,40]\n%y = MatMul(%x, w[40,7])\noutput %y", "DynamicQuantizeLinear MatMulInteger Cast Mul Mul",
       40},
      {"input %x f32[2,3,40]\n%y = MatMul(%x, w[40,7])\noutput %y", "DynamicQuantizeLinear MatMulInteger Cast Mul Mul",
       40},
      {"input %x f32[5,40]\n%y = Gemm(%x, w[7,40], b[7]) {trans_b:true}\noutput %y",
       "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Add", 40},
      {"input %x f32[1,4,6,6]\n%y = Conv(%x, w[6,4,3,3], b[6]) {pads:[1,1,1,1]}\noutput %y",
       "DynamicQuantizeLinear ConvInteger Cast Mul Mul Add", 36},
      {"input %x f32[1,4,6]\n%y = Conv(%x, w[8,1,3]) {group:4, strides:[2]}\noutput %y",
       "DynamicQuantizeLinear ConvInteger Cast Mul Mul", 3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto g = graph(c.text);
    ASSERT_NE(g, nullptr);
    fill_weights(*g);
    const std::vector<float> before = run(*g);
    PassLog log, again;
    kInt8Dynamic.run(*g, log);
    EXPECT_EQ(log.changes, 1u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(ops(*g), c.after);
    EXPECT_EQ(g->outputs()[0]->name, "y");
    ASSERT_EQ(log.errors.size(), 1u);
    EXPECT_GT(log.errors[0].sqnr_db, 35);
    const std::vector<float> after = run(*g);
    ASSERT_EQ(before.size(), after.size());
    double most = 0;
    for (size_t i = 0; i < before.size(); ++i)
      most = std::max(most, std::fabs(static_cast<double>(before[i]) - static_cast<double>(after[i])));
    EXPECT_LT(most, c.terms * 0.5 * (6.0 / 255 + 2.5 / 127) / 2);
    EXPECT_GT(most, 0);
    kInt8Dynamic.run(*g, again);
    EXPECT_EQ(again.changes, 0u);
  }
}

TEST(Int8Dynamic, WhatSeveralProductsReadIsQuantizedOnce) {
  const auto g =
      graph("input %x f32[2,4]\n%a = MatMul(%x, w[4,4])\n%b = MatMul(%x, v[4,4])\n%y = Add(%a, %b)\noutput %y");
  PassLog log;
  kInt8Dynamic.run(*g, log);
  EXPECT_EQ(log.changes, 2u);
  const std::string now = ops(*g);
  EXPECT_EQ(now.find("DynamicQuantizeLinear"), now.rfind("DynamicQuantizeLinear"));
}

// A table that is the head as well is there once, in the head's order.
TEST(Int8Dynamic, ATableThatIsTheHeadHasItsCodesOnce) {
  for (const char* const head : {"%y = Gemm(%r, t[20,8]) {trans_b: true}", "%y = MatMul(%r, u[8,20])"}) {
    const auto g = graph(std::string("input %i i64[3]\n%x = Gather(t[20,8], %i)\n%r = Relu(%x)\n") + head +
                         "\noutput %x\noutput %y");
    fill_weights(*g);
    ir::Value* const table = g->nodes().front().in(0);
    const ir::ConstantPtr before = table->constant;
    ir::Node& product = g->nodes().back();
    if (product.op == Op::kGemm) {
      g->set_input(&product, 1, table);
    } else {
      std::vector<float> turned(160), rows(160);
      std::memcpy(rows.data(), before->tensor.bytes.data(), sizeof(float) * rows.size());
      for (size_t i = 0; i < 160; ++i) turned[i % 8 * 20 + i / 8] = rows[i];
      g->set_input(&product, 1,
                   g->add_constant("u", ir::make_constant_of<float>(DType::kF32, product.in(1)->type.shape, turned)));
    }
    g->drop_unused_values();
    PassLog log;
    kInt8Dynamic.run(*g, log);
    EXPECT_EQ(log.changes, 2u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(ops(*g),
              "Gather Transpose Gather DequantizeLinear Relu DynamicQuantizeLinear MatMulInteger Cast Mul Mul");
    EXPECT_EQ(log.errors.size(), 1u);
    const ir::Constant *multiplied = nullptr, *looked_up = nullptr;
    for (const ir::Node& n : g->nodes()) {
      if (n.op == Op::kMatMulInteger) multiplied = n.in(1)->constant.get();
      if (n.op == Op::kGather && looked_up == nullptr) looked_up = n.in(0)->constant.get();
    }
    EXPECT_EQ(multiplied, looked_up);
    // A row is what it was, to half a step of its largest weight.
    std::vector<int64_t> places = {19, 0, 7};
    Shape shape;
    shape.rank = 1;
    shape[0] = 3;
    std::vector<ir::ConstantPtr> values;
    std::string error;
    ASSERT_TRUE(ir::interpret(*g, {ir::make_constant_of<int64_t>(DType::kI64, shape, places)}, &values, &error))
        << error;
    const auto* const was = reinterpret_cast<const float*>(before->tensor.bytes.data());
    const auto* const now = reinterpret_cast<const float*>(values[0]->tensor.bytes.data());
    for (int64_t i = 0; i < 24; ++i) {
      const float* const row = was + places[static_cast<size_t>(i / 8)] * 8;
      float most = 0;
      for (int k = 0; k < 8; ++k) most = std::max(most, std::fabs(row[k]));
      EXPECT_NEAR(now[i], row[i % 8], 0.501f * most / 127) << i;
    }
  }
}

// Tokens name rows of codes, which have a scale each.
TEST(Int8Dynamic, TablesOfTokens) {
  const auto g = graph("input %i i64[1,3]\n%x = Gather(t[20,8], %i)\n%y = MatMul(%x, w[8,4])\noutput %y");
  fill_weights(*g);
  PassLog log;
  kInt8Dynamic.run(*g, log);
  EXPECT_EQ(log.changes, 2u);
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(ops(*g), "Gather Gather DequantizeLinear DynamicQuantizeLinear MatMulInteger Cast Mul Mul");
  ASSERT_EQ(log.errors.size(), 2u);
  for (const auto& error : log.errors) EXPECT_GT(error.sqnr_db, 35);
  // Places that are counted are few, and stay as they are.
  const auto places = graph("input %x f32[1,3,8]\n%s = Shape(%x)\n%p = Gather(t[20,8], %s)\noutput %p");
  PassLog left;
  kInt8Dynamic.run(*places, left);
  EXPECT_EQ(left.changes, 0u);
}

TEST(Int8Dynamic, WhatIsLeftAndWhy) {
  expect_left(kInt8Dynamic, "%y = ConvTranspose(%x, w[4,2,2,2])\noutput %y",
              "there is no integer form of it whose values are quantized in the run: stays float32");
  expect_left(kInt8Dynamic, "%y = MatMul(%x, %x)\noutput %y", "weights that are computed stay float32");
  expect_left(kInt8Dynamic, "%y = MatMul(%x, w[4,4,2])\noutput %y", "weights other than one matrix stay float32");
  expect_left(kInt8Dynamic, "%y = MatMul(%x, f32[4,1]{1,nan,1,1})\noutput %y", "a weight is not finite: stays float32");
  expect_left(kInt8Dynamic, "%y = Relu(%x)\noutput %y", "");
}

TEST(Int8Dynamic, StandsBeforeTheQuantizedPasses) {
  ASSERT_EQ(find_scheme("int8-dynamic"), &kInt8Dynamic);
  EXPECT_EQ(stages_of(kInt8Dynamic)[0]->place(), StagePlace::kBeforeQuantized);
}

}  // namespace
}  // namespace vireo::quant::dynamic_test

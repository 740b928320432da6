#include "quant/schemes/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "quant/schemes/testing.h"
#include "sdk/ops/op.h"

namespace vireo::quant::weights_test {
namespace {

using testing::expect_left;
using testing::floats;
using testing::graph;
using testing::ops;

ir::ConstantPtr normal(const Shape& shape, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> x(static_cast<size_t>(element_count(shape)));
  for (float& v : x) v = value(rng);
  return ir::make_constant_of<float>(DType::kF32, shape, x);
}

// What the product makes of the unit matrix: the weights as it has them, [K, N].
std::vector<float> weights_of(const ir::Graph& g) {
  const Shape shape = g.inputs()[0]->type.shape;
  std::vector<float> unit(static_cast<size_t>(shape[0] * shape[1]));
  for (int64_t i = 0; i < shape[0]; ++i) unit[static_cast<size_t>(i * shape[1] + i)] = 1;
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(g, {ir::make_constant_of<float>(DType::kF32, shape, unit)}, &out, &error)) << error;
  return floats(*out[0]);
}

struct Case {
  const char* text;
  bool transposed;
};
const Case kCases[] = {
    {"input %x f32[70,70]\n%y = MatMul(%x, w[70,6])", false},
    {"input %x f32[70,70]\n%y = Gemm(%x, w[6,70]) {trans_b:true}", true},
    {"input %x f32[20,20]\n%y = Gemm(%x, w[20,6], f32[6]{0,0,0,0,0,0})", false},
};

// Each weight within half a step, but for what int4 cuts off; the report's figure is the weights' own.
TEST(WeightSchemes, WeightsWithinHalfAStep) {
  for (const Case& c : kCases) {
    for (const Scheme* scheme : {&kInt4, &kInt8Weights}) {
      const auto g = graph(c.text);
      ir::Node& product = g->nodes().front();
      g->set_input(&product, 1, g->add_constant("w", normal(product.in(1)->type.shape, 5)));
      const std::string was = ops(*g);
      const std::vector<float> before = weights_of(*g);
      PassLog log, again;
      scheme->run(*g, log);
      EXPECT_EQ(log.changes, 1u);
      EXPECT_EQ(g->validate(), "");
      EXPECT_EQ(ops(*g), (scheme == &kInt4 ? "Cast DequantizeLinear " : "DequantizeLinear ") + was);
      const std::vector<float> after = weights_of(*g);
      ASSERT_EQ(before.size(), after.size());
      const int64_t n = 6, k = static_cast<int64_t>(before.size()) / n;
      double signal = 0, noise = 0, plain = 0;  // plain: of int4 whose scales are the largest over 7
      for (int64_t j = 0; j < n; ++j) {
        const int64_t block = scheme == &kInt4 ? 32 : k;
        for (int64_t first = 0; first < k; first += block) {
          float most = 0;
          for (int64_t i = first; i < k && i < first + block; ++i)
            most = std::max(most, std::fabs(before[static_cast<size_t>(i * n + j)]));
          // int4: no scale is above a 5th of the largest, and what is cut off is off by less than the largest's third.
          const double step = scheme == &kInt4 ? most / 5 : most / 127;
          for (int64_t i = first; i < k && i < first + block; ++i) {
            const double w = before[static_cast<size_t>(i * n + j)], d = after[static_cast<size_t>(i * n + j)] - w;
            signal += w * w;
            noise += d * d;
            const double coarse = std::nearbyint(w * 7 / most) * most / 7 - w;
            plain += coarse * coarse;
            ASSERT_LE(std::fabs(d), scheme == &kInt4 && std::fabs(w) > 0.6 * most ? most / 3 : step * 0.50001);
          }
        }
      }
      ASSERT_EQ(log.errors.size(), 1u);
      const double sqnr = 10 * std::log10(signal / noise);
      EXPECT_NEAR(log.errors[0].sqnr_db, sqnr, 0.01);
      if (scheme == &kInt4) {
        EXPECT_GT(sqnr, 10 * std::log10(signal / plain) + 0.5);  // the search pays
      } else {
        EXPECT_GT(sqnr, 40);
      }
      scheme->run(*g, again);
      EXPECT_EQ(again.changes, 0u);
    }
  }
}

// What 4 bits hold exactly stays exact.
TEST(WeightSchemes, CodesStayWhatTheyAre) {
  const auto g = graph("input %x f32[64,64]\n%y = MatMul(%x, w[64,3])");
  std::mt19937 rng(3);
  std::vector<float> w(64 * 3);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.125f * (static_cast<float>(rng() % 16) - 8);
  for (size_t j = 0; j < 6; ++j) w[(j / 3 * 32) * 3 + j % 3] = 0.125f * 7, w[(j / 3 * 32 + 5) * 3 + j % 3] = -1;
  ir::Node& product = g->nodes().front();
  g->set_input(&product, 1,
               g->add_constant("w", ir::make_constant_of<float>(DType::kF32, product.in(1)->type.shape, w)));
  PassLog log;
  kInt4.run(*g, log);
  EXPECT_EQ(weights_of(*g), w);
  ASSERT_EQ(log.errors.size(), 1u);
  EXPECT_EQ(log.errors[0].sqnr_db, INFINITY);
}

TEST(WeightSchemes, SharedWeightsStayShared) {
  const auto g = graph(R"(
    input %x f32[3,4]
    input %z f32[2,4]
    %a = MatMul(%x, w[4,6])
    %b = MatMul(%z, w[4,6])
  )");
  g->set_input(&g->nodes().back(), 1, g->add_constant("w", g->nodes().front().in(1)->constant));
  PassLog log;
  kInt8Weights.run(*g, log);
  EXPECT_EQ(log.changes, 2u);
  EXPECT_EQ(log.errors.size(), 1u);
  size_t constants = 0;
  for (const ir::Value& v : g->values()) constants += v.constant != nullptr && !v.unused() ? 1 : 0;
  EXPECT_EQ(constants, 2u);  // codes and scales
}

// y of the ids 0, 1, ... n - 1: a table as the graph has it.
std::vector<float> rows_of(const ir::Graph& g, int64_t n) {
  std::vector<int64_t> ids(static_cast<size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  Shape shape;
  shape.rank = 1;
  shape[0] = n;
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(g, {ir::make_constant_of<int64_t>(DType::kI64, shape, ids)}, &out, &error)) << error;
  return floats(*out[0]);
}

TEST(WeightSchemes, RowsOfATableAreTakenAsCodes) {
  for (const Scheme* scheme : {&kInt4, &kInt8Weights}) {
    const auto g = graph("input %ids i64[50]\n%y = Gather(w[50,72], %ids)\noutput %y");
    ir::Node& lookup = g->nodes().front();
    g->set_input(&lookup, 0, g->add_constant("w", normal(lookup.in(0)->type.shape, 9)));
    const std::vector<float> before = rows_of(*g, 50);
    PassLog log, again;
    scheme->run(*g, log);
    EXPECT_EQ(log.changes, 1u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(ops(*g), scheme == &kInt4 ? "Gather Gather Cast DequantizeLinear" : "Gather Gather DequantizeLinear");
    const std::vector<float> after = rows_of(*g, 50);
    ASSERT_EQ(after.size(), before.size());
    double signal = 0, noise = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      signal += static_cast<double>(before[i]) * static_cast<double>(before[i]);
      noise += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    }
    ASSERT_EQ(log.errors.size(), 1u);
    EXPECT_NEAR(log.errors[0].sqnr_db, 10 * std::log10(signal / noise), 0.01);
    EXPECT_GT(log.errors[0].sqnr_db, scheme == &kInt4 ? 21.0 : 40.0);
    scheme->run(*g, again);
    EXPECT_EQ(again.changes, 0u);
  }
}

size_t constant_bytes(const ir::Graph& g) {
  size_t bytes = 0;
  for (const ir::Value& v : g.values())
    bytes += v.constant != nullptr && !v.unused() ? v.constant->tensor.bytes.size() : 0;
  return bytes;
}

// A product multiplies the table turned, or as it is.
TEST(WeightSchemes, ATableThatIsTheHeadIsStoredOnce) {
  for (const bool turned : {true, false}) {
    const auto g = graph(std::string("input %ids i64[50]\n%x = Gather(w[50,64], %ids)\n%y = ") +
                         (turned ? "MatMul(%x, v[64,50])" : "Gemm(%x, w[50,64]) {trans_b:true}") + "\noutput %y");
    ir::Node &lookup = g->nodes().front(), &product = g->nodes().back();
    const ir::ConstantPtr table = normal(lookup.in(0)->type.shape, 9);
    ir::ConstantPtr head = table;
    if (turned) {
      const std::vector<float> from = floats(*table);
      std::vector<float> to(from.size());
      for (size_t i = 0; i < from.size(); ++i) to[i % 64 * 50 + i / 64] = from[i];
      head = ir::make_constant_of<float>(DType::kF32, product.in(1)->type.shape, to);
    }
    g->set_input(&lookup, 0, g->add_constant("w", table));
    g->set_input(&product, 1, g->add_constant("v", head));
    PassLog log;
    kInt4.run(*g, log);
    EXPECT_EQ(log.changes, 2u);
    EXPECT_EQ(log.errors.size(), 1u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(constant_bytes(*g), 50u * 64 / 2 + 50u * 2 * 2);  // codes, and two scales of float16 a row
    // Codes are read alike on both sides: row i times row i is the square of its length.
    const auto rows = graph("input %ids i64[50]\n%y = Gather(w[50,64], %ids)\noutput %y");
    rows->set_input(&rows->nodes().front(), 0, rows->add_constant("w", table));
    PassLog unused;
    kInt4.run(*rows, unused);
    const std::vector<float> x = rows_of(*rows, 50), y = rows_of(*g, 50);
    for (size_t i = 0; i < 50; ++i) {
      double square = 0;
      for (size_t k = 0; k < 64; ++k) square += static_cast<double>(x[i * 64 + k]) * static_cast<double>(x[i * 64 + k]);
      EXPECT_NEAR(y[i * 50 + i], square, 1e-4 * square);
    }
  }
}

TEST(WeightSchemes, OtherTablesStayAsTheyAre) {
  const struct {
    const char* text;
    const char* reason;
  } kLeft[] = {
      {"%s = Shape(%x)\n%y = Gather(w[9,64], %s)", "a table of places, not of what the caller names: float32"},
      {"input %ids i64[4]\n%c = Gather(w[9,4], %ids)\n%y = Mul(%x, %c)", "a table of factors: stays float32"},
      {"input %ids i64[4]\n%y = Gather(w[9,4,2], %ids)", ""},
      {"input %ids i64[4]\n%y = Gather(w[9,4], %ids) {axis:1}", ""},
  };
  for (const auto& c : kLeft) expect_left(kInt4, c.text, c.reason);
}

// Blocks of weights that float16 would lose keep float32 scales.
TEST(WeightSchemes, ScalesBelowFloat16StayFloat32) {
  const auto g = graph("input %x f32[64,64]\n%y = MatMul(%x, w[64,3])");
  ir::Node& product = g->nodes().front();
  std::vector<float> w = floats(*normal(product.in(1)->type.shape, 4));
  for (size_t i = 0; i < 32; ++i) w[i * 3] *= 1e-6f;
  g->set_input(&product, 1,
               g->add_constant("w", ir::make_constant_of<float>(DType::kF32, product.in(1)->type.shape, w)));
  PassLog log;
  kInt4.run(*g, log);
  EXPECT_EQ(ops(*g), "DequantizeLinear MatMul");
  const std::vector<float> after = weights_of(*g);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(after[i * 3], w[i * 3], 4e-7f);
}

TEST(WeightSchemes, SayWhatTheyLeave) {
  const struct {
    const char* text;
    const char* reason;  // "": not its case
  } kLeft[] = {
      {"%y = MatMul(%x, w[1,4,4,6])", "weights other than one matrix stay float32"},
      {"%y = MatMul(%x, %x)", "weights that are computed stay float32"},
      {"%y = MatMul(%x, f32[4,1]{1, 2, inf, 4})", "a weight is not finite: stays float32"},
      {"%r = Reshape(%x, i64[2]{16,4})\n%y = Gemm(%r, w[16,6]) {trans_a:true}",
       "a transposed x, or a bias other than one value a column: stays float32"},
      {"%y = Conv(%x, w[4,4,3,3])", "weights of a convolution stay float32"},
      {"%y = Conv(%x, %x)", ""},
      {"%y = Relu(%x)", ""},
  };
  for (const auto& c : kLeft) {
    expect_left(kInt4, c.text, c.reason);
  }
}

TEST(Schemes, AreFoundByName) {
  std::string names;
  for (const Scheme* s : schemes()) {
    EXPECT_EQ(find_scheme(s->name), s);
    EXPECT_GT(std::string(s->about).size(), 0u) << s->name;
    names += (names.empty() ? "" : ", ") + std::string(s->name);
  }
  EXPECT_EQ(scheme_names(), names);
  EXPECT_EQ(find_scheme("int8-weights"), &kInt8Weights);
  EXPECT_EQ(find_scheme("int"), nullptr);
}

TEST(Schemes, AreStagesOfThePipeline) {
  const Stages one = stages_of(kInt4);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]->place(), StagePlace::kBeforeFusion);
  EXPECT_EQ(one[0]->name(), "quantize_int4");
  EXPECT_EQ(one[0]->title(), "quantize to int4");
  EXPECT_EQ(one[0]->check_atol(), kInt4.check_atol);
  const Stages two = stages_of(*find_scheme("bf16"));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1]->place(), StagePlace::kAfterFusion);
  EXPECT_EQ(two[1]->name(), "quantize_bf16_between");

  const auto g = graph("input %x f32[64,64]\n%y = MatMul(%x, w[64,3])");
  PassLog log;
  std::string tensor;
  log.progress = [&](const std::string& name, double) { tensor = name; };
  one[0]->run(*g, log);
  EXPECT_EQ(log.changes, 1u);
  EXPECT_EQ(log.errors.size(), 1u);
  EXPECT_EQ(tensor, "w");
}

}  // namespace
}  // namespace vireo::quant::weights_test

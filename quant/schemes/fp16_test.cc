#include "quant/schemes/fp16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "quant/schemes/testing.h"
#include "sdk/ops/op.h"

namespace vireo::quant::fp16_test {
namespace {

using testing::expect_left;
using testing::floats;
using testing::graph;
using testing::ops;

// The first node with its weights w replaced by f(w), and |x| in place of x.
template <class F>
std::vector<float> bounds(const ir::Graph& g, const ir::ConstantPtr& x, const F& f) {
  const auto copy = g.clone();
  const auto changed = [](const ir::Constant& c, const auto& by) {
    std::vector<float> v = floats(c);
    for (float& value : v) value = by(value);
    return ir::make_constant_of<float>(DType::kF32, c.tensor.type.shape, v);
  };
  ir::Node& n = copy->nodes().front();
  copy->set_input(&n, 1, copy->add_constant("", changed(*n.in(1)->constant, f)));
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(*copy, {changed(*x, [](float v) { return std::fabs(v); })}, &out, &error)) << error;
  return floats(*out[0]);
}

TEST(Fp16Scheme, ProductsWithinTheBound) {
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
       )",
                           R"(
         input %x f32[1,4,5,6]
         %y = Conv(%x, w[6,4,3,3])
       )"}) {
    const auto g = graph(text);
    std::mt19937 rng(1);
    std::uniform_real_distribution<float> value(-3, 3);
    const TensorType type = g->inputs()[0]->type;
    std::vector<float> x(static_cast<size_t>(element_count(type.shape)));
    for (float& v : x) v = value(rng);
    const ir::ConstantPtr input = ir::make_constant_of<float>(DType::kF32, type.shape, x);
    ir::Node& first = g->nodes().front();  // weights that float16 does not hold
    std::vector<float> weights = floats(*first.in(1)->constant);
    for (float& w : weights) w *= 1.0007f;
    g->set_input(&first, 1,
                 g->add_constant("w", ir::make_constant_of<float>(DType::kF32, first.in(1)->type.shape, weights)));
    std::vector<ir::ConstantPtr> before, after;
    std::string error;
    ASSERT_TRUE(ir::interpret(*g, {input}, &before, &error)) << error;
    const std::vector<float> most =
        bounds(*g, input, [](float w) { return std::max(0x1p-11f * std::fabs(w), 0x1p-25f); });
    const std::vector<float> magnitudes = bounds(*g, input, [](float w) { return std::fabs(w); });
    const std::string product = ops(*g);
    PassLog log, again;
    kFp16.run(*g, log);
    EXPECT_EQ(log.changes, 1u);
    EXPECT_EQ(g->validate(), "");
    EXPECT_EQ(ops(*g), "Cast " + product);
    ASSERT_TRUE(ir::interpret(*g, {input}, &after, &error)) << error;
    const std::vector<float> was = floats(*before[0]), is = floats(*after[0]);
    ASSERT_EQ(was.size(), is.size());
    double worst = 0;
    for (size_t i = 0; i < is.size(); ++i) {
      const double d = std::fabs(static_cast<double>(is[i]) - was[i]);
      ASSERT_LE(d, most[i] * (1 + 0x1p-10) + 2 * 72 * 0x1p-24 * magnitudes[i]) << i;  // two float32 sums of up to 70
      worst = std::max(worst, d);
    }
    EXPECT_GT(worst, 1e-6);  // it does round
    kFp16.run(*g, again);
    EXPECT_EQ(again.changes, 0u);
  }
}

TEST(Fp16Scheme, SaysWhatItLeaves) {
  const struct {
    const char* text;
    const char* reason;  // "": not its case
  } kCases[] = {
      {"%y = Conv(%x, w[4,2,3,3]) {group:2}", "a convolution in groups: stays float32"},
      {"%y = MatMul(%x, w[1,4,4,6])", "weights other than one matrix stay float32"},
      {"%y = MatMul(%x, %x)", "weights that are computed stay float32"},
      {"%y = MatMul(%x, f32[4,1]{1, 2, 65520, 4})", "a weight is beyond float16: stays float32"},
      {"%y = MatMul(%x, f32[4,1]{1e-6, 2e-6, 3e-6, 4e-6})", "the weights lie below float16's range: stays float32"},
      {"%r = Reshape(%x, i64[2]{16,4})\n%y = Gemm(%r, w[16,6]) {trans_a:true}",
       "a transposed x, or a bias other than one value a column: stays float32"},
      {"%y = Relu(%x)", ""},
  };
  for (const auto& c : kCases) {
    expect_left(kFp16, c.text, c.reason);
  }
}

// One output of small weights beside one of usual ones: the tensor is stored, and what that costs is said.
TEST(Fp16Scheme, SaysWhatSmallWeightsLose) {
  const auto lost = [](const char* weights) {
    const auto g = graph(std::string("input %x f32[1,2]\n%y = MatMul(%x, f32[2,2]{") + weights + "})\n");
    PassLog log;
    kFp16.run(*g, log);
    EXPECT_EQ(log.changes, 1u);
    EXPECT_EQ(log.errors.size(), 1u);
    return log.errors.empty() ? -1 : log.errors[0].lost;
  };
  EXPECT_EQ(lost("1, 0.1, 2, 0.3"), 0);
  EXPECT_EQ(lost("1, 0, 2, 0"), 0);
  EXPECT_NEAR(lost("1, 1e-6, 2, 0"), 0.0133, 1e-3);  // 17 steps of 2^-24
  EXPECT_EQ(lost("1, 2e-8, 2, 0"), 1);               // becomes nothing
}

TEST(Fp16Scheme, IsFoundByName) { EXPECT_EQ(find_scheme("fp16"), &kFp16); }

}  // namespace
}  // namespace vireo::quant::fp16_test

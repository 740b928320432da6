#include "quant/schemes/fold_gains.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "converter/ir/interpret.h"
#include "quant/schemes/matrix_codes.h"
#include "quant/schemes/testing.h"

namespace vireo::quant::fold_gains_test {
namespace {

using testing::floats;
using testing::graph;

// Gains that are far apart, and weights that training made small where gains are large.
class Gains {
 public:
  Gains() {
    std::mt19937 rng(7);
    std::normal_distribution<float> normal(0, 1);
    for (float& v : gains_) v = std::exp(normal(rng));
    for (float& v : bias_) v = 0.1f * normal(rng);
    for (float& v : x_) v = normal(rng);
    for (size_t i = 0; i < w_.size(); ++i) w_[i] = normal(rng) / gains_[i / 6];
  }

  std::unique_ptr<ir::Graph> with(const std::string& text) const {
    auto g = graph(text);
    for (ir::Node& n : g->nodes()) {
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const ir::Value& v = *n.in(i);
        if (v.constant == nullptr) continue;
        g->set_input(&n, i,
                     g->add_constant(v.name, ir::make_constant_of<float>(DType::kF32, v.type.shape, of(v.name))));
      }
    }
    return g;
  }

  std::vector<float> run(const ir::Graph& g) const {
    std::vector<ir::ConstantPtr> out;
    std::string error;
    EXPECT_TRUE(
        ir::interpret(g, {ir::make_constant_of<float>(DType::kF32, g.inputs()[0]->type.shape, x_)}, &out, &error))
        << error;
    return floats(*out[0]);
  }

  std::vector<float> turned() const {
    std::vector<float> out(w_.size());
    for (size_t i = 0; i < w_.size(); ++i) out[i % 6 * 64 + i / 6] = w_[i];
    return out;
  }

 private:
  std::vector<float> of(const std::string& name) const {
    return name == "g" ? gains_ : name == "b" ? bias_ : name == "v" ? turned() : w_;
  }
  std::vector<float> gains_ = std::vector<float>(64), bias_ = gains_, x_ = std::vector<float>(3 * 64),
                     w_ = std::vector<float>(64 * 6);
};

std::vector<ir::Node*> products_of(ir::Graph& g) {
  std::vector<ir::Node*> out;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMatMul || n.op == Op::kGemm) out.push_back(&n);
  }
  return out;
}
bool always(const ir::Node&) { return true; }
bool never(const ir::Node&) { return false; }

TEST(FoldGains, NoResultChangesAndCodesLoseLess) {
  const Gains gains;
  for (const char* text : {"input %x f32[3,64]\n%n = RMSNormalization(%x, g[64])\n%y = MatMul(%n, w[64,6])\noutput %y",
                           "input %x f32[3,64]\n%n = LayerNormalization(%x, g[64], b[64])\n"
                           "%y = Gemm(%n, v[6,64]) {trans_b:true}\noutput %y"}) {
    const auto g = gains.with(text);
    const std::vector<float> before = gains.run(*g);
    const ir::ConstantPtr was = g->nodes().back().in(1)->constant;
    EXPECT_EQ(fold_gains(*g, products_of(*g), always), 1u);
    EXPECT_EQ(g->validate(), "");
    const std::vector<float> after = gains.run(*g);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-4f * (1 + std::fabs(before[i])));
    EXPECT_FALSE(ir::same_content(*was, *g->nodes().back().in(1)->constant));
  }
}

// The loss with the factors that were taken is never above the loss without any.
TEST(FoldGains, TheLossNeverRises) {
  for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal(0, 1);
    const auto g = graph("input %x f32[3,64]\n%n = RMSNormalization(%x, g[64])\n%y = MatMul(%n, w[64,6])\noutput %y");
    ir::Node &norm = g->nodes().front(), &product = g->nodes().back();
    std::vector<float> gains(64), w(64 * 6);
    for (float& v : gains) v = std::exp(0.4f * static_cast<float>(seed - 1) * normal(rng));
    for (float& v : w) v = normal(rng);
    g->set_input(&norm, 1,
                 g->add_constant("g", ir::make_constant_of<float>(DType::kF32, norm.in(1)->type.shape, gains)));
    g->set_input(&product, 1,
                 g->add_constant("w", ir::make_constant_of<float>(DType::kF32, product.in(1)->type.shape, w)));
    const ir::ConstantPtr was = product.in(1)->constant;
    const double before = loss_of_codes(*was, false, std::vector<float>(64, 1), gains);
    (void)fold_gains(*g, products_of(*g), always);
    const std::vector<float> now = floats(*product.in(1)->constant);
    std::vector<float> factors(64);
    for (size_t k = 0; k < 64; ++k) factors[k] = now[k * 6] / w[k * 6];
    EXPECT_LE(loss_of_codes(*was, false, factors, gains), before * (1 + 1e-6)) << seed;
  }
}

TEST(FoldGains, LeavesWhatOthersRead) {
  const Gains gains;
  const char* const kNorm = "input %x f32[3,64]\n%n = RMSNormalization(%x, g[64])\n%y = MatMul(%n, w[64,6])\n";
  const auto seen = gains.with(std::string(kNorm) + "%z = Relu(%n)\noutput %y\noutput %z");
  EXPECT_EQ(fold_gains(*seen, products_of(*seen), always), 0u);
  const auto result = gains.with(std::string(kNorm) + "output %y\noutput %n");
  EXPECT_EQ(fold_gains(*result, products_of(*result), always), 0u);
  const auto kept = gains.with(std::string(kNorm) + "output %y");
  EXPECT_EQ(fold_gains(*kept, products_of(*kept), never), 0u);
  EXPECT_EQ(fold_gains(*kept, {}, always), 0u);
}

}  // namespace
}  // namespace vireo::quant::fold_gains_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/linear_attention/linear_attention_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::linear_attention_test {
namespace {

using Floats = std::vector<float>;
using Rule = attrs::LinearAttentionRule;

std::vector<uint8_t> bytes(Rule rule, int q_heads = 1, int kv_heads = 1) {
  attrs::LinearAttentionT a;
  a.rule = rule;
  a.q_heads = q_heads;
  a.kv_heads = kv_heads;
  a.scale = 1;
  return pack<attrs::LinearAttention>(a);
}

// Sizes of one: the recurrences in plain numbers. k = 1, 0.5; v = 2, 3; decay ln(1/2); beta 1/4; past 8; q = 1.
TEST(LinearAttention, EveryRuleInPlainNumbers) {
  const struct {
    Rule rule;
    float first, second;
  } kCases[] = {{Rule::Linear, 8 + 2, 10 + 1.5f},
                {Rule::Gated, 4 + 2, 3 + 1.5f},
                {Rule::Delta, 8 + 0.25f * (2 - 8), 6.5f + 0.125f * (3 - 3.25f)},
                {Rule::GatedDelta, 4 + 0.25f * (2 - 4), 1.75f + 0.125f * (3 - 0.875f)}};
  for (const auto& c : kCases) {
    OpTest t(Op::kLinearAttention, bytes(c.rule));
    t.input<float>({1, 2, 1}, {1, 1}).input<float>({1, 2, 1}, {1, 0.5f}).input<float>({1, 2, 1}, {2, 3});
    t.input<float>({1, 1, 1, 1}, {8}).input<float>({1, 2, 1}, {std::log(0.5f), std::log(0.5f)});
    t.input<float>({1, 2, 1}, {0.25f, 0.25f}).outputs(2);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_NEAR(t.y(0).as<float>()[0], c.first, 1e-5f);
    EXPECT_NEAR(t.y(0).as<float>()[1], c.second, 1e-5f);
    EXPECT_EQ(t.y(1).as<float>()[0], t.y(0).as<float>()[1]);
  }
}

TEST(LinearAttention, TwoCallsAreOne) {
  const auto part = [](const Floats& x, size_t from, size_t to) {
    return Floats(x.begin() + static_cast<std::ptrdiff_t>(from), x.begin() + static_cast<std::ptrdiff_t>(to));
  };
  Floats q(3 * 8), k(3 * 4), v(3 * 6);
  for (Floats* x : {&q, &k, &v}) {
    for (size_t i = 0; i < x->size(); ++i) (*x)[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) / 8;
  }
  OpTest whole(Op::kLinearAttention, bytes(Rule::Linear, 4, 2));
  whole.input<float>({1, 3, 8}, q).input<float>({1, 3, 4}, k).input<float>({1, 3, 6}, v).outputs(2).slots(2);
  ASSERT_EQ(whole.run(), Status::kOk) << whole.message();
  OpTest first(Op::kLinearAttention, bytes(Rule::Linear, 4, 2));
  first.input<float>({1, 2, 8}, part(q, 0, 16))
      .input<float>({1, 2, 4}, part(k, 0, 8))
      .input<float>({1, 2, 6}, part(v, 0, 12));
  first.outputs(2);
  ASSERT_EQ(first.run(), Status::kOk) << first.message();
  OpTest second(Op::kLinearAttention, bytes(Rule::Linear, 4, 2));
  second.input<float>({1, 1, 8}, part(q, 16, 24))
      .input<float>({1, 1, 4}, part(k, 8, 12))
      .input<float>({1, 1, 6}, part(v, 12, 18));
  second.input(first.y(1)).outputs(2);
  ASSERT_EQ(second.run(), Status::kOk) << second.message();
  EXPECT_EQ(second.y(1).bytes, whole.y(1).bytes);
  EXPECT_EQ(second.y(0).as<float>(), part(whole.y(0).as<float>(), 24, 36));
}

TEST(LinearAttention, Refusals) {
  OpTest gate(Op::kLinearAttention, bytes(Rule::Gated));
  gate.input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {1});
  EXPECT_EQ(gate.run(), Status::kInvalidModel);
  OpTest heads(Op::kLinearAttention, bytes(Rule::Linear, 3, 2));
  heads.input<float>({1, 1, 3}, Floats(3)).input<float>({1, 1, 2}, Floats(2)).input<float>({1, 1, 2}, Floats(2));
  EXPECT_EQ(heads.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::linear_attention_test

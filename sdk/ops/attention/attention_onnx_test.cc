#include <gtest/gtest.h>

#include <cstring>

#include "sdk/ops/import_testing.h"

namespace vireo::attention_onnx_test {
namespace {

using Floats = std::vector<float>;

Floats pattern(size_t n, int seed) {
  Floats out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 5) % 13 - 6) / 8;
  return out;
}

TEST(AttentionImport, FlexAttentionIsAttentionOfRankFour) {
  ImportTest plain("Attention", 23), flex("FlexAttention", 1, "ai.onnx.preview");
  for (ImportTest* t : {&plain, &flex}) {
    t->attr("scale", 0.75f).input<float>({1, 2, 3, 4}, pattern(24, 1)).input<float>({1, 1, 5, 4}, pattern(20, 2));
    t->input<float>({1, 1, 5, 2}, pattern(10, 3));
    ASSERT_EQ(t->run(), Status::kOk) << t->message();
  }
  EXPECT_EQ(flex.y().bytes, plain.y().bytes);
}

TEST(AttentionImport, MultiHeadAttentionAddsItsBiasFirst) {
  const Floats q = pattern(3 * 8, 1), k = pattern(5 * 8, 2), v = pattern(5 * 4, 3), bias = pattern(20, 4);
  const auto biased = [&](Floats x, size_t width, size_t begin) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += bias[begin + i % width];
    return x;
  };
  ImportTest plain("Attention", 23), fused("MultiHeadAttention", 1, "com.microsoft");
  plain.attr("q_num_heads", 2).attr("kv_num_heads", 2).input<float>({1, 3, 8}, biased(q, 8, 0));
  plain.input<float>({1, 5, 8}, biased(k, 8, 8))
      .input<float>({1, 5, 4}, biased(v, 4, 16))
      .input<float>({3, 5}, pattern(15, 5));
  fused.attr("num_heads", 2).input<float>({1, 3, 8}, q).input<float>({1, 5, 8}, k).input<float>({1, 5, 4}, v);
  fused.constant<float>({20}, bias).input(TestTensor{}).input<float>({1, 1, 3, 5}, pattern(15, 5));
  ASSERT_EQ(plain.run(), Status::kOk) << plain.message();
  ASSERT_EQ(fused.run(), Status::kOk) << fused.message();
  EXPECT_EQ(fused.y().bytes, plain.y().bytes);
}

TEST(AttentionImport, Refusals) {
  ImportTest mode("Attention", 23);
  mode.attr("qk_matmul_output_mode", 4).input<float>({1, 1, 1, 1}, {1}).input<float>({1, 1, 1, 1}, {1});
  EXPECT_EQ(mode.input<float>({1, 1, 1, 1}, {1}).run(), Status::kInvalidModel);
  ImportTest width("MultiHeadAttention", 1, "com.microsoft");
  width.attr("num_heads", 1).input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {1});
  EXPECT_EQ(width.constant<float>({2}, {1, 1}).run(), Status::kInvalidModel);
}

// [1, 1] lets the only query see the first of two keys: the second one's score loses 10000, and so its weight.
TEST(AttentionImport, PaddedKeysOfMultiHeadAttentionGetNoWeight) {
  ImportTest t("MultiHeadAttention", 1, "com.microsoft");
  t.attr("num_heads", 1).input<float>({1, 1, 1}, {1}).input<float>({1, 2, 1}, {1, 2}).input<float>({1, 2, 1}, {3, 5});
  t.input(TestTensor{}).input<int32_t>({1}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  float y = 0;
  std::memcpy(&y, t.y().bytes.data(), sizeof(y));
  EXPECT_EQ(y, 3.0f);
}

}  // namespace
}  // namespace vireo::attention_onnx_test

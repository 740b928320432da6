#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::rotary_embedding_test {
namespace {

using Floats = std::vector<float>;

std::vector<uint8_t> bytes(int heads, int rotated, bool interleaved) {
  attrs::RotaryEmbeddingT a;
  a.heads = heads;
  a.rotated = rotated;
  a.interleaved = interleaved;
  return pack<attrs::RotaryEmbedding>(a);
}

// Two positions of two frequencies: quarter turns at position 1, where cos is 0 and sin is 1 or -1.
const Floats kCos = {1, 1, 0, 0}, kSin = {0, 0, 1, -1};

TEST(RotaryEmbedding, HalvesAndNeighbours) {
  for (const bool interleaved : {false, true}) {
    OpTest t(Op::kRotaryEmbedding, bytes(0, 0, interleaved));
    t.input<float>({1, 1, 2, 4}, {1, 2, 3, 4, 1, 2, 3, 4}).input<float>({2, 2}, kCos).input<float>({2, 2}, kSin);
    t.input<int64_t>({1, 2}, {1, 0}).in_place();
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(), interleaved ? (Floats{-2, 1, 4, -3, 1, 2, 3, 4}) : (Floats{-3, 4, 1, -2, 1, 2, 3, 4}));
  }
}

TEST(RotaryEmbedding, RankThreeTurnsAPartOfEveryHead) {
  OpTest t(Op::kRotaryEmbedding, bytes(2, 2, false));
  t.input<float>({1, 2, 6}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  t.input<float>({1, 2, 1}, {1, 0}).input<float>({1, 2, 1}, {0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{1, 2, 3, 4, 5, 6, -2, 1, 3, -5, 4, 6}));
}

TEST(RotaryEmbedding, TurningKeepsLengths) {
  Floats x(64), c(16), s(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 11 % 23) - 11) / 8;
  for (size_t i = 0; i < c.size(); ++i) {
    c[i] = std::cos(static_cast<float>(i));
    s[i] = std::sin(static_cast<float>(i));
  }
  OpTest t(Op::kRotaryEmbedding, bytes(0, 0, true));
  t.input<float>({1, 2, 4, 8}, x).input<float>({1, 4, 4}, c).input<float>({1, 4, 4}, s);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const Floats y = t.y().as<float>();
  for (size_t i = 0; i < x.size(); i += 2) {
    EXPECT_NEAR(y[i] * y[i] + y[i + 1] * y[i + 1], x[i] * x[i] + x[i + 1] * x[i + 1], 1e-5f);
  }
}

TEST(RotaryEmbedding, Refusals) {
  OpTest position(Op::kRotaryEmbedding, bytes(0, 0, false));
  position.input<float>({1, 1, 1, 4}, Floats(4)).input<float>({2, 2}, kCos).input<float>({2, 2}, kSin);
  position.input<int64_t>({1, 1}, {2});
  EXPECT_EQ(position.run(), Status::kInvalidArgument);
  OpTest odd(Op::kRotaryEmbedding, bytes(0, 3, false));
  odd.input<float>({1, 1, 1, 4}, Floats(4)).input<float>({2, 1}, {1, 1}).input<float>({2, 1}, {0, 0});
  odd.input<int64_t>({1, 1}, {0});
  EXPECT_EQ(odd.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::rotary_embedding_test

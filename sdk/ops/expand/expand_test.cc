#include <gtest/gtest.h>

#include "sdk/ops/expand/expand_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::expand_test {
namespace {

std::vector<uint8_t> none() { return pack<attrs::Expand>(attrs::ExpandT{}); }

TEST(Expand, OnnxExamples) {  // ONNX "Expand": expand_dim_changed, expand_dim_unchanged
  OpTest grown(Op::kExpand, none());
  grown.input<float>({3, 1}, {1, 2, 3}).input<int64_t>({3}, {2, 1, 6});
  ASSERT_EQ(grown.run(), Status::kOk) << grown.message();
  EXPECT_EQ(grown.y().type.shape, make_shape({2, 3, 6}));
  const auto y = grown.y().as<float>();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(i / 6 % 3 + 1));
  OpTest kept(Op::kExpand, none());
  kept.input<float>({3, 1}, {1, 2, 3}).input<int64_t>({1}, {1});
  ASSERT_EQ(kept.run(), Status::kOk) << kept.message();
  EXPECT_EQ(kept.y().type.shape, make_shape({3, 1}));
}

TEST(Expand, RefusesAndEmpties) {
  OpTest wrong(Op::kExpand, none());
  EXPECT_EQ(wrong.input<float>({3}, {1, 2, 3}).input<int64_t>({1}, {2}).run(), Status::kInvalidModel);
  OpTest empty(Op::kExpand, none());
  ASSERT_EQ(empty.input<float>({1}, {1}).input<int64_t>({2}, {2, 0}).run(), Status::kOk) << empty.message();
  EXPECT_EQ(empty.y().type.shape, make_shape({2, 0}));
}

TEST(Tile, SpecExample) {  // ONNX "Tile": tile_precomputed
  OpTest t(Op::kTile, pack<attrs::Tile>(attrs::TileT{}));
  t.input<float>({2, 2}, {0, 1, 2, 3}).input<int64_t>({2}, {2, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(Tile, NoRepeatsNoElements) {
  OpTest t(Op::kTile, pack<attrs::Tile>(attrs::TileT{}));
  t.input<float>({2, 1}, {0, 1}).input<int64_t>({2}, {0, 3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({0, 3}));
  OpTest few(Op::kTile, pack<attrs::Tile>(attrs::TileT{}));
  EXPECT_EQ(few.input<float>({2, 1}, {0, 1}).input<int64_t>({1}, {2}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::expand_test

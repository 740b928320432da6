#include "quant/metrics/boxes.h"

#include <gtest/gtest.h>

#include "quant/metrics/decode.h"
#include "quant/metrics/testing.h"

namespace vireo::quant::boxes_test {
namespace {

TEST(Boxes, OverlapIsTheCommonShareOfBoth) {
  const Box a{0, 0, 4, 2, 1, 0};
  EXPECT_FLOAT_EQ(overlap(a, a), 1);
  EXPECT_FLOAT_EQ(overlap(a, {2, 0, 6, 2, 1, 0}), 4.0f / 12.0f);
  EXPECT_EQ(overlap(a, {4, 0, 8, 2, 1, 0}), 0) << "corners are exclusive";
  EXPECT_EQ(overlap(a, {5, 5, 6, 6, 1, 0}), 0);
  EXPECT_EQ(overlap({1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}), 0) << "empty boxes";
}

TEST(Boxes, TheBestOfThoseThatOverlapStays) {
  const Box low{0, 0, 10, 10, 0.5f, 0}, best{1, 0, 11, 10, 0.9f, 0}, other{0, 0, 10, 10, 0.4f, 1},
      faint{50, 0, 60, 10, 0.1f, 0};
  const std::vector<Box> kept = suppress({low, best, other, faint}, 0.5f, 0.1f, 10);
  ASSERT_EQ(kept.size(), 2u) << "classes do not suppress each other, and the floor is not above itself";
  EXPECT_EQ(kept[0].score, 0.9f);
  EXPECT_EQ(kept[1].label, 1);
  EXPECT_EQ(suppress({low, best}, 0.95f, 0, 10).size(), 2u);
  EXPECT_EQ(suppress({low, best}, 0.95f, 0, 1).size(), 1u);
}

TEST(Decode, SaysWhatDoesNotFit) {
  Decoding how;
  std::vector<Box> boxes;
  Output narrow = testing::row({1, 2, 3, 4});
  EXPECT_NE(decode(how, {narrow}, &boxes).find("has 1 boxes of 4 numbers"), std::string::npos);
  how.scores = "z";
  EXPECT_EQ(decode(how, {narrow}, &boxes), "the model has no output 'z'");
  how = {};
  how.form = BoxForm::kGrid;
  how.strides = {8};
  how.width = how.height = 16;
  EXPECT_NE(decode(how, {testing::row({1, 2, 3, 4, 5})}, &boxes).find("the strides give 4 cells"), std::string::npos);
}

TEST(Decode, SharesOfThePictureBecomePixels) {
  Decoding how;
  how.shares = true;
  how.width = 200;
  how.height = 100;
  how.form = BoxForm::kCentre;
  std::vector<Box> boxes;
  EXPECT_EQ(decode(how, {testing::row({0.5f, 0.5f, 0.25f, 0.5f, 0.75f})}, &boxes), "");
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_FLOAT_EQ(boxes[0].x0, 75);
  EXPECT_FLOAT_EQ(boxes[0].y0, 25);
  EXPECT_FLOAT_EQ(boxes[0].x1, 125);
  EXPECT_FLOAT_EQ(boxes[0].y1, 75);
  EXPECT_FLOAT_EQ(boxes[0].score, 0.75f);
}

}  // namespace
}  // namespace vireo::quant::boxes_test

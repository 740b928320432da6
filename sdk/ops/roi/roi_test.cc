#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sdk/ops/roi/roi_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::roi_test {
namespace {

using F32 = std::vector<float>;

// A plane whose element (r, c) is 10 r + c: bilinear interpolation gives 10 y + x at (y, x), so means are known.
F32 ramp(int64_t h, int64_t w) {
  F32 v;
  for (int64_t r = 0; r < h; ++r) {
    for (int64_t c = 0; c < w; ++c) v.push_back(static_cast<float>(10 * r + c));
  }
  return v;
}

OpTest align(const attrs::RoiAlignT& a, const F32& rois, const std::vector<int64_t>& batch) {
  OpTest t(Op::kRoiAlign, pack<attrs::RoiAlign>(a));
  F32 x = ramp(8, 8);
  for (const float v : ramp(8, 8)) x.push_back(v + 1000);
  const int64_t r = static_cast<int64_t>(batch.size());
  t.input<float>({2, 1, 8, 8}, x).input<float>({r, 4}, rois).input<int64_t>({r}, batch);
  return t;
}

TEST(RoiAlign, MeanOfARampIsItsCentre) {
  for (const bool half : {false, true}) {
    for (const int points : {0, 1, 3}) {
      attrs::RoiAlignT a;
      a.output_height = a.output_width = 2;
      a.sampling_ratio = points;
      a.half_pixel = half;
      OpTest t = align(a, {1, 2, 5, 6, 1, 2, 5, 6}, {0, 1});
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      const F32 y = t.y().as<float>();
      const float shift = half ? 5.5f : 0.0f;  // half an element in y and in x
      const F32 expect = {32, 34, 52, 54};     // bins of 2 x 2 from (y 2, x 1): centres (3, 2), (3, 4), (5, 2), (5, 4)
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(y[i], expect[i] - shift, 1e-4f);
        EXPECT_NEAR(y[i + 4], expect[i] - shift + 1000, 1e-3f);
      }
    }
  }
}

TEST(RoiAlign, PointsFarOutsideCountAsZero) {
  attrs::RoiAlignT a;
  a.sampling_ratio = 1;
  OpTest t = align(a, {-20, -20, -10, -10}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), F32{0});
}

TEST(RoiAlign, MaxTakesTheLargestWeightedNeighbour) {
  attrs::RoiAlignT a;
  a.max = true;
  a.sampling_ratio = 1;
  a.half_pixel = false;
  OpTest t = align(a, {2, 3, 3, 4}, {0});  // one point at (3.5, 2.5): each neighbour weighs 1/4, the largest is (4, 3)
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), F32{43.0f / 4});
}

// Regions of any size take time by the map: the points that they have beyond it (4 * 10^14 here) are counted, not
// visited.
TEST(RoiAlign, RegionsFarLargerThanTheMap) {
  attrs::RoiAlignT a;
  a.half_pixel = false;
  a.output_height = a.output_width = 1;
  OpTest t =
      align(a, {0, 0, 1e4f, 1e4f, -1e7f, -1e7f, 1e7f, 1e7f, 0, 0, INFINITY, INFINITY, 0, 0, NAN, 4}, {0, 0, 1, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const F32 y = t.y().as<float>();
  // Of the first region's 10^4 points an axis, those at 0.5, 1.5, .. 7.5 are in the map; at 7.5 the last element counts
  // whole.
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) sum += 10 * std::min(i + 0.5, 7.0) + std::min(j + 0.5, 7.0);
  }
  EXPECT_NEAR(y[0], sum / 1e8, sum / 1e8 * 1e-5);
  // The second region begins 10^7 before the map. Its point at -0.5 is in the border, where the first element counts
  // whole.
  double wide = 0;
  for (int i = -1; i < 8; ++i) {
    for (int j = -1; j < 8; ++j)
      wide += 10 * std::min(std::max(i + 0.5, 0.0), 7.0) + std::min(std::max(j + 0.5, 0.0), 7.0);
  }
  EXPECT_NEAR(y[1], wide / 4e14, wide / 4e14 * 1e-4);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
}

TEST(RoiAlign, MaxCountsPointsOutsideAsZero) {
  attrs::RoiAlignT a;
  a.half_pixel = false;
  a.max = true;
  a.output_height = a.output_width = 1;
  OpTest t(Op::kRoiAlign, pack<attrs::RoiAlign>(a));
  t.input<float>({1, 1, 2, 2}, {-3, -3, -3, -3}).input<float>({2, 4}, {0, 0, 1e5f, 1e5f, 0, 0, 1, 1});
  t.input<int64_t>({2}, {0, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>()[0], 0);
  EXPECT_LT(t.y().as<float>()[1], 0);
}

// Points of a bin that an attribute asks for are all visited: a file of 1 KB could ask for 2^62.
TEST(RoiAlign, RefusesMorePointsThanAreWorthIt) {
  attrs::RoiAlignT a;
  for (const int32_t points : {1024, 1025, INT32_MAX, -1}) {
    a.sampling_ratio = points;
    EXPECT_EQ(align(a, {0, 0, 1, 1}, {0}).run(), points == 1024 ? Status::kOk : Status::kInvalidModel) << points;
  }
}

TEST(RoiAlign, RefusesABatchEntryOutside) {
  for (const int64_t n : {2, -1}) EXPECT_EQ(align({}, {0, 0, 1, 1}, {n}).run(), Status::kInvalidArgument);
}

TEST(MaxRoiPool, LargestOfEachBin) {
  attrs::MaxRoiPoolT a;
  a.pooled_height = a.pooled_width = 2;
  a.spatial_scale = 0.5f;
  OpTest t(Op::kMaxRoiPool, pack<attrs::MaxRoiPool>(a));
  // Scaled: rows 1 to 4, columns 0 to 3, both included, in bins of 2 x 2.
  t.input<float>({1, 1, 8, 8}, ramp(8, 8)).input<float>({2, 5}, {0, 0, 2, 6, 8, 0, 40, 40, 44, 44});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (F32{21, 23, 41, 43, 0, 0, 0, 0}));  // the second region lies outside
  OpTest outside(Op::kMaxRoiPool, pack<attrs::MaxRoiPool>(a));
  outside.input<float>({1, 1, 8, 8}, ramp(8, 8)).input<float>({1, 5}, {1, 0, 0, 1, 1});
  EXPECT_EQ(outside.run(), Status::kInvalidArgument);
}

}  // namespace
}  // namespace vireo::roi_test

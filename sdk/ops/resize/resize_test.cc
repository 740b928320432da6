#include <gtest/gtest.h>

#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::resize_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;
using Mode = attrs::ResizeMode;
using Coordinate = attrs::ResizeCoordinate;
using Nearest = attrs::ResizeNearest;

F32 count_up(int n) {
  F32 v;
  for (int i = 1; i <= n; ++i) v.push_back(static_cast<float>(i));
  return v;
}

OpTest by_scales(const attrs::ResizeT& a, const I64& dims, const F32& x, const F32& scales) {
  OpTest t(Op::kResize, pack<attrs::Resize>(a));
  t.input<float>(dims, x).absent().input<float>({static_cast<int64_t>(scales.size())}, scales);
  return t;
}
OpTest by_sizes(const attrs::ResizeT& a, const I64& dims, const F32& x, const I64& sizes, const F32& roi = {}) {
  OpTest t(Op::kResize, pack<attrs::Resize>(a));
  t.input<float>(dims, x);
  if (roi.empty()) {
    t.absent();
  } else {
    t.input<float>({static_cast<int64_t>(roi.size())}, roi);
  }
  t.absent().input<int64_t>({static_cast<int64_t>(sizes.size())}, sizes);
  return t;
}
// Values of the examples are stored in float32: a unit in the last place of values up to 16 is 1e-6.
void expect_near(OpTest& t, const F32& expect) {
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const F32 y = t.y().as<float>();
  ASSERT_EQ(y.size(), expect.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expect[i], 4e-6f) << i;
}

TEST(Resize, OnnxNearestExamples) {
  attrs::ResizeT a;
  OpTest up = by_scales(a, {1, 1, 2, 2}, count_up(4), {1, 1, 2, 3});  // resize_upsample_scales_nearest
  expect_near(up, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  OpTest down = by_scales(a, {1, 1, 2, 4}, count_up(8), {1, 1, 0.6f, 0.6f});  // resize_downsample_scales_nearest
  expect_near(down, {1, 3});
  a.axes = {2, 3};
  a.policy = attrs::ResizePolicy::not_larger;  // resize_upsample_sizes_nearest_not_larger
  OpTest kept = by_sizes(a, {1, 1, 2, 2}, count_up(4), {7, 8});
  ASSERT_EQ(kept.run(), Status::kOk) << kept.message();
  EXPECT_EQ(kept.y().type.shape, make_shape({1, 1, 7, 7}));
  for (int i = 0; i < 49; ++i) {
    EXPECT_EQ(kept.y().as<float>()[static_cast<size_t>(i)], (i / 7 > 3 ? 3.0f : 1.0f) + (i % 7 > 3 ? 1.0f : 0.0f));
  }
  a.policy = attrs::ResizePolicy::not_smaller;
  OpTest filled = by_sizes(a, {1, 1, 2, 2}, count_up(4), {7, 8});
  ASSERT_EQ(filled.run(), Status::kOk) << filled.message();
  EXPECT_EQ(filled.y().type.shape, make_shape({1, 1, 8, 8}));
}

TEST(Resize,
     NearestModesAtHalves) {  // places 0.5, 1.5 and 2.5 on an axis of 3 elements shown as 4, and their neighbours
  const struct {
    Nearest mode;
    F32 expect;
  } cases[] = {{Nearest::round_prefer_floor, {1, 2, 2, 3}},
               {Nearest::round_prefer_ceil, {1, 2, 3, 3}},
               {Nearest::floor, {1, 1, 2, 3}},
               {Nearest::ceil, {1, 2, 3, 3}},
               {Nearest::by_scale, {1, 1, 2, 3}}};
  for (const auto& c : cases) {
    attrs::ResizeT a;
    a.coordinate = Coordinate::asymmetric;  // 0, 0.75, 1.5, 2.25
    a.nearest = c.mode;
    OpTest t = by_sizes(a, {3}, {1, 2, 3}, {4});
    expect_near(t, c.expect);
  }
  attrs::ResizeT a;
  a.coordinate = Coordinate::asymmetric;
  a.nearest = Nearest::by_scale;  // Resize of opset 10: 1 / 0.6 is taken up
  OpTest shrinks = by_scales(a, {1, 4}, count_up(4), {1, 0.6f});
  expect_near(shrinks, {1, 3});
}

TEST(Resize, OnnxLinearExamples) {
  attrs::ResizeT a;
  a.mode = Mode::linear;
  OpTest half = by_scales(a, {1, 1, 2, 4}, count_up(8), {1, 1, 0.6f, 0.6f});  // resize_downsample_scales_linear
  expect_near(half, {2.6666665f, 4.3333331f});
  a.coordinate = Coordinate::half_pixel_symmetric;  // resize_downsample_scales_linear_half_pixel_symmetric
  OpTest symmetric = by_scales(a, {1, 1, 1, 4}, count_up(4), {1, 1, 1, 0.6f});
  expect_near(symmetric, {1.6666667f, 3.3333333f});
  a.coordinate = Coordinate::align_corners;  // resize_upsample_scales_linear_align_corners
  OpTest corners = by_scales(a, {1, 1, 2, 2}, count_up(4), {1, 1, 2, 2});
  expect_near(corners, {1.0f, 1.33333333f, 1.66666667f, 2.0f, 1.66666667f, 2.0f, 2.33333333f, 2.66666667f, 2.33333333f,
                        2.66666667f, 3.0f, 3.33333333f, 3.0f, 3.33333333f, 3.66666667f, 4.0f});
  a.coordinate = Coordinate::pytorch_half_pixel;  // resize_downsample_sizes_linear_pytorch_half_pixel
  OpTest torch = by_sizes(a, {1, 1, 4, 4}, count_up(16), {1, 1, 3, 1});
  expect_near(torch, {1.6666666f, 7.0f, 12.333333f});
}

// "x_original = length_resized > 1 ? (x_resized + 0.5) / scale - 0.5 : 0": one element is sampled at place 0, also
// where scale times length is 1.5.
TEST(Resize, PytorchHalfPixelTakesOneElementFromPlace0) {
  attrs::ResizeT a;
  a.coordinate = Coordinate::pytorch_half_pixel;
  a.mode = Mode::cubic;
  OpTest cubic = by_sizes(a, {3, 2}, {5, 6, 1, 2, 8, 9}, {1, 2});
  expect_near(cubic, {5, 6});
  OpTest longer = by_scales(a, {3, 2}, {5, 6, 1, 2, 8, 9}, {0.5f, 1});
  expect_near(longer, {5, 6});
  a.mode = Mode::linear;
  a.antialias = true;  // the tent of width 3 over places 0, 1, 2 and, for the edge again, -1 and -2
  OpTest wide = by_sizes(a, {3, 1}, {9, 18, 36}, {1, 1});
  expect_near(wide, {(9.0f * 6 + 18 * 2 + 36) / 9});
}

TEST(Resize, OnnxCropExamples) {
  attrs::ResizeT a;
  a.mode = Mode::linear;
  a.coordinate = Coordinate::tf_crop_and_resize;
  a.extrapolation_value = 10;  // resize_tf_crop_and_resize_extrapolation_value
  OpTest outside = by_sizes(a, {1, 1, 4, 4}, count_up(16), {1, 1, 3, 3}, {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f});
  expect_near(outside, {7.6f, 10, 10, 12.4f, 10, 10, 10, 10, 10});
  a.axes = {3, 2};  // resize_tf_crop_and_resize_axes_3_2
  OpTest swapped = by_sizes(a, {1, 1, 4, 4}, count_up(16), {3, 3}, {0.6f, 0.4f, 0.8f, 0.6f});
  expect_near(swapped, {7.6f, 7.9f, 8.2f, 8.8f, 9.1f, 9.4f, 10, 10.3f, 10.6f});
}

TEST(Resize, OnnxCubicExamples) {
  attrs::ResizeT a;
  a.mode = Mode::cubic;
  a.antialias = true;  // resize_downsample_sizes_cubic_antialias
  OpTest smooth = by_sizes(a, {1, 1, 4, 4}, count_up(16), {1, 1, 3, 3});
  expect_near(smooth,
              {1.7750092f, 3.1200073f, 4.4650054f, 7.1550016f, 8.5f, 9.844998f, 12.534994f, 13.8799925f, 15.224991f});
  a.antialias = false;
  a.exclude_outside = true;
  a.cubic_coeff_a = -0.5f;  // resize_upsample_scales_cubic_A_n0p5_exclude_outside, first row
  OpTest sharp = by_scales(a, {1, 1, 4, 4}, count_up(16), {1, 1, 2, 2});
  ASSERT_EQ(sharp.run(), Status::kOk) << sharp.message();
  const F32 row = {0.5588235f, 0.81494206f, 1.3569825f, 1.8970588f, 2.3970587f, 2.9371352f, 3.4791756f, 3.735294f};
  for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(sharp.y().as<float>()[i], row[i], 1e-6f);
}

TEST(Resize, ConstantsStayConstant) {  // weights sum to 1 in every mode, whatever the scale
  for (const Mode mode : {Mode::linear, Mode::cubic}) {
    for (const bool antialias : {false, true}) {
      for (const int64_t out : {1, 2, 3, 5, 7, 29}) {
        attrs::ResizeT a;
        a.mode = mode;
        a.antialias = antialias;
        OpTest t = by_sizes(a, {2, 7}, F32(14, 3.0f), {2, out});
        expect_near(t, F32(static_cast<size_t>(2 * out), 3.0f));
      }
    }
  }
}

TEST(Resize, IntegersRoundAndClamp) {
  attrs::ResizeT a;
  a.mode = Mode::cubic;
  OpTest t(Op::kResize, pack<attrs::Resize>(a));
  t.input<uint8_t>({4}, {0, 255, 255, 0}).absent().absent().input<int64_t>({1}, {8});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<uint8_t>();
  EXPECT_EQ(y[0], 0);    // cubic undershoots beside the edge
  EXPECT_EQ(y[3], 255);  // and overshoots inside
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y[i], y[7 - i]);
}

TEST(Resize, NearestMovesStringsAndEmptyListsAreAbsent) {
  OpTest t(Op::kResize, pack<attrs::Resize>(attrs::ResizeT{}));
  t.input_strings({1, 2}, {"a", "b"}).input<float>({0}, {}).input<float>({2}, {2, 1}).input<int64_t>({0}, {});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().strings, (std::vector<std::string>{"a", "b", "a", "b"}));
}

TEST(Resize, Refuses) {
  const attrs::ResizeT a;
  EXPECT_EQ(by_scales(a, {2}, {1, 2}, {0}).run(), Status::kInvalidModel);
  EXPECT_EQ(by_scales(a, {2}, {1, 2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(by_sizes(a, {2}, {1, 2}, {-1}).run(), Status::kInvalidModel);
  EXPECT_EQ(by_sizes(a, {0}, {}, {1}).run(), Status::kInvalidModel);
  OpTest neither(Op::kResize, pack<attrs::Resize>(a));
  EXPECT_EQ(neither.input<float>({1}, {1}).run(), Status::kInvalidModel);
  attrs::ResizeT linear;
  linear.mode = Mode::linear;
  OpTest strings(Op::kResize, pack<attrs::Resize>(linear));
  EXPECT_EQ(strings.input_strings({1}, {"a"}).absent().input<float>({1}, {2}).run(), Status::kUnsupported);
}

}  // namespace
}  // namespace vireo::resize_test

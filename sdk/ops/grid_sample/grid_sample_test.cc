#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/grid_sample/grid_sample_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::grid_sample_test {
namespace {

using F32 = std::vector<float>;
using Mode = attrs::GridSampleMode;
using Padding = attrs::GridSamplePadding;

const F32 kInside = {-1, -1, -0.5f, -0.5f, -0.2f, -0.2f, 0, 0, 0, 0, -0.2f, -0.2f, 0.5f, 0.5f, 1, 1};
const F32 kFar = {-10, -10, -5, -5, -0.2f, -0.2f, 10, 10, 10, 10, -0.2f, -0.2f, 5, 5, 10, 10};

F32 sample(Mode mode, Padding padding, bool corners, const F32& grid) {
  attrs::GridSampleT a;
  a.mode = mode;
  a.padding = padding;
  a.align_corners = corners;
  OpTest t(Op::kGridSample, pack<attrs::GridSample>(a));
  t.input<float>({1, 1, 3, 2}, {0, 1, 2, 3, 4, 5}).input<float>({1, 2, 4, 2}, grid);
  EXPECT_EQ(t.run(), Status::kOk) << t.message();
  return t.y().as<float>();
}
void expect_near(const F32& y, const F32& expect) {
  ASSERT_EQ(y.size(), expect.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expect[i], 6e-5f) << i;  // four digits in the examples
}

// ONNX "GridSample": gridsample_bicubic, _bilinear, _nearest, _reflection_padding, _border_padding, _zeros_padding
TEST(GridSample, OnnxExamples) {
  expect_near(sample(Mode::cubic, Padding::zeros, false, kInside),
              {-0.1406f, 0.3828f, 1.7556f, 2.9688f, 2.9688f, 1.7556f, 5.1445f, 1.3906f});
  expect_near(sample(Mode::linear, Padding::zeros, false, kInside), {0, 0.5f, 1.7f, 2.5f, 2.5f, 1.7f, 4.5f, 1.25f});
  expect_near(sample(Mode::nearest, Padding::zeros, false, kInside), {0, 0, 2, 2, 2, 2, 5, 0});
  expect_near(sample(Mode::linear, Padding::reflection, false, kFar), {2.5f, 0, 1.7f, 2.5f, 2.5f, 1.7f, 5, 2.5f});
  expect_near(sample(Mode::linear, Padding::border, false, kFar), {0, 0, 1.7f, 5, 5, 1.7f, 5, 5});
  expect_near(sample(Mode::linear, Padding::zeros, false, kFar), {0, 0, 1.7f, 0, 0, 1.7f, 0, 0});
}

TEST(GridSample, Volumes) {  // first places of ONNX "GridSample": gridsample_volumetric_bilinear_align_corners_0
  attrs::GridSampleT a;
  OpTest t(Op::kGridSample, pack<attrs::GridSample>(a));
  t.input<float>({1, 1, 3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  t.input<float>({1, 1, 1, 4, 3}, {-1, -1, -1, -1, -0.5f, 0.3f, -0.5f, -0.5f, -0.5f, 1, -0.6f, -1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  expect_near(t.y().as<float>(), {0.125f, 3.4f, 2, 0.45f});
}

TEST(GridSample, NoNumberIsOutside) {
  const F32 grid(16, NAN);
  for (const Mode mode : {Mode::linear, Mode::nearest, Mode::cubic}) {
    EXPECT_EQ(sample(mode, Padding::zeros, false, grid), F32(8));
  }
}

TEST(GridSample, IntegersAreCutOffAndNearestMovesThemExactly) {  // places -1/2, 0.5 and 1.75 of two elements
  const F32 grid = {-1, 0, 0, 0, 1.25f, 0};
  const int64_t large = (int64_t{1} << 62) + 1;
  attrs::GridSampleT a;
  a.padding = Padding::border;
  OpTest linear(Op::kGridSample, pack<attrs::GridSample>(a));
  ASSERT_EQ(linear.input<int16_t>({1, 1, 1, 2}, {-3, 8}).input<float>({1, 1, 3, 2}, grid).run(), Status::kOk);
  EXPECT_EQ(linear.y().as<int16_t>(), (std::vector<int16_t>{-3, 2, 8}));
  a.mode = Mode::nearest;
  OpTest nearest(Op::kGridSample, pack<attrs::GridSample>(a));
  ASSERT_EQ(nearest.input<int64_t>({1, 1, 1, 2}, {7, large}).input<float>({1, 1, 3, 2}, grid).run(), Status::kOk);
  EXPECT_EQ(nearest.y().as<int64_t>(), (std::vector<int64_t>{7, 7, large}));
  a.mode = Mode::linear;
  OpTest strings(Op::kGridSample, pack<attrs::GridSample>(a));
  strings.input_strings({1, 1, 1, 2}, {"a", "b"}).input<float>({1, 1, 3, 2}, grid);
  EXPECT_EQ(strings.run(), Status::kUnsupported);
}

TEST(AffineGrid, IdentityShowsTheImage) {  // the grid of the unit transform samples every element at its own place
  for (const bool corners : {false, true}) {
    attrs::AffineGridT a;
    a.align_corners = corners;
    OpTest t(Op::kAffineGrid, pack<attrs::AffineGrid>(a));
    t.input<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0}).input<int64_t>({4}, {1, 1, 3, 2});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({1, 3, 2, 2}));
    attrs::GridSampleT g;
    g.align_corners = corners;
    OpTest s(Op::kGridSample, pack<attrs::GridSample>(g));
    s.input<float>({1, 1, 3, 2}, {0, 1, 2, 3, 4, 5}).input(t.y());
    ASSERT_EQ(s.run(), Status::kOk) << s.message();
    expect_near(s.y().as<float>(), {0, 1, 2, 3, 4, 5});
  }
}

TEST(AffineGrid, VolumesAndRefusals) {
  OpTest t(Op::kAffineGrid, pack<attrs::AffineGrid>(attrs::AffineGridT{}));
  t.input<float>({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 5}).input<int64_t>({5}, {1, 1, 2, 1, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  // Places z -0.5, 0.5; y 0; x -0.5, 0.5: the rows show z, y and x + 5.
  expect_near(t.y().as<float>(), {-0.5f, 0, 4.5f, -0.5f, 0, 5.5f, 0.5f, 0, 4.5f, 0.5f, 0, 5.5f});
  OpTest wrong(Op::kAffineGrid, pack<attrs::AffineGrid>(attrs::AffineGridT{}));
  EXPECT_EQ(wrong.input<float>({1, 2, 3}, F32(6)).input<int64_t>({5}, {1, 1, 1, 1, 1}).run(), Status::kInvalidModel);
}

TEST(GridSample, InfinityHasNoMirrorImage) {  // it is the first element's place
  for (const Mode mode : {Mode::linear, Mode::nearest, Mode::cubic}) {
    for (const float v : sample(mode, Padding::reflection, true, F32(16, INFINITY))) EXPECT_EQ(v, 0);
    for (const float v : sample(mode, Padding::reflection, false, F32(16, -INFINITY))) EXPECT_LE(std::fabs(v), 5);
  }
}

}  // namespace
}  // namespace vireo::grid_sample_test

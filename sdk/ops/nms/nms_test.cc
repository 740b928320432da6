#include <gtest/gtest.h>

#include "sdk/ops/nms/nms_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::nms_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

const F32 kCorners = {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                      0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101};
const F32 kScores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};

I64 select(const F32& boxes, int64_t most, float iou, float score, bool center = false) {
  attrs::NonMaxSuppressionT a;
  a.center_point_box = center;
  OpTest t(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(a));
  t.input<float>({1, 6, 4}, boxes).input<float>({1, 1, 6}, kScores);
  t.input<int64_t>({1}, {most}).input<float>({1}, {iou}).input<float>({}, {score});
  EXPECT_EQ(t.run(), Status::kOk) << t.message();
  return t.y().as<int64_t>();
}

// ONNX "NonMaxSuppression": suppress_by_IOU, suppress_by_IOU_and_scores, limit_output_size, flipped_coordinates,
// center_point_box_format.
TEST(NonMaxSuppression, OnnxExamples) {
  EXPECT_EQ(select(kCorners, 3, 0.5f, 0), (I64{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(select(kCorners, 3, 0.5f, 0.4f), (I64{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(select(kCorners, 2, 0.5f, 0), (I64{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(select({1, 1, 0, 0, 0, 0.1f, 1, 1.1f, 0, 0.9f, 1, -0.1f, 0, 10, 1, 11, 1, 10.1f, 0, 11.1f, 1, 101, 0, 100},
                   3, 0.5f, 0),
            (I64{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(select({0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                    0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1},
                   3, 0.5f, 0, /*center=*/true),
            (I64{0, 0, 3, 0, 0, 0, 0, 0, 5}));
}

TEST(NonMaxSuppression, WithoutALimitNothingComesOut) {
  EXPECT_EQ(select(kCorners, 0, 0.5f, 0), I64{});
  OpTest t(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(attrs::NonMaxSuppressionT{}));
  ASSERT_EQ(t.input<float>({1, 6, 4}, kCorners).input<float>({1, 1, 6}, kScores).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({0, 3}));
}

TEST(NonMaxSuppression, BatchesAndClassesAreApart) {  // equal scores: the lower index first
  OpTest t(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(attrs::NonMaxSuppressionT{}));
  t.input<float>({2, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6});
  t.input<float>({2, 1, 2}, {0.5f, 0.5f, 0.1f, 0.9f}).input<int64_t>({}, {9});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (I64{0, 0, 0, 1, 0, 1, 1, 0, 0}));
}

TEST(NonMaxSuppression, Refuses) {
  OpTest t(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(attrs::NonMaxSuppressionT{}));
  EXPECT_EQ(t.input<float>({1, 6, 4}, kCorners).input<float>({1, 1, 5}, F32(5)).run(), Status::kInvalidModel);
}

TEST(NonMaxSuppression, BatchesOfNoBoxes) {
  OpTest t(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(attrs::NonMaxSuppressionT{}));
  t.input<float>({int64_t{1} << 60, 0, 4}, {}).input<float>({int64_t{1} << 60, 1, 0}, {}).input<int64_t>({}, {3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({0, 3}));
}

}  // namespace
}  // namespace vireo::nms_test

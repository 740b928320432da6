#include <gtest/gtest.h>

#include "sdk/ops/det/det_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::det_test {
namespace {

OpTest det() { return OpTest(Op::kDet, pack<attrs::Det>(attrs::DetT{})); }

TEST(Det, OnnxExamples) {  // ONNX "Det", examples 2d and nd
  OpTest t = det();
  t.input<float>({2, 2}, {0, 1, 2, 3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape.rank, 0);
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-2}));
  OpTest u = det();
  u.input<float>({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 1, 1, 3, 3, 1}).slots(2);
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{-2, -3, -8}));
}

TEST(Det, SingularPermutedAndEmpty) {
  OpTest t = det();
  t.input<double>({3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>()[0], 0);
  OpTest u = det();
  u.input<double>({3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<double>()[0], 1);
  OpTest v = det();
  v.input<double>({0, 0}, {});
  ASSERT_EQ(v.run(), Status::kOk) << v.message();
  EXPECT_EQ(v.y().as<double>()[0], 1);
}

TEST(Det, RefusesRectangles) {
  OpTest t = det();
  t.input<float>({1, 2}, {0, 1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::det_test

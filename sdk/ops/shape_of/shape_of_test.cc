#include <gtest/gtest.h>

#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::shape_of_test {
namespace {

std::vector<int64_t> shape_of(int64_t start, int64_t end) {
  attrs::ShapeT a;
  a.start = start;
  a.end = end;
  OpTest t(Op::kShape, pack<attrs::Shape>(a));
  t.input<uint8_t>({3, 4, 5}, std::vector<uint8_t>(60));
  EXPECT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.dtype, DType::kI64);
  return t.y().as<int64_t>();
}

TEST(Shape, OnnxExamples) {  // ONNX "Shape": shape, start_1, end_negative_1, start_1_end_2, clip_start, clip_end
  using V = std::vector<int64_t>;
  EXPECT_EQ(shape_of(0, INT64_MAX), (V{3, 4, 5}));
  EXPECT_EQ(shape_of(1, INT64_MAX), (V{4, 5}));
  EXPECT_EQ(shape_of(0, -1), (V{3, 4}));
  EXPECT_EQ(shape_of(1, 2), (V{4}));
  EXPECT_EQ(shape_of(-10, INT64_MAX), (V{3, 4, 5}));
  EXPECT_EQ(shape_of(0, 10), (V{3, 4, 5}));
  EXPECT_EQ(shape_of(2, 1), (V{}));
}

TEST(Size, CountsElements) {
  for (const auto& [dims, n] : {std::pair<std::vector<int64_t>, int64_t>{{2, 3}, 6}, {{}, 1}, {{4, 0}, 0}}) {
    OpTest t(Op::kSize, pack<attrs::Size>(attrs::SizeT{}));
    t.input<int8_t>(dims, std::vector<int8_t>(static_cast<size_t>(n)));
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape.rank, 0);
    EXPECT_EQ(t.y().as<int64_t>(), std::vector<int64_t>{n});
  }
}

}  // namespace
}  // namespace vireo::shape_of_test

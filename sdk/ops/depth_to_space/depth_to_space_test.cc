#include <gtest/gtest.h>

#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::depth_to_space_test {
namespace {

using F32 = std::vector<float>;

std::vector<uint8_t> depth(int b, attrs::DepthToSpaceMode m) {
  attrs::DepthToSpaceT a;
  a.blocksize = b;
  a.mode = m;
  return pack<attrs::DepthToSpace>(a);
}
std::vector<uint8_t> space(int b, attrs::DepthToSpaceMode m = attrs::DepthToSpaceMode::dcr) {
  attrs::SpaceToDepthT a;
  a.blocksize = b;
  a.mode = m;
  return pack<attrs::SpaceToDepth>(a);
}

// ONNX "DepthToSpace": depthtospace_example and depthtospace_crd_mode_example, rows 0 and 1 of [1, 8, 2, 3] in steps
// of 9.
TEST(DepthToSpace, OnnxExamples) {
  F32 x;
  for (int c = 0; c < 8; ++c) {
    for (int i = 0; i < 6; ++i) x.push_back(static_cast<float>(9 * c + i));
  }
  OpTest dcr(Op::kDepthToSpace, depth(2, attrs::DepthToSpaceMode::dcr));
  ASSERT_EQ(dcr.input<float>({1, 8, 2, 3}, x).run(), Status::kOk) << dcr.message();
  EXPECT_EQ(dcr.y().type.shape, make_shape({1, 2, 4, 6}));
  EXPECT_EQ(dcr.y().as<float>(),
            (F32{0, 18, 1,  19, 2,  20, 36, 54, 37, 55, 38, 56, 3,  21, 4,  22, 5,  23, 39, 57, 40, 58, 41, 59,
                 9, 27, 10, 28, 11, 29, 45, 63, 46, 64, 47, 65, 12, 30, 13, 31, 14, 32, 48, 66, 49, 67, 50, 68}));
  OpTest crd(Op::kDepthToSpace, depth(2, attrs::DepthToSpaceMode::crd));
  ASSERT_EQ(crd.input<float>({1, 8, 2, 3}, x).run(), Status::kOk) << crd.message();
  EXPECT_EQ(crd.y().as<float>(),
            (F32{0,  9,  1,  10, 2,  11, 18, 27, 19, 28, 20, 29, 3,  12, 4,  13, 5,  14, 21, 30, 22, 31, 23, 32,
                 36, 45, 37, 46, 38, 47, 54, 63, 55, 64, 56, 65, 39, 48, 40, 49, 41, 50, 57, 66, 58, 67, 59, 68}));
}

TEST(SpaceToDepth, UndoesDepthToSpace) {
  F32 x(2 * 18 * 2 * 5);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const auto mode : {attrs::DepthToSpaceMode::dcr, attrs::DepthToSpaceMode::crd}) {
    OpTest wide(Op::kDepthToSpace, depth(3, mode));
    ASSERT_EQ(wide.input<float>({2, 18, 2, 5}, x).run(), Status::kOk) << wide.message();
    EXPECT_EQ(wide.y().type.shape, make_shape({2, 2, 6, 15}));
    OpTest back(Op::kSpaceToDepth, space(3, mode));
    ASSERT_EQ(back.input(wide.y()).run(), Status::kOk) << back.message();
    EXPECT_EQ(back.y().as<float>(), x);
  }
}

TEST(DepthToSpace, Refuses) {
  OpTest channels(Op::kDepthToSpace, depth(2, attrs::DepthToSpaceMode::dcr));
  EXPECT_EQ(channels.input<float>({1, 3, 1, 1}, F32(3)).run(), Status::kInvalidModel);
  OpTest rows(Op::kSpaceToDepth, space(2));
  EXPECT_EQ(rows.input<float>({1, 1, 3, 2}, F32(6)).run(), Status::kInvalidModel);
  OpTest block(Op::kSpaceToDepth, space(0));
  EXPECT_EQ(block.input<float>({1, 1, 2, 2}, F32(4)).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::depth_to_space_test

#include <gtest/gtest.h>

#include "sdk/ops/max_unpool/max_unpool_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::max_unpool_test {
namespace {

using F32 = std::vector<float>;

std::vector<uint8_t> attrs_of() {
  attrs::MaxUnpoolT a;
  a.kernel_shape = {2, 2};
  a.strides = {2, 2};
  a.pads = {0, 0, 0, 0};
  return pack<attrs::MaxUnpool>(a);
}

TEST(MaxUnpool, OnnxExamples) {  // ONNX "MaxUnpool": export_without_output_shape, export_with_output_shape
  OpTest natural(Op::kMaxUnpool, attrs_of());
  natural.input<float>({1, 1, 2, 2}, {1, 2, 3, 4}).input<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  ASSERT_EQ(natural.run(), Status::kOk) << natural.message();
  EXPECT_EQ(natural.y().as<float>(), (F32{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}));
  OpTest larger(Op::kMaxUnpool, attrs_of());
  larger.input<float>({1, 1, 2, 2}, {5, 6, 7, 8}).input<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  larger.input<int64_t>({4}, {1, 1, 5, 5});
  ASSERT_EQ(larger.run(), Status::kOk) << larger.message();
  EXPECT_EQ(larger.y().as<float>(), (F32{0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0}));
}

TEST(MaxUnpool, Refuses) {
  for (const int64_t i : {4, -1}) {
    OpTest t(Op::kMaxUnpool, attrs_of());
    t.input<float>({1, 1, 1, 1}, {1}).input<int64_t>({1, 1, 1, 1}, {i});
    EXPECT_EQ(t.run(), Status::kInvalidArgument);
  }
  OpTest shapes(Op::kMaxUnpool, attrs_of());
  EXPECT_EQ(shapes.input<float>({1, 1, 1, 1}, {1}).input<int64_t>({1, 1, 1, 2}, {0, 0}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::max_unpool_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/nonzero/nonzero_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::nonzero_test {
namespace {

using I64 = std::vector<int64_t>;

std::vector<uint8_t> nonzero() { return pack<attrs::NonZero>(attrs::NonZeroT{}); }

TEST(NonZero, OnnxExample) {  // ONNX "NonZero": nonzero_example
  OpTest t(Op::kNonZero, nonzero());
  ASSERT_EQ(t.input_bool({2, 2}, {1, 0, 1, 1}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 3}));
  EXPECT_EQ(t.y().as<int64_t>(), (I64{0, 1, 1, 0, 0, 1}));
}

TEST(NonZero, MinusZeroIsZeroAndNanIsNot) {
  OpTest t(Op::kNonZero, nonzero());
  ASSERT_EQ(t.input<float>({4}, {-0.0f, NAN, 0, 1e-45f}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (I64{1, 3}));
  OpTest integer(Op::kNonZero, nonzero());
  ASSERT_EQ(integer.input<int32_t>({2}, {INT32_MIN, 0}).run(), Status::kOk) << integer.message();
  EXPECT_EQ(integer.y().as<int64_t>(), (I64{0}));
}

TEST(NonZero, ScalarAndEmpty) {
  OpTest scalar(Op::kNonZero, nonzero());
  ASSERT_EQ(scalar.input<float>({}, {2}).run(), Status::kOk) << scalar.message();
  EXPECT_EQ(scalar.y().type.shape, make_shape({0, 1}));
  OpTest none(Op::kNonZero, nonzero());
  ASSERT_EQ(none.input<float>({2, 2}, {0, 0, 0, 0}).run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y().type.shape, make_shape({2, 0}));
}

TEST(Compress, OnnxExamples) {  // ONNX "Compress": compress_0, compress_1, compress_default_axis, negative axis
  const auto run = [](bool flat, int axis, const std::vector<uint8_t>& condition) {
    attrs::CompressT a;
    a.flat = flat;
    a.axis = axis;
    OpTest t(Op::kCompress, pack<attrs::Compress>(a));
    t.input<float>({3, 2}, {1, 2, 3, 4, 5, 6}).input_bool({static_cast<int64_t>(condition.size())}, condition);
    EXPECT_EQ(t.run(), Status::kOk) << t.message();
    return t.y().as<float>();
  };
  EXPECT_EQ(run(false, 0, {0, 1, 1}), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(run(false, 1, {0, 1}), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(run(false, -1, {0, 1}), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(run(true, 0, {0, 1, 0, 0, 1}), (std::vector<float>{2, 5}));
}

TEST(Compress, RefusesATrueConditionPastTheEnd) {
  OpTest past(Op::kCompress, pack<attrs::Compress>(attrs::CompressT{}));
  EXPECT_EQ(past.input<float>({2}, {1, 2}).input_bool({3}, {0, 0, 1}).run(), Status::kInvalidArgument);
  OpTest harmless(Op::kCompress, pack<attrs::Compress>(attrs::CompressT{}));
  EXPECT_EQ(harmless.input<float>({2}, {1, 2}).input_bool({3}, {0, 1, 0}).run(), Status::kOk) << harmless.message();
}

TEST(NonZero, PowersOfTwoAreNever0) {
  OpTest t(Op::kNonZero, nonzero());
  TestTensor x;
  x.type = {DType::kF8E8M0, make_shape({3})};
  x.bytes = {0, 127, 255};  // 2^-127, 1, NaN
  t.input(x);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace vireo::nonzero_test

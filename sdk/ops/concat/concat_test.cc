#include <gtest/gtest.h>

#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::concat_test {
namespace {

std::vector<uint8_t> axis(int a) {
  attrs::ConcatT t;
  t.axis = a;
  return pack<attrs::Concat>(t);
}
std::vector<uint8_t> split_axis(int a, int parts = 0) {
  attrs::SplitT t;
  t.axis = a;
  t.num_outputs = parts;
  return pack<attrs::Split>(t);
}

TEST(Concat, OnnxExamples) {  // ONNX "Concat", concat_2d_axis_0, concat_2d_axis_1, concat_2d_axis_negative_1
  const std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  for (const int k : {0, 1, -1}) {
    OpTest t(Op::kConcat, axis(k));
    t.input<float>({2, 2}, a).input<float>({2, 2}, b);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(),
              k == 0 ? (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}) : (std::vector<float>{1, 2, 5, 6, 3, 4, 7, 8}));
  }
}

TEST(Concat, SplitUndoesIt) {
  for (const int k : {0, 1, 2}) {
    OpTest whole(Op::kConcat, axis(k));
    std::vector<std::vector<int16_t>> parts;
    std::vector<int64_t> sizes;
    for (const int64_t n : {2, 0, 1, 3}) {
      std::vector<int64_t> dims = {2, 3, 2};
      dims[static_cast<size_t>(k)] = n;
      std::vector<int16_t> x(static_cast<size_t>(dims[0] * dims[1] * dims[2]));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int16_t>(100 * n + static_cast<int64_t>(i));
      whole.input<int16_t>(dims, x);
      parts.push_back(x);
      sizes.push_back(n);
    }
    ASSERT_EQ(whole.run(), Status::kOk) << whole.message();
    OpTest back(Op::kSplit, split_axis(k));
    back.input(whole.y()).input<int64_t>({4}, sizes).outputs(4);
    ASSERT_EQ(back.run(), Status::kOk) << back.message();
    for (int o = 0; o < 4; ++o) EXPECT_EQ(back.y(o).as<int16_t>(), parts[static_cast<size_t>(o)]);
  }
}

TEST(Concat, OddCountsOfPackedElements) {
  OpTest t(Op::kConcat, axis(0));
  t.input(TestTensor{{DType::kU4, make_shape({3})}, {0x21, 0x03}, {}});
  t.input(TestTensor{{DType::kU4, make_shape({2})}, {0x54}, {}});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  ASSERT_EQ(t.y().bytes.size(), 3u);
  EXPECT_EQ(t.y().bytes[0], 0x21);
  EXPECT_EQ(t.y().bytes[1], 0x43);
  EXPECT_EQ(t.y().bytes[2] & 0x0F, 0x05);
}

TEST(Concat, Refuses) {
  OpTest shapes(Op::kConcat, axis(0));
  EXPECT_EQ(shapes.input<float>({1, 2}, {1, 2}).input<float>({1, 1}, {1}).run(), Status::kInvalidModel);
  OpTest types(Op::kConcat, axis(0));
  EXPECT_EQ(types.input<float>({1}, {1}).input<int32_t>({1}, {1}).run(), Status::kInvalidModel);
  OpTest scalars(Op::kConcat, axis(0));
  EXPECT_EQ(scalars.input<float>({}, {1}).run(), Status::kInvalidModel);
}

// Of parts so large that threads share them: along the outermost dimension, which is the only one or is not.
TEST(Concat, ThreadsShareLargeParts) {
  constexpr int64_t kRows = 37, kColumns = 1500;
  for (const int k : {0, 1}) {
    OpTest whole(Op::kConcat, axis(k));
    std::vector<int32_t> parts[2];
    for (std::vector<int32_t>& part : parts) {
      part.resize(kRows * kColumns);
      for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<int32_t>(2 * i) + (&part == parts ? 0 : 1);
      whole.input<int32_t>({kRows, kColumns}, part);
    }
    ASSERT_EQ(whole.slots(3).run(), Status::kOk) << whole.message();
    OpTest back(Op::kSplit, split_axis(k));
    back.input(whole.y()).absent().outputs(2);
    ASSERT_EQ(back.slots(3).run(), Status::kOk) << back.message();
    EXPECT_EQ(back.y(0).as<int32_t>(), parts[0]);
    EXPECT_EQ(back.y(1).as<int32_t>(), parts[1]);
    const std::vector<int32_t> y = whole.y().as<int32_t>();
    EXPECT_EQ(y[kColumns], k == 0 ? 2 * kColumns : 1);
    EXPECT_EQ(y[kRows * kColumns], k == 0 ? 1 : parts[1][18 * kColumns]);
  }
}

}  // namespace
}  // namespace vireo::concat_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::softmax_test {
namespace {

std::vector<uint8_t> axis(int a) {
  attrs::SoftmaxT t;
  t.axis = a;
  return pack<attrs::Softmax>(t);
}

TEST(Softmax, OnnxExample) {  // ONNX "Softmax", example softmax_example
  OpTest t(Op::kSoftmax, axis(-1));
  t.input<float>({1, 3}, {-1, 0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<float>();
  EXPECT_NEAR(y[0], 0.09003057f, 1e-7f);
  EXPECT_NEAR(y[1], 0.24472848f, 1e-7f);
  EXPECT_NEAR(y[2], 0.66524094f, 1e-7f);
}

TEST(Softmax, MiddleAxisInPlace) {
  OpTest t(Op::kSoftmax, axis(1));
  t.input<float>({2, 2, 2}, {0, 1, 0, 1, 5, 5, 5, 5}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  for (float v : t.y().as<float>()) EXPECT_EQ(v, 0.5f);
}

TEST(Softmax, ShiftInvariant) {  // on a 1/64 grid x + 3 and x - max are exact, so the answers agree to the bit
  std::vector<float> x, shifted;
  for (int i = 0; i < 60; ++i) {
    x.push_back(static_cast<float>((i * 37) % 512 - 256) / 64);
    shifted.push_back(x.back() + 3);
  }
  for (Op op : {Op::kSoftmax, Op::kLogSoftmax, Op::kHardmax}) {
    OpTest a(op, axis(1)), b(op, axis(1));
    ASSERT_EQ(a.input<float>({3, 10, 2}, x).run(), Status::kOk) << a.message();
    ASSERT_EQ(b.input<float>({3, 10, 2}, shifted).run(), Status::kOk) << b.message();
    EXPECT_EQ(a.y().bytes, b.y().bytes);
  }
}

TEST(LogSoftmax, OnnxExample) {  // ONNX "LogSoftmax", logsoftmax_example_1 and logsoftmax_large_number
  OpTest t(Op::kLogSoftmax, axis(-1));
  t.input<float>({2, 3}, {-1, 0, 1, 10000, 10001, 10002}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<float>();
  for (size_t row : {size_t{0}, size_t{3}}) {
    EXPECT_NEAR(y[row], -2.4076061f, 1e-6f);
    EXPECT_NEAR(y[row + 1], -1.407606f, 1e-6f);
    EXPECT_NEAR(y[row + 2], -0.407606f, 1e-6f);
  }
}

TEST(Hardmax, OnnxExample) {  // ONNX "Hardmax", hardmax_example and hardmax_one_hot
  OpTest t(Op::kHardmax, axis(-1));
  t.input<float>({3, 4}, {3, 0, 1, 2, 2, 5, 1, 0, 3, 3, 3, 1}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}));
}

TEST(Softmax, RefusesAxis) {
  OpTest t(Op::kSoftmax, axis(2));
  t.input<float>({1, 3}, {-1, 0, 1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::softmax_test

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo {
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

TEST(Softmax, RefusesAxis) {
  OpTest t(Op::kSoftmax, axis(2));
  t.input<float>({1, 3}, {-1, 0, 1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo

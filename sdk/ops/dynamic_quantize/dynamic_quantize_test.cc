#include <gtest/gtest.h>

#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::dynamic_quantize_test {
namespace {

OpTest quantize(const std::vector<float>& x) {
  OpTest t(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}));
  t.input<float>({static_cast<int64_t>(x.size())}, x).outputs(3);
  return t;
}

TEST(DynamicQuantizeLinear, OnnxExamples) {  // ONNX "DynamicQuantizeLinear", examples ..., max_adjusted, min_adjusted
  OpTest t = quantize({0, 2, -3, -2.5f, 1.34f, 0.5f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<uint8_t>(), (std::vector<uint8_t>{153, 255, 0, 26, 221, 179}));
  EXPECT_NEAR(t.y(1).as<float>()[0], 0.019607843f, 1e-9f);
  EXPECT_EQ(t.y(2).as<uint8_t>()[0], 153);
  OpTest u = quantize({-1, -2.1f, -1.3f, -2.5f, -3.34f, -4});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y(0).as<uint8_t>(), (std::vector<uint8_t>{191, 121, 172, 96, 42, 0}));
  EXPECT_EQ(u.y(2).as<uint8_t>()[0], 255);
  OpTest v = quantize({1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f});
  ASSERT_EQ(v.run(), Status::kOk) << v.message();
  EXPECT_EQ(v.y(0).as<uint8_t>(), (std::vector<uint8_t>{64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149}));
  EXPECT_EQ(v.y(2).as<uint8_t>()[0], 0);
}

TEST(DynamicQuantizeLinear, ZerosAndNothing) {
  for (const std::vector<float>& x : {std::vector<float>{0, 0}, std::vector<float>{}}) {
    OpTest t = quantize(x);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y(0).as<uint8_t>(), std::vector<uint8_t>(x.size(), 0));
    EXPECT_EQ(t.y(1).as<float>()[0], 1.0f);
  }
}

TEST(DynamicQuantizeLinear, RefusesIntegers) {
  OpTest t(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}));
  t.input<int32_t>({1}, {1}).outputs(3);
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::dynamic_quantize_test

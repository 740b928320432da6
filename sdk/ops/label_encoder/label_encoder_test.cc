#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::label_encoder_test {
namespace {

attrs::LabelEncoderT table(DType key, DType value) {
  attrs::LabelEncoderT a;
  a.key_type = static_cast<uint8_t>(key);
  a.value_type = static_cast<uint8_t>(value);
  return a;
}

TEST(LabelEncoder, StringsToIntegers) {  // ai.onnx.ml 4 "LabelEncoder", the example of its text
  attrs::LabelEncoderT a = table(DType::kString, DType::kI64);
  a.keys_strings = {"Amy", "Sally"};
  a.values_integers = {5, 6};
  OpTest t(Op::kLabelEncoder, pack<attrs::LabelEncoder>(a));
  t.input_strings({5}, {"Dori", "Amy", "Amy", "Sally", "Sally"});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{-1, 5, 5, 6, 6}));
}

TEST(LabelEncoder, IntegersToStrings) {
  attrs::LabelEncoderT a = table(DType::kI32, DType::kString);
  a.keys_integers = {-7, 0, 2, 9};
  a.values_strings = {"a", "", "c", "d"};
  a.default_string = "_Unused";
  OpTest t(Op::kLabelEncoder, pack<attrs::LabelEncoder>(a));
  t.input<int32_t>({2, 3}, {9, -7, 1, 2, 0, 10});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 3}));
  EXPECT_EQ(t.y().strings, (std::vector<std::string>{"d", "a", "_Unused", "c", "", "_Unused"}));
}

TEST(LabelEncoder, EveryNanIsOneKey) {
  attrs::LabelEncoderT a = table(DType::kF32, DType::kF64);
  a.keys_reals = {-1, 0, 3, NAN};
  a.values_reals = {10, 20, 30, 40};
  a.default_real = 50;
  OpTest t(Op::kLabelEncoder, pack<attrs::LabelEncoder>(a));
  t.input<float>({5}, {float_from_bits(0xFFC00001u), -0.0f, 3, 4, -1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>(), (std::vector<double>{40, 20, 30, 50, 10}));
}

TEST(LabelEncoder, RefusesWhatDoesNotFit) {
  attrs::LabelEncoderT a = table(DType::kI64, DType::kI64);
  a.keys_integers = {1, 2};
  a.values_integers = {1};
  const std::vector<uint8_t> uneven = pack<attrs::LabelEncoder>(a);
  EXPECT_FALSE(find_op(Op::kLabelEncoder)->def->verify(Span<const uint8_t>(uneven.data(), uneven.size())));
  a.key_type = static_cast<uint8_t>(DType::kString);  // and no string keys
  const std::vector<uint8_t> none = pack<attrs::LabelEncoder>(a);
  EXPECT_FALSE(find_op(Op::kLabelEncoder)->def->verify(Span<const uint8_t>(none.data(), none.size())));
  a.key_type = static_cast<uint8_t>(DType::kI64);
  a.values_integers = {1, 2};
  OpTest t(Op::kLabelEncoder, pack<attrs::LabelEncoder>(a));
  t.input<float>({1}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::label_encoder_test

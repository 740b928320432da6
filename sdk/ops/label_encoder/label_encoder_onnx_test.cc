#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/import_testing.h"

namespace vireo::label_encoder_onnx_test {
namespace {

using Words = std::vector<std::string>;
using Integers = std::vector<int64_t>;

TestTensor words(const Words& values) {
  TestTensor t;
  t.type = {DType::kString, make_shape({static_cast<int64_t>(values.size())})};
  t.strings = values;
  return t;
}
ImportTest encoder(int opset) { return ImportTest("LabelEncoder", opset, "ai.onnx.ml"); }

TEST(LabelEncoderImport, FirstVersionGoesBothWays) {
  ImportTest to = encoder(1), from = encoder(1);
  to.attr("classes_strings", Words{"b", "", "a"}).attr("default_int64", 7).input(words({"a", "", "x"}));
  ASSERT_EQ(to.run(), Status::kOk) << to.message();
  EXPECT_EQ(to.y().as<int64_t>(), (Integers{2, 1, 7}));
  from.attr("classes_strings", Words{"b", "", "a"}).attr("default_string", "?").input<int64_t>({3}, {2, 1, 3});
  ASSERT_EQ(from.run(), Status::kOk) << from.message();
  EXPECT_EQ(from.y().strings, (Words{"a", "", "?"}));
}

TEST(LabelEncoderImport, ListsAndTheirDefaults) {
  ImportTest t = encoder(2);
  t.attr("keys_int64s", Integers{5, -3})
      .attr("values_floats", std::vector<float>{0.5f, 2})
      .input<int64_t>({3}, {-3, 5, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>()[0], 2.0f);
  EXPECT_EQ(t.y().as<float>()[1], 0.5f);
  EXPECT_TRUE(std::signbit(t.y().as<float>()[2]));  // ONNX's default is -0
}

TEST(LabelEncoderImport, TensorsAndRepeatedKeys) {
  ImportTest t = encoder(4);
  t.attr("keys_tensor", ImportTest::tensor<int16_t>({3}, {4, 1, 4}))
      .attr("values_tensor", ImportTest::tensor<double>({3}, {1, 2, 3}));
  t.attr("default_tensor", ImportTest::tensor<double>({1}, {9})).input<int16_t>({3}, {4, 1, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>(), (std::vector<double>{3, 2, 9}));  // opset 4: the last of equal keys
}

TEST(LabelEncoderImport, NoKeysAtAll) {
  ImportTest t = encoder(2);
  t.attr("keys_strings", Words{}).attr("values_int64s", Integers{}).input(words({"a"}));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (Integers{-1}));
}

TEST(LabelEncoderImport, Refusals) {
  ImportTest both = encoder(2), uneven = encoder(2), bits = encoder(4);
  both.attr("keys_int64s", Integers{1}).attr("keys_strings", Words{"a"}).attr("values_int64s", Integers{1});
  EXPECT_EQ(both.input<int64_t>({1}, {1}).run(), Status::kInvalidModel);
  uneven.attr("keys_int64s", Integers{1, 2}).attr("values_int64s", Integers{1});
  EXPECT_EQ(uneven.input<int64_t>({1}, {1}).run(), Status::kInvalidModel);
  bits.attr("keys_tensor", ImportTest::tensor<uint64_t>({1}, {1})).attr("values_int64s", Integers{1});
  EXPECT_EQ(bits.input<uint64_t>({1}, {1}).run(), Status::kUnsupported);
}

TEST(CategoryMapperImport, IsALabelEncoder) {
  ImportTest to("CategoryMapper", 1, "ai.onnx.ml"), from("CategoryMapper", 1, "ai.onnx.ml");
  for (ImportTest* t : {&to, &from}) t->attr("cats_int64s", Integers{10, 20}).attr("cats_strings", Words{"x", "y"});
  ASSERT_EQ(to.input(words({"y", "z"})).run(), Status::kOk) << to.message();
  EXPECT_EQ(to.y().as<int64_t>(), (Integers{20, -1}));
  ASSERT_EQ(from.input<int64_t>({2}, {10, 11}).run(), Status::kOk) << from.message();
  EXPECT_EQ(from.y().strings, (Words{"x", "_Unused"}));
}

}  // namespace
}  // namespace vireo::label_encoder_onnx_test

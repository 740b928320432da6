#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::identity_onnx_test {
namespace {

TEST(DropoutImport, MaskOfEveryVersion) {
  for (int opset : {1, 6, 7, 10, 12, 13, 22}) {
    ImportTest t("Dropout", opset);
    ASSERT_EQ(t.input<float>({2}, {1, -2}).outputs(2).run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, -2}));
    EXPECT_EQ(t.y(1).type, (TensorType{opset < 10 ? DType::kF32 : DType::kBool, make_shape({2})})) << opset;
    if (opset < 10) {
      EXPECT_EQ(t.y(1).as<float>(), (std::vector<float>{1, 1}));
    } else {
      EXPECT_EQ(t.y(1).bytes, (std::vector<uint8_t>{1, 1}));
    }
  }
}

TEST(DropoutImport, TrainingMode) {
  TestTensor yes = ImportTest::tensor<uint8_t>({}, {1}), no = ImportTest::tensor<uint8_t>({}, {0});
  yes.type.dtype = no.type.dtype = DType::kBool;
  const auto run = [](float ratio, const TestTensor& training, bool constant) {
    ImportTest t("Dropout", 13);
    t.input<float>({1}, {1}).constant<float>({}, {ratio});
    constant ? t.constant(training) : t.input(training);
    return t.run();
  };
  EXPECT_EQ(run(0.5f, no, true), Status::kOk);
  EXPECT_EQ(run(0.0f, yes, true), Status::kOk);
  EXPECT_EQ(run(0.5f, yes, true), Status::kOk);
  EXPECT_EQ(run(0.5f, no, false), Status::kOk);
}

// Of 4000 elements, kept with probability 3/4: 3000 +- 5 standard deviations of 27.4; each is 0 or divided by 3/4.
TEST(DropoutImport, TrainingDrawsAndScales) {
  for (const bool constant : {false, true}) {
    TestTensor yes = ImportTest::tensor<uint8_t>({}, {1});
    yes.type.dtype = DType::kBool;
    ImportTest t("Dropout", 13);
    t.attr("seed", 7).input<float>({4000}, std::vector<float>(4000, 3)).constant<float>({}, {0.25f}).outputs(2);
    constant ? t.constant(yes) : t.input(yes);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const std::vector<float> y = t.y().as<float>();
    int kept = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], t.y(1).bytes[i] != 0 ? 4.0f : 0.0f);
      kept += t.y(1).bytes[i];
    }
    EXPECT_GT(kept, 2863);
    EXPECT_LT(kept, 3137);
  }
}

TEST(DropoutImport, InferenceAtRunTimeKeepsAll) {
  TestTensor no = ImportTest::tensor<uint8_t>({}, {0});
  no.type.dtype = DType::kBool;
  ImportTest t("Dropout", 13);
  t.input<float>({3}, {1, -2, 5}).constant<float>({}, {0.5f}).input(no).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, -2, 5}));
  EXPECT_EQ(t.y(1).bytes, (std::vector<uint8_t>{1, 1, 1}));
}

}  // namespace
}  // namespace vireo::identity_onnx_test

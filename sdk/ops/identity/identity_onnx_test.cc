#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo {
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
  EXPECT_EQ(run(0.5f, yes, true), Status::kUnsupported);
  EXPECT_EQ(run(0.5f, no, false), Status::kUnsupported);
}

}  // namespace
}  // namespace vireo

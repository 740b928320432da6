#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::resize_onnx_test {
namespace {

using F32 = std::vector<float>;

// ONNX "Upsample", example upsample_nearest: 2 x 2 blown up by 2 and 3, in the three ways to say it.
TEST(UpsampleImport, ScalesInEveryOpset) {
  const F32 x = {1, 2, 3, 4}, expect = {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4};
  ImportTest first("Upsample", 1), seventh("Upsample", 7), ninth("Upsample", 9);
  first.attr("height_scale", 2.0f).attr("width_scale", 3.0f).input<float>({1, 1, 2, 2}, x);
  seventh.attr("scales", F32{1, 1, 2, 3}).input<float>({1, 1, 2, 2}, x);
  ninth.input<float>({1, 1, 2, 2}, x).input<float>({4}, {1, 1, 2, 3});
  for (ImportTest* t : {&first, &seventh, &ninth}) {
    ASSERT_EQ(t->run(), Status::kOk) << t->message();
    EXPECT_EQ(t->y().as<float>(), expect);
  }
}

TEST(ResizeImport, Opset10TakesTheUpperNeighbourWhereItShrinks) {  // ONNX opset 10 "Resize", resize_nearest_downsample
  ImportTest t("Resize", 10);
  t.input<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).input<float>({4}, {1, 1, 0.6f, 0.6f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (F32{1, 3}));
}

// Places (i + 0.5) / s: of four elements at s = 0.6 the places 0.83 and 2.5; ONNX opset 11 "Resize".
TEST(ResizeImport, PlacesThatNoOpsetButElevenHas) {
  const auto run = [](const char* nearest, const char* mode, F32* y) {
    ImportTest t("Resize", 11);
    t.attr("coordinate_transformation_mode", "tf_half_pixel_for_nn").attr("nearest_mode", nearest).attr("mode", mode);
    t.input<float>({4}, {1, 2, 3, 4}).input<float>({0}, {}).input<float>({1}, {0.6f});
    const Status s = t.run();
    if (s == Status::kOk) *y = t.y().as<float>();
    return s;
  };
  F32 y;
  ASSERT_EQ(run("round_prefer_floor", "nearest", &y), Status::kOk);
  EXPECT_EQ(y, (F32{2, 3}));
  ASSERT_EQ(run("floor", "nearest", &y), Status::kOk);
  EXPECT_EQ(y, (F32{1, 3}));
  EXPECT_EQ(run("ceil", "nearest", &y), Status::kUnsupported);
  EXPECT_EQ(run("round_prefer_floor", "linear", &y), Status::kUnsupported);
}

}  // namespace
}  // namespace vireo::resize_onnx_test

#include "c_api/cli/picture.h"

#include <gtest/gtest.h>

#include <tuple>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::picture_test {
namespace {

vireo_value_info input(vireo_dtype dtype, const std::vector<int64_t>& dims) {
  vireo_value_info info = VIREO_VALUE_INFO_INIT;
  info.dtype = dtype;
  info.name = "image";
  info.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    info.min_dims[i] = dims[i] < 0 ? 1 : dims[i];
    info.max_dims[i] = dims[i];
    info.dim_names[i] = dims[i] < 0 ? "open" : nullptr;
  }
  return info;
}

// 2 wide, 1 high: red, then (10, 20, 30).
std::string two_pixels() {
  const uint8_t pixels[] = {255, 0, 0, 10, 20, 30};
  write_file("two.ppm", "P6 2 1 255\n" + std::string(pixels, pixels + sizeof(pixels)));
  return "two.ppm";
}

TEST(Picture, ScalesToOneAndSplitsChannels) {
  std::string assumed;
  const Array a = read_picture(two_pixels(), input(VIREO_FLOAT32, {1, 3, 1, 2}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(a.dims, (std::vector<int64_t>{1, 3, 1, 2}));
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 0)), 1);
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 1)), 10 / 255.0f);
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 5)), 30 / 255.0f);
  EXPECT_NE(assumed.find("0..1"), std::string::npos);
}

TEST(Picture, BytesStayAsTheyAreAndChannelsLastIsSeen) {
  std::string assumed;
  const Array a = read_picture(two_pixels(), input(VIREO_UINT8, {1, -1, -1, 3}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(a.dims, (std::vector<int64_t>{1, 1, 2, 3}));
  EXPECT_EQ(a.bytes, (std::vector<uint8_t>{255, 0, 0, 10, 20, 30}));
  EXPECT_NE(assumed.find("unscaled"), std::string::npos);
}

TEST(Picture, SignatureSetsOrderRangeMeanAndResize) {
  vireo_meaning meaning = VIREO_MEANING_INIT;
  const float mean[] = {1, 2, 3}, deviation[] = {2, 2, 2};
  meaning.kind = VIREO_MEANING_IMAGE;
  meaning.layout = "NHWC";
  meaning.color = "BGR";
  meaning.resize = "stretch";
  meaning.range_hi = 255;
  meaning.mean = mean;
  meaning.std = deviation;
  meaning.mean_count = meaning.std_count = 3;
  std::string assumed;
  PictureFit fit;
  const Array a = read_picture(two_pixels(), input(VIREO_FLOAT32, {1, 1, 2, 3}), meaning, &assumed, &fit);
  EXPECT_EQ(fit.scale_x, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 0)), (0 - 1) / 2.0f);    // blue of red
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 2)), (255 - 3) / 2.0f);  // red of red
  EXPECT_FLOAT_EQ(static_cast<float>(real_at(a, 3)), (30 - 1) / 2.0f);
  const Array wide = read_picture(two_pixels(), input(VIREO_FLOAT32, {1, 2, 4, 3}), meaning, &assumed, &fit);
  EXPECT_EQ(std::make_tuple(fit.scale_x, fit.scale_y, fit.left, fit.top), std::make_tuple(2.0, 2.0, 0, 0));
  EXPECT_EQ(wide.dims, (std::vector<int64_t>{1, 2, 4, 3}));
  EXPECT_NE(assumed.find("stretched"), std::string::npos);
  // Between the two pixels' centres the values are mixed three to one.
  EXPECT_NEAR(real_at(wide, 3 + 2), (0.75 * 255 + 0.25 * 10 - 3) / 2, 1e-3);
}

TEST(Picture, LetterboxingSaysWhereThePictureWent) {
  vireo_meaning meaning = VIREO_MEANING_INIT;
  meaning.kind = VIREO_MEANING_IMAGE;
  meaning.resize = "letterbox";
  meaning.range_hi = 1;
  std::string assumed;
  PictureFit fit;
  const Array a = read_picture(two_pixels(), input(VIREO_FLOAT32, {1, 3, 8, 4}), meaning, &assumed, &fit);
  EXPECT_EQ(std::make_tuple(fit.scale_x, fit.scale_y, fit.left, fit.top), std::make_tuple(2.0, 2.0, 0, 3));
  EXPECT_EQ(real_at(a, 2 * 4), 0) << "black above the picture";
  EXPECT_EQ(real_at(a, 3 * 4), 1) << "its first pixel";
}

TEST(Picture, AnotherSizeNeedsASignature) {
  std::string assumed;
  EXPECT_THROW(read_picture(two_pixels(), input(VIREO_FLOAT32, {1, 3, 4, 4}), VIREO_MEANING_INIT, &assumed), Failure);
}

TEST(Picture, OpenSizesTakeThePictures) {
  std::string assumed;
  const Array a = read_picture(two_pixels(), input(VIREO_FLOAT32, {-1, 3, -1, -1}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(a.dims, (std::vector<int64_t>{1, 3, 1, 2}));
}

TEST(Picture, GrayIsOfThreeColours) {
  std::string assumed;
  const Array a = read_picture(two_pixels(), input(VIREO_UINT8, {1, 2}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(a.bytes, (std::vector<uint8_t>{76, 18}));
  const Array four = read_picture(two_pixels(), input(VIREO_UINT8, {1, 4, 1, 2}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(four.bytes, (std::vector<uint8_t>{255, 10, 0, 20, 0, 30, 255, 255}));
}

TEST(Picture, MorePixelsThanAreRead) {
  write_file("huge.ppm", std::string("P6 100000 100000 255\n"));
  std::string assumed;
  EXPECT_THROW(read_picture("huge.ppm", input(VIREO_UINT8, {-1, -1}), VIREO_MEANING_INIT, &assumed), Failure);
}

TEST(Picture, DamageIsNamed) {
  write_file("bad.png", std::string("\x89PNG\r\n\x1a\n but no more"));
  std::string assumed;
  EXPECT_THROW(read_picture("bad.png", input(VIREO_FLOAT32, {1, 3, 1, 2}), VIREO_MEANING_INIT, &assumed), Failure);
}

}  // namespace
}  // namespace vireo::cli::picture_test

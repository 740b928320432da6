#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::fourier_onnx_test {
namespace {

using Floats = std::vector<float>;

TEST(DftImport, AxisAsAttributeAndAsInput) {
  // Transforms of length 2 along the first and the last signal axis: sums and differences.
  const Floats x = {1, 2, 3, 5};
  ImportTest first("DFT", 17), last("DFT", 20), chosen("DFT", 20);
  ASSERT_EQ(first.attr("axis", 0).input<float>({2, 2, 1}, x).run(), Status::kOk) << first.message();
  EXPECT_EQ(first.y().as<float>(), (Floats{4, 0, 7, 0, -2, 0, -3, 0}));
  ASSERT_EQ(last.input<float>({2, 2, 1}, x).run(), Status::kOk) << last.message();
  EXPECT_EQ(last.y().as<float>(), (Floats{3, 0, -1, 0, 8, 0, -2, 0}));
  ASSERT_EQ(chosen.input<float>({2, 2, 1}, x).input(TestTensor{}).input<int64_t>({}, {0}).run(), Status::kOk)
      << chosen.message();
  EXPECT_EQ(chosen.y().as<float>(), first.y().as<float>());
}

TEST(StftImport, OnesidedUnlessSaid) {
  for (const int64_t onesided : {1, 0}) {
    ImportTest t("STFT", 17);
    if (onesided == 0) t.attr("onesided", 0);
    t.input<float>({1, 8, 1}, Floats(8, 1)).input<int64_t>({}, {4}).input<float>({4}, Floats(4, 1));
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({1, 2, onesided == 1 ? 3 : 4, 2}));
  }
}

// What torch.stft was exported to, with all four inputs and with a window left out.
TEST(StftImport, ASignalOfRank2IsReal) {
  for (const bool windowed : {true, false}) {
    std::vector<Floats> results;
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 8}, std::vector<int64_t>{2, 8, 1}}) {
      ImportTest t("STFT", 17);
      t.input<float>(shape, {1, 2, 4, 8, 3, -5, 7, 0, 9, 1, -1, 2, 6, 2, 5, 3}).input<int64_t>({1}, {2});
      if (windowed) {
        t.input<float>({4}, {1, 2, 3, 4});
      } else {
        t.input(TestTensor{});
      }
      ASSERT_EQ(t.input<int64_t>({}, {4}).run(), Status::kOk) << t.message();
      EXPECT_EQ(t.y().type.shape, make_shape({2, 3, 3, 2}));
      results.push_back(t.y().as<float>());
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace vireo::fourier_onnx_test

#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"

namespace vireo::cast_onnx_test {
namespace {

TEST(CastImport, TypeByNameInOpset1) {
  ImportTest t("Cast", 1);
  ASSERT_EQ(t.attr("to", "INT32").input<float>({2}, {1.5f, -2}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{1, -2}));
  ImportTest unknown("Cast", 1);
  EXPECT_EQ(unknown.attr("to", "DECIMAL").input<float>({1}, {1}).run(), Status::kInvalidModel);
}

TEST(CastImport, TypeByNumber) {
  ImportTest t("Cast", 13);
  ASSERT_EQ(t.attr("to", 7).input<float>({1}, {3}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{3}));
  for (int64_t to : {0, 99, -1}) {
    ImportTest bad("Cast", 13);
    EXPECT_EQ(bad.attr("to", to).input<float>({1}, {3}).run(), Status::kInvalidModel);
  }
}

TEST(CastImport, CastLikeTakesTheTypeAlone) {
  ImportTest t("CastLike", 19);
  ASSERT_EQ(t.input<float>({2}, {1, 300}).input<uint8_t>({1, 5}, std::vector<uint8_t>(5)).run(), Status::kOk)
      << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{1, 44}));
  EXPECT_EQ(t.emitted(), (std::vector<Op>{Op::kCast}));
}

TEST(CastImport, RoundMode) {
  const std::pair<const char*, uint8_t> modes[] = {{"up", 129}, {"down", 128}, {"nearest", 128}};
  for (const auto& [mode, code] : modes) {  // 2.5 lies between 2^1 and 2^2
    ImportTest t("Cast", 24);
    ASSERT_EQ(t.attr("to", 24).attr("round_mode", mode).input<float>({1}, {2.5f}).run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().bytes[0], code) << mode;
  }
  ImportTest bad("Cast", 24);
  EXPECT_EQ(bad.attr("to", 24).attr("round_mode", "odd").input<float>({1}, {2.5f}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::cast_onnx_test

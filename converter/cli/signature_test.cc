#include <gtest/gtest.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/npy.h"
#include "converter/cli/verbs.h"

namespace vireo::cli::signature_test {
namespace {

ConvertOptions read(const std::string& text) {
  write_file(::testing::TempDir() + "vireo_signature.json", text);
  ConvertOptions options;
  read_signature(::testing::TempDir() + "vireo_signature.json", &options);
  return options;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Signature, ReadsEveryKey) {
  const ConvertOptions options =
      read(R"({"name": "detect", "inputs": [{"name": "image", "meaning": "image", "layout": "NCHW", "color": "BGR",
      "range": [0, 255], "mean": [1, 2, 3], "std": [4, 5, 6], "resize": "letterbox"}], "outputs": [{"name": "boxes"}],
      "states": [{"input": "past", "output": "present"}]})");
  EXPECT_EQ(options.signature_name, "detect");
  ASSERT_EQ(options.io.size(), 2u);
  EXPECT_EQ(options.io[0].color, "BGR");
  EXPECT_EQ(options.io[0].range_hi, 255);
  EXPECT_EQ(options.io[0].std, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(options.states, (std::vector<std::pair<std::string, std::string>>{{"present", "past"}}));
}

TEST(Signature, SoundIsSignedUnlessSaid) {
  EXPECT_EQ(read(R"({"inputs": [{"name": "a", "meaning": "audio", "sample_rate": 16000}]})").io[0].range_lo, -1);
  EXPECT_EQ(read(R"({"inputs": [{"name": "a", "meaning": "audio", "range": [0, 1]}]})").io[0].range_lo, 0);
}

TEST(Signature, NamesWhatIsWrong) {
  EXPECT_NE(refusal("{").find("JSON"), std::string::npos);
  EXPECT_NE(refusal(R"({"input": []})").find("\"input\""), std::string::npos);
  EXPECT_NE(refusal(R"({"inputs": [{"name": "a", "meaning": "smell"}]})").find("smell"), std::string::npos);
  EXPECT_NE(refusal(R"({"inputs": [{"meaning": "image"}]})").find("name"), std::string::npos);
  EXPECT_NE(refusal(R"({"inputs": [{"name": "a", "std": [0]}]})").find("std"), std::string::npos);
  EXPECT_NE(refusal(R"({"inputs": [{"name": "a", "range": [1, 1]}]})").find("range"), std::string::npos);
}

TEST(Tests, KeepOrderStepsAndGaps) {
  Array x = make_array(VIREO_FLOAT32, {2}), step = make_array(VIREO_INT64, {1}), dims = make_array(VIREO_INT64, {2});
  set_real(&step, 0, 3);
  set_real(&dims, 0, 2);
  set_real(&dims, 1, 3);
  write_npz(::testing::TempDir() + "vireo_cases.npz",
            {{"c1_in0", x}, {"c1_in1", step}, {"c1_out1_sub", x}, {"c1_out1_step", step}, {"c1_out1_shape", dims}});
  const std::vector<TestCaseOption> tests = read_tests(::testing::TempDir() + "vireo_cases.npz", -1, -1);
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].inputs.size(), 2u);
  ASSERT_EQ(tests[0].outputs.size(), 2u);
  EXPECT_EQ(tests[0].outputs[0].values.dtype, DType::kNone);  // random by design
  EXPECT_EQ(tests[0].outputs[1].step, 3u);
  EXPECT_EQ(tests[0].outputs[1].dims, (std::vector<int64_t>{2, 3}));
}

}  // namespace
}  // namespace vireo::cli::signature_test

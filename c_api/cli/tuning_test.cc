#include "c_api/cli/tuning.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <filesystem>
#include <string>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::tuning_test {
namespace {

class TuningFile : public ::testing::Test {
 protected:
  void SetUp() override {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, nullptr), VIREO_OK);
  }
  void TearDown() override {
    vireo_runtime_release(runtime_);
    remove(path_.c_str());
  }

  vireo_runtime* runtime_ = nullptr;
  TemporaryFile file_{".json"};
  const std::string path_ = file_.path() + ".tuning";
};

int32_t rank(const Tuning& tuning, uint64_t key, const char* device, const char* kernel) {
  const vireo_candidate candidate = {sizeof(vireo_candidate), key, "node", device, kernel};
  return tuning.preference()->rank(tuning.preference()->context, &candidate);
}

double time_ns(const Tuning& tuning, uint64_t key, const char* device, const char* kernel) {
  const vireo_candidate candidate = {sizeof(vireo_candidate), key, "node", device, kernel};
  return tuning.preference()->time_ns(tuning.preference()->context, &candidate);
}

TEST_F(TuningFile, KeepsWhatWasFastestForItsThreads) {
  {
    Tuning tuning(path_, runtime_, 1, false);
    tuning.put(0xFFFFFFFFFFFFFFFFu, {"cpu", "b", 2.5, 0, {{{"cpu", "a"}, 4}, {{"npu", "c"}, 8}}});
    tuning.write();
  }
  const Tuning again(path_, runtime_, 1), other(path_, runtime_, 2);
  EXPECT_EQ(rank(again, 0xFFFFFFFFFFFFFFFFu, "cpu", "b"), 1);
  EXPECT_EQ(rank(again, 0xFFFFFFFFFFFFFFFFu, "cpu", "a"), 0);
  EXPECT_EQ(rank(again, 0xFFFFFFFFFFFFFFFFu, "xnnpack", "b"), 0);
  EXPECT_EQ(rank(again, 1, "cpu", "b"), 0);
  EXPECT_EQ(rank(other, 0xFFFFFFFFFFFFFFFFu, "cpu", "b"), 0);
  EXPECT_EQ(time_ns(again, 0xFFFFFFFFFFFFFFFFu, "cpu", "b"), 2500);
  EXPECT_EQ(time_ns(again, 0xFFFFFFFFFFFFFFFFu, "cpu", "a"), 4000);
  EXPECT_EQ(time_ns(again, 0xFFFFFFFFFFFFFFFFu, "npu", "c"), 8000);
  EXPECT_EQ(time_ns(again, 0xFFFFFFFFFFFFFFFFu, "npu", "a"), 0);
  EXPECT_EQ(time_ns(again, 1, "cpu", "b"), 0);
}

TEST_F(TuningFile, DropsWhatWasMeasuredLongestAgo) {
  Tuning tuning(path_, runtime_, 1, false);
  for (uint64_t key = 1; key <= Tuning::kMostEntries; ++key) tuning.put(key, {"cpu", "a", 1, 0, {}});
  tuning.put(1, {"cpu", "b", 1, 0, {}});  // again
  tuning.put(Tuning::kMostEntries + 1, {"cpu", "a", 1, 0, {}});
  EXPECT_EQ(tuning.size(), Tuning::kMostEntries);
  EXPECT_NE(tuning.find(1), nullptr);
  EXPECT_EQ(tuning.find(2), nullptr);
  EXPECT_NE(tuning.find(Tuning::kMostEntries + 1), nullptr);
}

TEST_F(TuningFile, OtherCpusAndVersionsAreNotUsed) {
  write_file(path_, R"({"vireo_tuning": 2, "cpu": "another", "next": 1, "entries": [{"key": "x"}]})");
  EXPECT_EQ(Tuning(path_, runtime_, 1).size(), 0u);
  write_file(path_, R"({"vireo_tuning": 2, "cpu": "another", "entries": 7})");
  Tuning tuning(path_, runtime_, 1);
  EXPECT_EQ(tuning.size(), 0u);
  tuning.put(1, {"cpu", "a", 1, 0, {}});
  EXPECT_THROW(tuning.write(), Failure);  // what is there would be lost
}

TEST_F(TuningFile, RefusesWhatIsNoTuningFile) {
  const std::string cpu = Tuning(path_ + ".none", runtime_, 1, false).cpu();
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"vireo_tuning": 2, "cpu": 5})"),
        R"({"vireo_tuning": 2, "cpu": ")" + cpu + R"(", "next": 0, "entries": [{"key": "zz"}]})",
        R"({"vireo_tuning": 2, "cpu": ")" + cpu + R"(", "next": "0", "entries": []})"}) {
    write_file(path_, text);
    EXPECT_THROW(Tuning(path_, runtime_, 1), Failure) << text;
  }
  EXPECT_THROW(Tuning(path_ + ".none", runtime_, 1), Failure);
  EXPECT_EQ(Tuning("", runtime_, 1).preference(), nullptr);
}

// A link to itself, for files that may not even be looked at.
TEST_F(TuningFile, WhatCannotBeReadIsRefusedWhereItIsNeeded) {
  std::filesystem::create_symlink(std::filesystem::path(path_).filename(), path_);
  EXPECT_NO_THROW(Tuning(path_, runtime_, 1, false));
  EXPECT_THROW(Tuning(path_, runtime_, 1), Failure);
}

}  // namespace
}  // namespace vireo::cli::tuning_test

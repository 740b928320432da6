#include "delegates/hip/code_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vireo::hip::code_cache_test {
namespace {

class CodeCache : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "./hip_cacheXXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string only_file() const { return std::filesystem::directory_iterator(folder_)->path().string(); }
  bool has(const std::string& key) {
    found_.clear();
    return read_code(folder_, key, &found_);
  }

  std::string folder_;
  std::vector<char> found_;
  const std::vector<char> code_ = {'c', 0, 'd', 'e'};
};

TEST_F(CodeCache, GivesBackWhatItWasGiven) {
  EXPECT_FALSE(has("key"));
  write_code(folder_, "key", code_);
  ASSERT_TRUE(has("key"));
  EXPECT_EQ(found_, code_);
  EXPECT_FALSE(has("another"));
  write_code(folder_, "key", {'n', 'e', 'w'});
  ASSERT_TRUE(has("key"));
  EXPECT_EQ(found_.size(), 3u);
}

TEST_F(CodeCache, DamageIsSeen) {
  write_code(folder_, "key", code_);
  const std::string file = only_file();
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(has("key")) << at;
    std::ofstream(file, std::ios::binary) << whole.substr(0, at);
    EXPECT_FALSE(has("key")) << at;
  }
  std::ofstream(file, std::ios::binary) << whole;
  EXPECT_TRUE(has("key"));
}

TEST_F(CodeCache, WhatOthersCanWriteIsNotTaken) {
  write_code(folder_, "key", code_);
  ASSERT_TRUE(has("key"));
  ASSERT_EQ(chmod(only_file().c_str(), 0620), 0);
  EXPECT_FALSE(has("key"));
  ASSERT_EQ(chmod(only_file().c_str(), 0600), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(has("key"));
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  ASSERT_TRUE(has("key"));
  const std::string file = only_file(), elsewhere = file + ".moved";
  std::filesystem::rename(file, elsewhere);
  std::filesystem::create_symlink(std::filesystem::absolute(elsewhere), file);
  EXPECT_FALSE(has("key"));
}

TEST_F(CodeCache, AFolderThatIsNotThereHasNothing) {
  write_code(folder_ + "/nowhere", "key", code_);
  EXPECT_FALSE(read_code(folder_ + "/nowhere", "key", &found_));
}

}  // namespace
}  // namespace vireo::hip::code_cache_test

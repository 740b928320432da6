#include "c_api/cli/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "c_api/cli/failure.h"

namespace vireo::cli::file_test {
namespace {

namespace fs = std::filesystem;

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(File, AppearsWholeAndReplaces) {
  fs::remove_all("file_out");
  fs::create_directory("file_out");
  write_file("file_out/a", std::string("one"));
  write_file("file_out/a", std::string("two"));
  const std::vector<uint8_t> got = read_file("file_out/a");
  EXPECT_EQ(std::string(got.begin(), got.end()), "two");
  EXPECT_EQ(entries("file_out"), 1u);
}

TEST(File, MissingFolderIsNamedAndNothingIsLeft) {
  try {
    write_file("no_such_folder/a", std::string("x"));
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("no_such_folder/a"), std::string::npos);
    EXPECT_NE(failure.help().find("create the folder"), std::string::npos);
  }
  EXPECT_THROW(require_writable("no_such_folder/a"), Failure);
}

TEST(File, FullDiskLeavesTheOldFile) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "VIREO_SKIP: no /dev/full here";
  EXPECT_THROW(write_file("/dev/full", std::string(1 << 20, 'x')), Failure);
}

TEST(File, FolderInsteadOfFile) {
  fs::create_directories("file_folder");
  EXPECT_THROW(read_file("file_folder"), Failure);
  EXPECT_THROW(write_file("file_folder", std::string("x")), Failure);
  EXPECT_THROW(read_file("no_such_file"), Failure);
}

TEST(File, SourceAndOutputsAreApart) {
  fs::create_directories("file_apart");
  write_file("file_apart/m.onnx", std::string("x"));
  fs::remove("file_apart/link");
  fs::create_symlink("m.onnx", "file_apart/link");
  require_apart({"file_apart/m.onnx", ""}, {"file_apart/a", "", "", "file_apart/b"});
  EXPECT_THROW(require_apart({"file_apart/m.onnx"}, {"", "file_apart/./m.onnx"}), Failure);
  EXPECT_THROW(require_apart({"file_apart/x", "file_apart/m.onnx"}, {"file_apart/link"}), Failure);
  EXPECT_THROW(require_apart({"file_apart/m.onnx"}, {"file_apart/a", "file_apart/../file_apart/a"}), Failure);
}

TEST(File, TemporaryDisappears) {
  std::string path;
  {
    TemporaryFile file(".vireo");
    path = file.path();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace vireo::cli::file_test

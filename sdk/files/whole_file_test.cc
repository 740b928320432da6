#include "sdk/files/whole_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace vireo::files::whole_file_test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  explicit Folder(const std::string& name) : path_(name) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  std::string path_;
};

std::string whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool put(const std::string& path, const std::string& text) {
  WholeFile file(path);
  return file.write(text.data(), text.size()) && file.finish() && file.appear();
}

TEST(WholeFile, AppearsAndReplaces) {
  const Folder folder("whole_file_replaces");
  const mode_t mask = umask(027);
  ASSERT_TRUE(put(folder / "a", "one"));
  (void)umask(mask);
  struct stat info;
  ASSERT_EQ(stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  WholeFile file(folder / "a");
  ASSERT_TRUE(file.write("...two", 6));
  ASSERT_TRUE(file.write_over("not", 3));
  ASSERT_TRUE(file.finish());
  EXPECT_EQ(whole(folder / "a"), "one");
  ASSERT_TRUE(file.appear());
  EXPECT_EQ(whole(folder / "a"), "nottwo");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WholeFile, LeavesNothingUnlessItAppears) {
  const Folder folder("whole_file_leaves");
  ASSERT_TRUE(put(folder / "a", "one"));
  {
    WholeFile file(folder / "a");
    ASSERT_TRUE(file.write("two", 3));
    ASSERT_TRUE(file.finish());
  }
  EXPECT_EQ(whole(folder / "a"), "one");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WholeFile, NorWhenItsProcessIsKilled) {
  const Folder folder("whole_file_killed");
  const pid_t child = fork();
  if (child == 0) {
    WholeFile file(folder / "a");
    (void)file.write("one", 3);
    (void)kill(getpid(), SIGKILL);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  if (folder.entries() != 0) GTEST_SKIP() << "VIREO_SKIP: no files without names on this file system";
}

TEST(WholeFile, ADiskThatIsFull) {
  const Folder folder("whole_file_full");
  ASSERT_TRUE(put(folder / "a", "one"));
  const pid_t child = fork();
  if (child == 0) {  // a file may have 1,000 bytes; the write that goes beyond is short, the next one fails
    (void)signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    const bool limited = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    WholeFile file(folder / "a");
    const std::string text(600, 'x');
    const bool first = file.write(text.data(), text.size()), second = file.write(text.data(), text.size());
    const bool later = file.write("x", 1) || file.write_over("x", 1) || file.finish() || file.appear();
    _exit(limited && first && !second && !later && file.error() == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(whole(folder / "a"), "one");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WholeFile, SaysWhatIsInTheWay) {
  const Folder folder("whole_file_way");
  EXPECT_EQ(why_not_writable(folder / "a"), 0);
  EXPECT_EQ(why_not_writable(folder / "no/a"), ENOENT);
  EXPECT_EQ(why_not_writable("whole_file_way"), EISDIR);
  EXPECT_EQ(why_not_writable("/dev/null"), EEXIST);
  EXPECT_NE(what_to_do(folder / "no/a", ENOENT).find("whole_file_way/no"), std::string::npos);
  EXPECT_EQ(folder.entries(), 0);
  EXPECT_FALSE(put(folder / "no/a", "one"));
}

}  // namespace
}  // namespace vireo::files::whole_file_test

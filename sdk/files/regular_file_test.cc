#include "sdk/files/regular_file.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

namespace vireo::files::regular_file_test {
namespace {

int why(const std::string& path) {
  size_t bytes = 0;
  int error = 0;
  const int fd = open_regular(path, &bytes, &error);
  if (fd >= 0) close(fd);
  EXPECT_EQ(fd < 0, error != 0) << path;
  EXPECT_NE(why_unreadable(error), "");
  return error;
}

TEST(RegularFile, HasASizeAndCanBeRead) {
  std::ofstream("regular_file", std::ios::binary) << "abc";
  size_t bytes = 0;
  int error = -1;
  const int fd = open_regular("regular_file", &bytes, &error);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(bytes, 3u);
  EXPECT_EQ(error, 0);
  char text[4] = {};
  EXPECT_EQ(read(fd, text, sizeof(text)), 3);
  EXPECT_STREQ(text, "abc");
  close(fd);
}

// Would hang where it waited for a writer, or read on for ever.
TEST(RegularFile, AllElseIsRefusedAtOnce) {
  (void)unlink("regular_fifo");
  ASSERT_EQ(mkfifo("regular_fifo", 0600), 0);
  (void)unlink("regular_socket");
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(listener, 0);
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, "regular_socket");
  ASSERT_EQ(bind(listener, reinterpret_cast<const struct sockaddr*>(&address), sizeof(address)), 0);
  (void)unlink("regular_link");
  ASSERT_EQ(symlink("regular_fifo", "regular_link"), 0);
  for (const char* path : {"regular_fifo", "regular_link", "regular_socket", "/dev/zero", "/dev/null"}) {
    EXPECT_EQ(why(path), ENXIO) << path;
  }
  EXPECT_EQ(why("."), EISDIR);
  EXPECT_EQ(why("regular_absent"), ENOENT);
  EXPECT_NE(why_unreadable(ENXIO).find("not a regular file"), std::string::npos);
  close(listener);
  for (const char* path : {"regular_fifo", "regular_link", "regular_socket"}) (void)unlink(path);
}

}  // namespace
}  // namespace vireo::files::regular_file_test

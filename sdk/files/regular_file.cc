#include "sdk/files/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vireo::files {

int open_regular(const std::string& path, size_t* bytes, int* error) {
  *error = 0;
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // without it a FIFO waits for a writer
  if (fd < 0) {
    *error = errno;  // ENXIO of a socket already
    return -1;
  }
  struct stat info;
  if (fstat(fd, &info) != 0)
    *error = errno;
  else if (S_ISDIR(info.st_mode))
    *error = EISDIR;
  else if (!S_ISREG(info.st_mode))
    *error = ENXIO;
  if (*error != 0) {
    close(fd);
    return -1;
  }
  *bytes = static_cast<size_t>(info.st_size);
  return fd;
}

std::string why_unreadable(int error) {
  if (error == ENXIO) return "not a regular file: it is a pipe, a socket or a device";
  return strerror(error);
}

}  // namespace vireo::files

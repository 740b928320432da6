#include "runtime/platform/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace vireo::cache_folder {
namespace {

constexpr char kTemporary[] = ".vpack-part";
constexpr time_t kAbandonedSeconds = 900;  // after which a temporary file has lost its writer

bool ends_with(const char* text, const char* end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

bool make_folders(const char* folder) {
  char path[PATH_MAX];
  const size_t n = strlen(folder);
  if (n == 0 || n >= sizeof(path)) return false;
  memcpy(path, folder, n + 1);
  for (char* p = path + 1; *p != 0; ++p) {
    if (*p != '/') continue;
    *p = 0;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    *p = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

}  // namespace

bool join(char (&out)[PATH_MAX], const char* folder, const char* name) {
  const int n = snprintf(out, sizeof(out), "%s/%s", folder, name);
  return n > 0 && static_cast<size_t>(n) < sizeof(out);
}

// Others could change what anybody may write; what belongs to root serves all.
bool is_ours(const struct stat& info) {
  return S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0) && (info.st_mode & 022) == 0;
}

bool write_all(int fd, const void* data, uint64_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t piece = bytes < (1u << 30) ? static_cast<size_t>(bytes) : size_t{1} << 30;
    const ssize_t done = write(fd, p, piece);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    bytes -= static_cast<uint64_t>(done);
  }
  return true;
}

int open_temporary(const char* folder, char (&out)[PATH_MAX]) {
  char name[96];
  struct timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, sizeof(name), "%lx-%lx-%lx%s", static_cast<long>(getpid()), static_cast<long>(now.tv_sec),
           static_cast<long>(now.tv_nsec), kTemporary);
  errno = ENAMETOOLONG;
  if (!join(out, folder, name)) return -1;
  errno = ENOENT;  // where the folder has no name
  if (!make_folders(folder)) return -1;
  return open(out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int finish(int fd, bool written, const char* temporary, const char* path) {
  int error = errno;
  if (close(fd) != 0) {
    if (written) error = errno;
    written = false;
  }
  if (written && rename(temporary, path) == 0) return 0;
  if (written) error = errno;
  unlink(temporary);
  return error;
}

void bound(const char* folder, uint64_t most) {
  for (;;) {
    DIR* const list = opendir(folder);
    if (list == nullptr) return;
    uint64_t sum = 0;
    char path[PATH_MAX], oldest[PATH_MAX];
    time_t when = 0;
    oldest[0] = 0;
    while (const struct dirent* entry = readdir(list)) {
      struct stat info;
      const bool part = ends_with(entry->d_name, kTemporary);
      if ((!part && !ends_with(entry->d_name, kEnding)) || !join(path, folder, entry->d_name) ||
          lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        continue;
      }
      if (part) {
        if (time(nullptr) - info.st_mtime > kAbandonedSeconds) unlink(path);
        continue;
      }
      sum += static_cast<uint64_t>(info.st_size);
      if (oldest[0] == 0 || info.st_mtime < when) {
        when = info.st_mtime;
        memcpy(oldest, path, strlen(path) + 1);
      }
    }
    closedir(list);
    if (sum <= most || oldest[0] == 0 || unlink(oldest) != 0) return;
  }
}

}  // namespace vireo::cache_folder

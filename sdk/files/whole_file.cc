#include "sdk/files/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace vireo::files {
namespace {

constexpr int kAttempts = 100;  // names that are taken, before it is an error

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

// "PATH.k3x0q9": names of other processes, and those that a killed one left, are merely in the way.
std::string other_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t mix = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(getpid());
  mix = (mix + ++count) * 0xbf58476d1ce4e5b9u;
  std::string name = path + ".";
  for (int i = 0; i < 6; ++i, mix /= 36) name += "0123456789abcdefghijklmnopqrstuvwxyz"[(mix >> 20) % 36];
  return name;
}

std::string link_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

WholeFile::WholeFile(const std::string& path) : path_(path) {
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    error_ = S_ISDIR(there.st_mode) ? EISDIR : EEXIST;
    return;
  }
#ifdef O_TMPFILE
  fd_ = open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0 && access(link_of(fd_).c_str(), F_OK) == 0) return;  // without /proc it could never get a name
  if (fd_ >= 0) (void)close(fd_);
  fd_ = -1;
#endif
  for (int i = 0; i < kAttempts; ++i) {
    std::string name = other_name(path);
    fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) named_ = std::move(name);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) error_ = errno;
}

WholeFile::~WholeFile() {
  if (fd_ >= 0) (void)close(fd_);
  if (!named_.empty()) (void)unlink(named_.c_str());
}

bool WholeFile::fail(int error) {
  if (error_ == 0) error_ = error;
  return false;
}

bool WholeFile::write(const void* data, size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (error_ == 0 && bytes > 0) {
    const ssize_t done = ::write(fd_, p, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail(done < 0 ? errno : ENOSPC);
    p += done;
    bytes -= static_cast<size_t>(done);
  }
  return error_ == 0;
}

bool WholeFile::write_over(const void* data, size_t bytes) {
  if (error_ == 0 && lseek(fd_, 0, SEEK_SET) != 0) return fail(errno);
  return write(data, bytes);
}

bool WholeFile::finish() {
  if (error_ != 0) return false;
  int status;
  do status = fsync(fd_);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL && errno != ENOTSUP) return fail(errno);  // some file systems have nothing to do
  if (named_.empty()) return true;
  // A network disk may find out here that it is full.
  const int fd = fd_;
  fd_ = -1;
  return close(fd) == 0 || errno == EINTR || fail(errno);
}

bool WholeFile::appear() {
  if (error_ != 0) return false;
  if (named_.empty()) {
    // A link cannot take the place of a file: where one is, the new one gets another name first.
    std::string name = path_;
    for (int i = 0; linkat(AT_FDCWD, link_of(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0; ++i) {
      if (errno != EEXIST || i == kAttempts) return fail(errno);
      name = other_name(path_);
    }
    if (name == path_) return true;
    named_ = std::move(name);
  }
  if (rename(named_.c_str(), path_.c_str()) != 0) return fail(errno);
  named_.clear();
  return true;
}

int why_not_writable(const std::string& path) { return WholeFile(path).error(); }

std::string what_to_do(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "create the folder " + folder_of(path) + " first, or choose another output path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you may write to";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space, or choose another disk; nothing was left behind";
    case EEXIST:
      return "name a new file, or an ordinary one to be replaced";
    default:
      return "choose another output path";
  }
}

}  // namespace vireo::files

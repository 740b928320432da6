#include "delegates/hip/code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sdk/base/fnv.h"

namespace vireo::hip {
namespace {

constexpr uint64_t kMagic = 0x3144434849565256u;  // the layout's version, too
constexpr uint64_t kMostCode = 64u << 20;

struct Head {
  uint64_t magic = kMagic, key_bytes = 0, code_bytes = 0, sum = 0;
};

uint64_t sum_of(const std::string& key, const std::vector<char>& code) {
  return hash_bytes(hash_bytes(kEmptyHash, key.data(), key.size()), code.data(), code.size());
}

std::string path_of(const std::string& folder, const std::string& key) {
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx.hsaco",
                static_cast<unsigned long long>(hash_bytes(kEmptyHash, key.data(), key.size())));
  return folder + "/" + name;
}

// Nobody but this user can have written it.
bool is_ours(const struct stat& s) { return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

bool read_all(int fd, void* to, size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes != 0;) {
    const ssize_t n = read(fd, at, bytes);
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}
bool write_all(int fd, const void* from, size_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes != 0;) {
    const ssize_t n = write(fd, at, bytes);
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool read_open(int fd, const std::string& key, std::vector<char>* code) {
  struct stat s;
  Head head;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || !is_ours(s)) return false;
  if (!read_all(fd, &head, sizeof(head)) || head.magic != kMagic || head.key_bytes != key.size() ||
      head.code_bytes == 0 || head.code_bytes > kMostCode)
    return false;
  std::string found(key.size(), 0);
  code->resize(head.code_bytes);
  return read_all(fd, found.data(), found.size()) && found == key && read_all(fd, code->data(), code->size()) &&
         head.sum == sum_of(key, *code);
}

}  // namespace

bool read_code(const std::string& folder, const std::string& key, std::vector<char>* code) {
  struct stat s;
  if (stat(folder.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || !is_ours(s)) return false;
  const int fd = open(path_of(folder, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool good = read_open(fd, key, code);
  (void)close(fd);
  return good;
}

void write_code(const std::string& folder, const std::string& key, const std::vector<char>& code) {
  const std::string path = path_of(folder, key);
  std::string temporary = path + ".XXXXXX";
  const int fd = mkstemp(temporary.data());  // 0600
  if (fd < 0) return;
  Head head;
  head.key_bytes = key.size();
  head.code_bytes = code.size();
  head.sum = sum_of(key, code);
  bool whole = write_all(fd, &head, sizeof(head)) && write_all(fd, key.data(), key.size()) &&
               write_all(fd, code.data(), code.size());
  whole = close(fd) == 0 && whole;
  if (!whole || std::rename(temporary.c_str(), path.c_str()) != 0) (void)unlink(temporary.c_str());
}

}  // namespace vireo::hip

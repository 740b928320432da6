#include "c_api/cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "c_api/cli/failure.h"
#include "sdk/files/regular_file.h"
#include "sdk/files/whole_file.h"

namespace vireo::cli {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_writing(const std::string& path, int error) {
  throw Failure("cannot write " + path + ": " + strerror(error), files::what_to_do(path, error),
                {"VIREO_IO", path, "", "", "", ""});
}

}  // namespace

bool ends_with(const std::string& path, const std::string& end) {
  return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

std::vector<uint8_t> read_file(const std::string& path) {
  const auto fail = [&](int error) {
    throw Failure("cannot read " + path + ": " + files::why_unreadable(error),
                  error == ENOENT ? "check the spelling of the path" : "check that it is a file you may read",
                  {"VIREO_IO", path, "", "", "", ""});
  };
  size_t size = 0;
  int error = 0;
  const Descriptor file(files::open_regular(path, &size, &error));
  if (file.get() < 0) fail(error);
  std::vector<uint8_t> bytes(size);
  size_t have = 0;
  for (;;) {  // files of /proc tell no size, and a file may grow between fstat and read
    if (have == bytes.size()) bytes.resize(bytes.size() + 65536);
    const ssize_t got = read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

void write_file(const std::string& path, const void* bytes, size_t size) {
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) fail_writing(path, EISDIR);
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {  // /dev/stdout and the like cannot be renamed onto
    Descriptor out(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.get() < 0) fail_writing(path, errno);
    for (size_t done = 0; done < size;) {
      const ssize_t n = write(out.get(), static_cast<const char*>(bytes) + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_writing(path, errno);
      done += static_cast<size_t>(n);
    }
    return;
  }
  files::WholeFile file(path);
  if (!file.write(bytes, size) || !file.finish() || !file.appear()) fail_writing(path, file.error());
}

void write_file(const std::string& path, const std::string& text) { write_file(path, text.data(), text.size()); }

void require_writable(const std::string& path) {
  struct stat there;
  if (stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) fail_writing(path, EISDIR);
    if (!S_ISREG(there.st_mode)) return;
  }
  if (const int error = files::why_not_writable(path); error != 0) fail_writing(path, error);
}

void require_report(const std::string& path) {
  if (!ends_with(path, ".html") && !ends_with(path, ".json"))
    throw Failure("--report " + path + " is neither .html nor .json", "give the file one of these endings");
  require_writable(path);
}

void require_apart(const std::vector<std::string>& sources, const std::vector<std::string>& outputs) {
  const auto same = [](const std::string& a, const std::string& b) {
    std::error_code unknown;
    if (std::filesystem::equivalent(a, b, unknown)) return true;
    const auto whole = [&unknown](const std::string& path) { return std::filesystem::weakly_canonical(path, unknown); };
    return whole(a) == whole(b);
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    for (const std::string& source : sources) {
      if (!source.empty() && same(outputs[i], source))
        throw Failure("the output " + outputs[i] + " is a file that is read", "choose another output path",
                      {"failed", outputs[i], "", "", "", ""});
    }
    for (size_t k = 0; k < i; ++k) {
      if (!outputs[k].empty() && same(outputs[i], outputs[k]))
        throw Failure("two outputs are one file, " + outputs[i], "choose another path for one of them");
    }
  }
}

std::string user_cache(const std::string& what) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if ((cache == nullptr || cache[0] == 0) && (home == nullptr || home[0] == 0)) {
    throw Failure("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set", "name one instead of auto");
  }
  const std::filesystem::path root =
      cache != nullptr && cache[0] != 0 ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache";
  return (root / "vireo" / what).string();
}

TemporaryFile::TemporaryFile(const std::string& suffix) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  path_ = (folder / ("vireo-XXXXXX" + suffix)).string();
  const int fd = mkstemps(path_.data(), static_cast<int>(suffix.size()));
  if (fd < 0) fail_writing(path_, errno);
  close(fd);
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace vireo::cli

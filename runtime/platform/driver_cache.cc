#include "runtime/platform/driver_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/platform/cache_folder.h"
#include "sdk/format/pack_set.h"

namespace vireo {
namespace {

constexpr char kDriverMagic[8] = {'V', 'D', 'R', 'I', 'V', 'E', 'R', '1'};
constexpr size_t kNameBytes = 480;

// In front of the contents; the file's machine reads it, and no other one.
struct Header {
  char magic[8];
  uint64_t bytes;  // of the contents
  uint64_t hash;   // of the contents
  uint32_t library;
  uint32_t zero;
  char name[kNameBytes];  // whose they are, with zeros behind it
};
static_assert(sizeof(Header) == 512, "contents are aligned to 64");

// False where the name is too long for a header.
bool name_of(const Device& device, const char* key, char (&out)[kNameBytes]) {
  const auto text = [](const char* t) { return t == nullptr ? "" : t; };
  memset(out, 0, sizeof(out));
  const int n = snprintf(out, sizeof(out), "%s\n%s\n%s\n%s\n%s\n%s", device.delegate->name, text(device.info.name),
                         text(device.info.detail), text(device.info.family), text(device.info.driver), key);
  return n > 0 && static_cast<size_t>(n) < sizeof(out);
}

bool path_of(const char* folder, const char (&name)[kNameBytes], char (&out)[PATH_MAX]) {
  char file[64];
  snprintf(file, sizeof(file), "driver-%016llx%s", static_cast<unsigned long long>(pack_hash(name, sizeof(name))),
           cache_folder::kEnding);
  return cache_folder::join(out, folder, file);
}

void tell(const vireo_runtime& rt, vireo_log_level level, const char* what, const char* path, const char* why) {
  if (rt.log == nullptr) return;
  Error e;
  (void)fail(&e, Status::kIo, "cache of what drivers compiled: {} \"{}\": {}", what, path, why);
  rt.log(rt.log_context, level, e.message);
}

}  // namespace

DriverCache::DriverCache(const vireo_runtime& runtime, const Device& device, const char* folder, uint64_t most_bytes)
    : runtime_(runtime),
      device_(device),
      folder_(folder),
      most_bytes_(most_bytes == 0 ? VIREO_CACHE_BYTES : most_bytes) {
  table_.context = this;
  table_.get = get;
  table_.put = put;
}

DriverCache::~DriverCache() {
  for (uint32_t i = 0; i < mapped_count_; ++i) platform::unmap_file(mapped_[i]);
}

const void* DriverCache::get(void* context, const char* key, size_t* bytes) {
  auto& c = *static_cast<DriverCache*>(context);
  char name[kNameBytes], path[PATH_MAX];
  if (c.mapped_count_ == kMostMapped || !name_of(c.device_, key, name) || !path_of(c.folder_, name, path))
    return nullptr;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info;
  const char* why = nullptr;
  const void* found = nullptr;
  if (fstat(fd, &info) != 0 || !cache_folder::is_ours(info)) {
    why = "another user's, or others may write to it";
  } else if (info.st_size <= static_cast<off_t>(sizeof(Header))) {
    why = "cut short";
  } else {
    const auto size = static_cast<size_t>(info.st_size);
    void* const p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const auto* const h = static_cast<const Header*>(p);
    if (p == MAP_FAILED) {
      why = strerror(errno);
    } else if (memcmp(h->magic, kDriverMagic, sizeof(kDriverMagic)) != 0 || h->library != vireo_version() ||
               memcmp(h->name, name, sizeof(name)) != 0 || h->bytes != size - sizeof(Header) ||
               h->hash != pack_hash(h + 1, size - sizeof(Header))) {
      why = "damaged, or another driver's";
      munmap(p, size);
    } else {
      c.mapped_[c.mapped_count_++] = {static_cast<const uint8_t*>(p), size};
      *bytes = static_cast<size_t>(h->bytes);
      found = h + 1;
      if (time(nullptr) - info.st_mtime > cache_folder::kFreshSeconds) (void)futimens(fd, nullptr);
    }
  }
  close(fd);
  if (why != nullptr) tell(c.runtime_, VIREO_LOG_INFO, "not used", path, why);
  return found;
}

void DriverCache::put(void* context, const char* key, const void* data, size_t bytes) {
  const auto& c = *static_cast<const DriverCache*>(context);
  Header header = {};
  char path[PATH_MAX], temporary[PATH_MAX];
  if (data == nullptr || bytes == 0 || !name_of(c.device_, key, header.name) || !path_of(c.folder_, header.name, path))
    return;
  if (sizeof(header) + bytes > c.most_bytes_)
    return tell(c.runtime_, VIREO_LOG_WARNING, "nothing is written to", c.folder_, "it is more than the cache's bound");
  memcpy(header.magic, kDriverMagic, sizeof(kDriverMagic));
  header.bytes = bytes;
  header.hash = pack_hash(data, bytes);
  header.library = vireo_version();
  const int fd = cache_folder::open_temporary(c.folder_, temporary);
  int error = errno;
  if (fd >= 0) {
    const bool written =
        cache_folder::write_all(fd, &header, sizeof(header)) && cache_folder::write_all(fd, data, bytes);
    error = cache_folder::finish(fd, written, temporary, path);
  }
  if (fd < 0 || error != 0) tell(c.runtime_, VIREO_LOG_WARNING, "cannot write to", c.folder_, strerror(error));
  cache_folder::bound(c.folder_, c.most_bytes_);
}

}  // namespace vireo

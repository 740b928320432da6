#include "runtime/platform/pack_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "runtime/devices/compiled.h"
#include "runtime/devices/runtime.h"
#include "runtime/platform/cache_folder.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

void tell(const vireo_model& model, vireo_log_level level, const char* what, const char* path, const char* why) {
  const vireo_runtime* rt = model.runtime;
  if (rt->log == nullptr) return;
  Error e;
  (void)fail(&e, Status::kIo, "cache of packed weights and compiled parts: {} \"{}\": {}", what, path, why);
  rt->log(rt->log_context, level, e.message);
}

// Of the system's start, 0 where it is not told.
uint64_t boot() {
  char text[64];
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof(text));
  close(fd);
  return n <= 0 ? 0 : pack_hash(text, static_cast<size_t>(n)) | 1;
}

// The model's file: the first half of its root says which, the rest stands in the header.
bool path_of(const vireo_model& model, const char* folder, char (&out)[PATH_MAX]) {
  char name[64];
  const uint8_t* const root = model.program.header().root;
  for (int i = 0; i < 16; ++i) snprintf(name + 2 * i, 3, "%02x", root[i]);
  snprintf(name + 32, sizeof(name) - 32, "-%x-%x%s", static_cast<unsigned>(vireo_version()),
           static_cast<unsigned>(kPackVersion), cache_folder::kEnding);
  return cache_folder::join(out, folder, name);
}

// After a restart contents may be missing that had not reached the disk: they were compared, so until the next start
// they need not be again. A header that is read half written is a damaged one.
void mark_whole(const char* path, PackHeader header, uint64_t now) {
  header.boot = now;
  header.header_hash = 0;
  header.header_hash = pack_hash(&header, sizeof(header));
  const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;  // root's: compared by each load
  (void)!pwrite(fd, &header, sizeof(header), 0);
  close(fd);
}

// Where an entry's contents lie. A compiled part's head, which changes, lies apart.
struct Contents {
  const CompiledHead* head = nullptr;
  const void* data = nullptr;

  size_t head_bytes() const { return head == nullptr ? 0 : sizeof(*head); }
  size_t data_bytes(const PackEntry& e) const { return static_cast<size_t>(e.bytes) - head_bytes(); }
  uint64_t hash(const PackEntry& e) const { return contents_hash(head, data, data_bytes(e)); }
};

// Of an entry that is there already.
bool says_the_same(const PackEntry& a, const Contents& in_a, const PackEntry& b, const Contents& in_b) {
  const void *const head = in_a.head, *const other = in_b.head;
  if (a.bytes != b.bytes || head == nullptr || other == nullptr || memcmp(head, other, sizeof(CompiledHead)) != 0)
    return false;
  const size_t bytes = in_a.data_bytes(a);
  return bytes == 0 || in_a.data == in_b.data || memcmp(in_a.data, in_b.data, bytes) == 0;
}

bool write_set(int fd, Span<const PackEntry> entries, const Contents* contents, const PackHeader& header) {
  static const uint8_t kZeros[kPackAlignment] = {};
  bool good = cache_folder::write_all(fd, &header, sizeof(header)) &&
              cache_folder::write_all(fd, entries.data(), entries.size() * sizeof(PackEntry));
  uint64_t at = sizeof(header) + entries.size() * sizeof(PackEntry);
  for (size_t i = 0; good && i < entries.size(); ++i) {
    good = cache_folder::write_all(fd, kZeros, entries[i].offset - at) &&
           cache_folder::write_all(fd, contents[i].head, contents[i].head_bytes()) &&
           cache_folder::write_all(fd, contents[i].data, contents[i].data_bytes(entries[i]));
    at = entries[i].offset + entries[i].bytes;
  }
  return good && cache_folder::write_all(fd, kZeros, header.bytes - at);
}

// What a file gets: the entries that it has, and what the model's sessions packed and compiled, sorted by their names.
class NewSet {
 public:
  explicit NewSet(const vireo_model& model) : model_(model) {}
  ~NewSet() { model_.runtime->release(memory_, room_); }
  NewSet(const NewSet&) = delete;
  NewSet& operator=(const NewSet&) = delete;

  // False where the model has nothing that `before`, which may be null, lacks; or where there is no memory to see it.
  bool gather(const PackSet* before) {
    const uint32_t old_count = before == nullptr ? 0 : before->count();
    if (!make_room(old_count)) return false;
    if (before != nullptr) take_old(*before);
    take_packed();
    if constexpr (VIREO_JOINED) take_compiled();
    return fresh_ > 0;
  }
  void hash_contents() {
    for (PackEntry& e : entries()) {
      if (e.hash == 0) e.hash = contents_[&e - entries_].hash(e);
    }
  }

  Span<PackEntry> entries() const { return {entries_, filled_}; }
  const Contents* contents() const { return contents_; }

 private:
  bool make_room(uint32_t old_count) {
    PackedCopy copy;
    CompiledCopy part;
    count_ = old_count;
    for (uint32_t i = 0; model_.packs.at(i, &copy); ++i) ++count_;
    if constexpr (VIREO_JOINED) {
      while (compiled_at(&model_, parts_, &part)) ++parts_;
      count_ += parts_;
    }
    room_ = count_ * (sizeof(PackEntry) + sizeof(Contents)) + parts_ * sizeof(CompiledHead);
    memory_ = count_ == old_count || count_ > kMaxPacks ? nullptr : model_.runtime->allocate(room_);
    entries_ = static_cast<PackEntry*>(memory_);
    contents_ = reinterpret_cast<Contents*>(entries_ + count_);
    return memory_ != nullptr;
  }

  // Into its place among the sorted ones; where an entry of that name is already, says which.
  bool insert(const PackEntry& e, const Contents& c, uint32_t* there) {
    uint32_t at = filled_;
    while (at > 0 && compare_packs(e, entries_[at - 1]) < 0) --at;
    *there = at - 1;
    if (at > 0 && compare_packs(e, entries_[at - 1]) == 0) return false;
    memmove(static_cast<void*>(entries_ + at + 1), entries_ + at, (filled_ - at) * sizeof(*entries_));
    memmove(static_cast<void*>(contents_ + at + 1), contents_ + at, (filled_ - at) * sizeof(*contents_));
    entries_[at] = e;
    contents_[at] = c;
    ++filled_;
    return true;
  }

  void take_old(const PackSet& before) {
    uint32_t there = 0;
    for (uint32_t i = 0; i < before.count(); ++i) {
      PackEntry e;
      if (!before.entry(i, &e)) continue;
      Contents c = {nullptr, before.contents(e)};
      if (e.kind == kCompiledPart) {
        if (e.bytes < sizeof(CompiledHead)) continue;
        c = {static_cast<const CompiledHead*>(c.data), static_cast<const CompiledHead*>(c.data) + 1};
      }
      insert(e, c, &there);
    }
  }

  void take_packed() {
    PackedCopy copy;
    uint32_t there = 0;
    for (uint32_t i = 0; filled_ < count_ && model_.packs.at(i, &copy); ++i) {
      PackEntry e;
      if (name_pack(&model_, copy.delegate, copy.what, &e) && insert(e, {nullptr, copy.data}, &there)) ++fresh_;
    }
  }

  // What the folder has of a part gives way to what is known of it now.
  void take_compiled() {
    auto* const heads = reinterpret_cast<CompiledHead*>(contents_ + count_);
    CompiledCopy part;
    uint32_t there = 0;
    for (uint32_t i = 0; i < parts_ && filled_ < count_ && compiled_at(&model_, i, &part); ++i) {
      heads[i] = part.blob->head_now();
      if (part.blob->origin == BlobOrigin::kFile && heads[i].checked == 0)
        continue;  // nothing that the file does not say
      const Contents c = {heads + i, part.blob->data};
      if (!insert(part.name, c, &there)) {
        if (says_the_same(part.name, c, entries_[there], contents_[there])) continue;
        entries_[there] = part.name;
        contents_[there] = c;
      }
      ++fresh_;
    }
  }

  const vireo_model& model_;
  uint32_t count_ = 0, parts_ = 0;   // that there is room for, and how many of them are compiled parts
  uint32_t filled_ = 0, fresh_ = 0;  // and how many of them the file lacks
  void* memory_ = nullptr;
  size_t room_ = 0;
  PackEntry* entries_ = nullptr;
  Contents* contents_ = nullptr;
};

// Nothing is written for a model whose own bytes are damaged.
bool check_model(const vireo_model& model, const char* folder) {
  if (__atomic_load_n(&model.checked, __ATOMIC_ACQUIRE) != 0) return true;
  Error e;
  if (!ok(check_hashes(model.file, model.program.header(), &e))) {
    tell(model, VIREO_LOG_WARNING, "nothing is written for a damaged model to", folder, e.message);
    return false;
  }
  __atomic_store_n(&model.checked, 1u, __ATOMIC_RELEASE);
  return true;
}

// Under another name first, so that nobody sees half a file at `path`. The error's number, 0: none.
int write_file(const char* folder, const char* path, const NewSet& made, const PackHeader& header) {
  char temporary[PATH_MAX];
  const int fd = cache_folder::open_temporary(folder, temporary);
  if (fd < 0) return errno;
  return cache_folder::finish(fd, write_set(fd, made.entries(), made.contents(), header), temporary, path);
}

}  // namespace

struct PackCache::File {
  File* next = nullptr;
  platform::MappedFile mapped;
  PackSet set;
  uint64_t folder = 0;  // pack_hash of its name
};

const PackCache::File* PackCache::of(const char* folder) const {
  const uint64_t name = pack_hash(folder, strlen(folder));
  for (File* f = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); f != nullptr; f = f->next) {
    if (f->folder == name) return f;
  }
  return nullptr;
}

const void* PackCache::find(const PackEntry& wanted, PackEntry* entry) const {
  for (File* f = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); f != nullptr; f = f->next) {
    if (const void* const found = f->set.find(wanted, entry)) return found;
  }
  return nullptr;
}

void PackCache::open(const vireo_model& model, const char* folder) {
  char path[PATH_MAX];
  if (of(folder) != nullptr || !path_of(model, folder, path)) return;
  const int fd = ::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT) tell(model, VIREO_LOG_WARNING, "cannot read", path, strerror(errno));
    return;
  }
  struct stat info;
  const char* why = nullptr;
  void* p = MAP_FAILED;
  if (fstat(fd, &info) != 0 || !cache_folder::is_ours(info)) {
    why = "another user's, or others may write to it";
  } else if (info.st_size < static_cast<off_t>(sizeof(PackHeader))) {
    why = "cut short";
  } else {
    p = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) why = strerror(errno);
  }
  File file;
  if (why == nullptr) {
    file.mapped = {static_cast<const uint8_t*>(p), static_cast<size_t>(info.st_size)};
    file.folder = pack_hash(folder, strlen(folder));
    const uint64_t now = boot();
    if (!file.set.open({file.mapped.data, file.mapped.size}) || file.set.header().library != vireo_version() ||
        memcmp(file.set.header().model, model.program.header().root, sizeof(file.set.header().model)) != 0) {
      why = "damaged, or another model's";
    } else if (now == 0 || file.set.header().boot != now) {
      if (!file.set.contents_whole()) {
        why = "damaged";
      } else if (now != 0) {
        mark_whole(path, file.set.header(), now);
      }
    }
  }
  if (why == nullptr && time(nullptr) - info.st_mtime > cache_folder::kFreshSeconds) (void)futimens(fd, nullptr);
  close(fd);
  void* const memory = why == nullptr ? model.runtime->allocate(sizeof(File)) : nullptr;
  if (memory == nullptr) {
    if (why != nullptr) tell(model, VIREO_LOG_INFO, "not used", path, why);
    if (p != MAP_FAILED) munmap(p, static_cast<size_t>(info.st_size));
    return;
  }
  // Two threads that come at once map the file twice, which harms nobody.
  auto* const mine = new (memory) File(file);
  File* first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  do {
    mine->next = first;
  } while (!__atomic_compare_exchange_n(&first_, &first, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

void PackCache::keep(const vireo_model& model, const char* folder, uint64_t most_bytes) {
  if (model.program.header().cipher_offset != 0)
    return;  // weights and what is compiled of them would lie there in plain
  const File* const before = of(folder);
  char path[PATH_MAX];
  NewSet made(model);
  if (!made.gather(before == nullptr ? nullptr : &before->set) || !path_of(model, folder, path)) return;
  const uint64_t most = most_bytes == 0 ? VIREO_CACHE_BYTES : most_bytes;
  const uint64_t bytes = lay_out_packs(made.entries());
  if (bytes > most)
    return tell(model, VIREO_LOG_WARNING, "nothing is written to", folder, "this model's are more than its bound");
  if (!check_model(model, folder)) return;
  made.hash_contents();
  const PackHeader header = pack_header(made.entries(), bytes, model.program.header().root, vireo_version(), boot());
  if (const int error = write_file(folder, path, made, header); error != 0)
    tell(model, VIREO_LOG_WARNING, "cannot write to", folder, strerror(error));
  cache_folder::bound(folder, most);
}

void PackCache::release(const vireo_allocator& allocator) {
  while (first_ != nullptr) {
    File* const next = first_->next;
    platform::unmap_file(first_->mapped);
    first_->~File();
    allocator.release(allocator.context, first_, sizeof(File), 64);
    first_ = next;
  }
}

}  // namespace vireo

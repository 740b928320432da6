// POSIX systems. The thread pool is pool.h's where the target has threads, else one thread.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/platform/platform.h"
#include "sdk/base/config.h"
#if VIREO_HAVE_THREADS
#include "runtime/platform/pool.h"
#endif

namespace vireo::platform {
namespace {

void* heap_allocate(void*, size_t bytes, size_t alignment) {
  void* p = nullptr;
  return posix_memalign(&p, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes == 0 ? 1 : bytes) == 0
             ? p
             : nullptr;
}
void heap_release(void*, void* memory, size_t, size_t) { free(memory); }

#if VIREO_HAVE_THREADS
constexpr int32_t kMostThreads = 1024;  // far below what the pool's gate can count
#endif

}  // namespace

const bool kPacksByDefault = true;

vireo_allocator heap() { return {heap_allocate, heap_release, nullptr}; }

Status map_file(const char* path, MappedFile* out, Error* error) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO would wait for who writes to it
  if (fd < 0) return fail(error, Status::kIo, "cannot open \"{}\": {}", path, strerror(errno));
  struct stat info;
  Status status = Status::kOk;
  if (fstat(fd, &info) != 0) {
    status = fail(error, Status::kIo, "cannot read \"{}\": {}", path, strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status = fail(error, Status::kIo, "\"{}\" is not a file", path);
  } else if (info.st_size == 0) {
    status = fail(error, Status::kInvalidModel, "\"{}\" is empty", path);
  } else {
    void* p = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
      status = fail(error, Status::kIo, "cannot map \"{}\": {}", path, strerror(errno));
    } else {
      *out = {static_cast<const uint8_t*>(p), static_cast<size_t>(info.st_size)};
    }
  }
  close(fd);
  return status;
}

void unmap_file(const MappedFile& file) {
  if (file.data != nullptr) munmap(const_cast<uint8_t*>(file.data), file.size);
}

Status open_pool(int32_t threads, vireo_thread_pool* out, Error* error) {
  *out = {nullptr, nullptr, 1};
#if VIREO_HAVE_THREADS
  const int32_t cores = usable_cores() < kMostThreads ? usable_cores() : kMostThreads;
  const int32_t slots = threads <= 0 || cores == 1 ? cores : threads;  // two threads on one core would take turns
  if (slots > kMostThreads) return fail(error, Status::kInvalidArgument, "{} threads, at most {}", slots, kMostThreads);
  if (slots == 1) return Status::kOk;
  Pool* const pool = Pool::open(slots);
  if (pool == nullptr) return fail(error, Status::kIo, "cannot start {} threads", slots);
  *out = {Pool::run, pool, slots};
#else
  (void)threads;
  (void)error;
#endif
  return Status::kOk;
}

void close_pool(const vireo_thread_pool& pool) {
#if VIREO_HAVE_THREADS
  Pool::close(static_cast<Pool*>(pool.pool));
#else
  (void)pool;
#endif
}

void yield() { (void)sched_yield(); }

uint64_t now_ns() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace vireo::platform

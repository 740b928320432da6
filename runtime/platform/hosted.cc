// POSIX systems. The thread pool is pthreadpool's where it was found at build time, else one thread.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if VIREO_HAVE_PTHREADPOOL
#include <pthreadpool.h>
#endif

#include "runtime/platform/platform.h"

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* at);
extern "C" void __tsan_release(void* at);
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

#if VIREO_HAVE_PTHREADPOOL
// The thread sanitizer cannot look into pthreadpool, which is compiled without it. These say what pthreadpool promises:
// what happened before the call happens before each slice, and each slice happens before the call's return.
#if defined(__SANITIZE_THREAD__)
void saw(const void* at) { __tsan_acquire(const_cast<void*>(at)); }
void tell(const void* at) { __tsan_release(const_cast<void*>(at)); }
#else
void saw(const void*) {}
void tell(const void*) {}
#endif

struct Slice {
  void (*task)(void*, int64_t, int64_t, int32_t);
  void* arg;
  int64_t count;
  int64_t chunk;
};

void run_slice(void* context, size_t index) {
  saw(context);
  const auto& s = *static_cast<const Slice*>(context);
  const int64_t begin = static_cast<int64_t>(index) * s.chunk;
  const int64_t end = begin + s.chunk < s.count ? begin + s.chunk : s.count;
  if (begin < end) s.task(s.arg, begin, end, static_cast<int32_t>(index));
  tell(context);
}

// One contiguous slice a thread: kernels hand out even work, and the slice's number names its scratch.
void run_pool(void* pool, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
  auto* p = static_cast<pthreadpool_t>(pool);
  const auto slots = static_cast<int64_t>(pthreadpool_get_threads_count(p));
  int64_t parts = grain > 0 ? (count + grain - 1) / grain : count;
  if (parts > slots) parts = slots;
  if (parts <= 1) {
    task(arg, 0, count, 0);
    return;
  }
  Slice s{task, arg, count, (count + parts - 1) / parts};
  tell(&s);
  pthreadpool_parallelize_1d(p, run_slice, &s, static_cast<size_t>(parts), 0);
  saw(&s);
}
#endif

}  // namespace

vireo_allocator heap() { return {heap_allocate, heap_release, nullptr}; }

Status map_file(const char* path, MappedFile* out, Error* error) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
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
#if VIREO_HAVE_PTHREADPOOL
  if (threads == 1) return Status::kOk;
  pthreadpool_t pool = pthreadpool_create(static_cast<size_t>(threads < 0 ? 0 : threads));
  if (pool == nullptr) return fail(error, Status::kIo, "cannot start {} threads", threads);
  const auto slots = static_cast<int32_t>(pthreadpool_get_threads_count(pool));
  *out = {run_pool, pool, slots};
#else
  (void)threads;
  (void)error;
#endif
  return Status::kOk;
}

void close_pool(const vireo_thread_pool& pool) {
#if VIREO_HAVE_PTHREADPOOL
  if (pool.pool != nullptr) pthreadpool_destroy(static_cast<pthreadpool_t>(pool.pool));
#else
  (void)pool;
#endif
}

uint64_t now_ns() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace vireo::platform

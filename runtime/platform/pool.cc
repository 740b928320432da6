#include "runtime/platform/pool.h"

#include <sched.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <new>

namespace vireo::platform {
namespace {

// Looks at the gate before an idle thread sleeps: 0.05 to 0.2 ms, by what a pause takes on the core.
constexpr int kWatches = 4000;
// The same for the caller, who has run out of tiles: what the last ones of others take at most where all have a core.
constexpr int kLastLooks = 1000;
// Jobs between two moves of the workers, so that two callers who take turns do not send them to and fro at each
// operator.
constexpr uint64_t kJobsBetweenMoves = 8;
// Tiles for each slot, at least: the last ones to finish then differ by an eighth of a slot's work on average. Where
// there are fewer than twice as many pieces as that, each is a tile: pairs of them would split 10 into 4 and 6.
constexpr int64_t kTilesPerSlot = 4;

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace

int32_t usable_cores() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return static_cast<int32_t>(CPU_COUNT(&set));
#endif
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : static_cast<int32_t>(n);
}

Pool* Pool::open(int32_t slots) {
  count_forks();
  const auto count = static_cast<size_t>(slots - 1);
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, sizeof(Pool) + (count + 1) * sizeof(Run)) != 0) return nullptr;
  auto* workers = static_cast<Worker*>(calloc(count, sizeof(Worker)));
  if (workers == nullptr) {
    free(memory);
    return nullptr;
  }
  static_assert(sizeof(Pool) % alignof(Run) == 0, "the runs follow the pool");
  auto* runs = reinterpret_cast<Run*>(static_cast<uint8_t*>(memory) + sizeof(Pool));
  for (size_t i = 0; i <= count; ++i) new (runs + i) Run();
  auto* pool = new (memory) Pool(workers, runs, slots - 1);
  if (pool->start()) return pool;
  close(pool);
  return nullptr;
}

__attribute__((noinline)) bool Pool::start() {
  for (worker_count_ = 0; worker_count_ < wanted_; ++worker_count_) {
    Worker& w = workers_[worker_count_];
    w.pool = this;
    w.slot = worker_count_ + 1;
    w.id.store(0, std::memory_order_relaxed);
    if (pthread_create(&w.thread, nullptr, body, &w) != 0) return false;
  }
  return true;
}

void Pool::stop() {
  pthread_mutex_lock(&mutex_);
  stopping_.store(true);
  pthread_cond_broadcast(&wake_);
  pthread_mutex_unlock(&mutex_);
  for (int32_t i = 0; i < worker_count_; ++i) pthread_join(workers_[i].thread, nullptr);
  pthread_cond_destroy(&wake_);
  pthread_cond_destroy(&done_);
  pthread_mutex_destroy(&mutex_);
}

// Whatever the parent's threads held when it forked, nobody here will let go of: all begins as in `open`. A caller that
// comes meanwhile does its job by itself.
bool Pool::start_anew() {
  const uint32_t now = forks();
  uint32_t before = forks_.load(std::memory_order_relaxed);
  if (before == (now | kStarting) || !forks_.compare_exchange_strong(before, now | kStarting)) return false;
  gate_.store(0, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  sleepers_.store(0, std::memory_order_relaxed);
  waiting_.store(false, std::memory_order_relaxed);
  caller_core_ = -1;
  pthread_mutex_init(&mutex_, nullptr);
  pthread_cond_init(&wake_, nullptr);
  pthread_cond_init(&done_, nullptr);
  (void)start();
  forks_.store(now, std::memory_order_release);
  return true;
}

void Pool::close(Pool* pool) {
  if (pool == nullptr) return;
  if (!pool->is_a_parents()) pool->stop();
  free(pool->workers_);
  pool->~Pool();
  free(pool);
}

void Pool::run(void* pool, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
  auto& p = *static_cast<Pool*>(pool);
  if (count <= 0) return;
  if (p.is_a_parents() && !p.start_anew()) {
    task(arg, 0, count, 0);
    return;
  }
  int64_t tile = count / ((p.worker_count_ + 1) * kTilesPerSlot);
  if (tile < grain) tile = grain;
  const int64_t tiles = (count + tile - 1) / tile;
  if (tiles <= 1 || p.busy_.exchange(1, std::memory_order_acquire) != 0) {
    task(arg, 0, count, 0);
    return;
  }
  p.submit(count, tile, tiles, task, arg);
  p.busy_.store(0, std::memory_order_release);
}

// The job's fields are plain: a worker reads them after its step into the open gate, which comes after the store below;
// they change again only when the gate is shut and `inside` has come back to 0, which comes after its last read.
void Pool::submit(int64_t count, int64_t tile, int64_t tiles, void (*task)(void*, int64_t, int64_t, int32_t),
                  void* arg) {
  count_ = count;
  tile_ = tile;
  task_ = task;
  arg_ = arg;
  const int64_t slots = worker_count_ + 1;
  for (int64_t s = 0; s < slots; ++s) {
    const auto first = static_cast<uint64_t>(tiles * s / slots), end = static_cast<uint64_t>(tiles * (s + 1) / slots);
    runs_[s].rest.store(first << Run::kShift | end, std::memory_order_relaxed);
  }
  const uint64_t job = gate_.load(std::memory_order_relaxed) / kNumber + 1, number = job * kNumber;
  clear_callers_core(job);
  gate_.store(number | kOpen);  // in one order with `sleepers_`: either we see the sleeper, or it sees the job
  if (sleepers_.load() > 0) {
    pthread_mutex_lock(&mutex_);
    if (tiles > sleepers_.load()) {
      pthread_cond_broadcast(&wake_);
    } else {
      for (int64_t i = 1; i < tiles; ++i) pthread_cond_signal(&wake_);
    }
    pthread_mutex_unlock(&mutex_);
  }
  take_tiles(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int i = 0; i < kLastLooks; ++i) {
    if ((gate_.load(std::memory_order_acquire) & kInside) == 0) return;
    pause_core();
  }
  // Somebody holds a tile but perhaps no core: asleep, this thread leaves it one.
  pthread_mutex_lock(&mutex_);
  waiting_.store(true);
  while ((gate_.load() & kInside) != 0) pthread_cond_wait(&done_, &mutex_);
  waiting_.store(false, std::memory_order_relaxed);
  pthread_mutex_unlock(&mutex_);
}

#if defined(__linux__)
void Pool::clear_callers_core(uint64_t job) {
  const int32_t here = sched_getcpu();
  if (here < 0 || here == caller_core_ || (caller_core_ >= 0 && job - last_move_ < kJobsBetweenMoves)) return;
  cpu_set_t others;  // of the caller: what was taken from the process since the pool began holds for all
  if (sched_getaffinity(0, sizeof(others), &others) != 0) return;
  CPU_CLR(here, &others);
  caller_core_ = here;
  last_move_ = job;
  if (CPU_COUNT(&others) == 0) return;  // a caller that is bound to this core: workers stay where they may be
  for (int32_t i = 0; i < worker_count_; ++i) {
    const int32_t id = workers_[i].id.load(std::memory_order_relaxed);
    if (id != 0) {
      (void)sched_setaffinity(id, sizeof(others), &others);
    } else {
      caller_core_ = -1;  // not there yet: at the next job
    }
  }
}
#else
void Pool::clear_callers_core(uint64_t) {}
#endif

bool Pool::Run::take(bool first, int64_t* tile) {
  uint64_t now = rest.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t begin = now >> kShift, end = now & ((uint64_t{1} << kShift) - 1);
    if (begin >= end) return false;
    const uint64_t left = first ? (begin + 1) << kShift | end : begin << kShift | (end - 1);
    if (!rest.compare_exchange_weak(now, left, std::memory_order_relaxed)) continue;
    *tile = static_cast<int64_t>(first ? begin : end - 1);
    return true;
  }
}

void Pool::take_tiles(int32_t slot) {
  const int32_t slots = worker_count_ + 1;
  for (int32_t k = 0; k < slots; ++k) {
    Run& run = runs_[(slot + k) % slots];
    for (int64_t i = 0; run.take(k == 0, &i);) {
      const int64_t begin = i * tile_, end = begin + tile_ < count_ ? begin + tile_ : count_;
      task_(arg_, begin, end, slot);
    }
  }
}

uint64_t Pool::next_job(uint64_t last) {
  const auto fresh = [last](uint64_t gate) { return (gate & kOpen) != 0 && gate / kNumber != last; };
  for (int i = 0; i < kWatches; ++i) {
    const uint64_t gate = gate_.load(std::memory_order_acquire);
    if (fresh(gate) || stopping_.load(std::memory_order_relaxed)) return gate;
    pause_core();
  }
  pthread_mutex_lock(&mutex_);
  sleepers_.fetch_add(1);
  uint64_t gate = gate_.load();
  while (!fresh(gate) && !stopping_.load()) {
    pthread_cond_wait(&wake_, &mutex_);
    gate = gate_.load();
  }
  sleepers_.fetch_sub(1);
  pthread_mutex_unlock(&mutex_);
  return gate;
}

void Pool::serve(int32_t slot) {
  uint64_t last = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    uint64_t gate = next_job(last);
    while ((gate & kOpen) != 0 && gate / kNumber != last) {
      if (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) continue;
      last = gate / kNumber;
      take_tiles(slot);
      const uint64_t before = gate_.fetch_sub(1);  // in one order with `waiting_`
      if ((before & kInside) == 1 && waiting_.load()) {
        pthread_mutex_lock(&mutex_);
        pthread_cond_signal(&done_);
        pthread_mutex_unlock(&mutex_);
      }
      break;
    }
  }
}

void* Pool::body(void* worker) {
  auto& w = *static_cast<Worker*>(worker);
#if defined(__linux__)
  w.id.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
#endif
  w.pool->serve(w.slot);
  return nullptr;
}

}  // namespace vireo::platform

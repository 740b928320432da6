// The threads of hosted targets: see Pool.
#ifndef VIREO_RUNTIME_PLATFORM_POOL_H_
#define VIREO_RUNTIME_PLATFORM_POOL_H_

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "runtime/platform/forks.h"
#include "vireo/vireo.h"

namespace vireo::platform {

// `slots` - 1 threads beside the caller's. A job is cut into tiles, and each slot has a run of them: the same part of
// every tensor, so that an operator finds in its core's cache what that core wrote in the operator before. Who has
// none left takes from the end of others' runs. The caller waits for those who took a tile, never for one who has not
// come yet: a core that is busy with something else costs its own share and no more, where a pool that counts its
// threads in at each operator stands still until the last one has been given a core. Idle threads watch for the next
// job for about 0.1 ms, the gap between two operators, then sleep. Workers may run on every core of the process but the
// caller's: Linux wakes threads where their waker runs and takes tens of milliseconds to part the two, in which both
// together are slower than one. Whoever calls from another core than before has them moved. A job that begins while
// another session's runs is done by its caller alone.
//
// A process that was forked has none of the threads. There, a pool starts them anew at its first job, and `close` does
// not wait for those that it lacks; a job that was under way in the parent is no job of the child's.
//
// Allocates nothing after `open`, but for the threads of a child.
class Pool {
 public:
  // Null when a thread or memory is refused. slots >= 2.
  static Pool* open(int32_t slots);
  static void close(Pool* pool);

  // vireo_thread_pool's function; `pool` is a Pool.
  static void run(void* pool, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg);

 private:
  struct Worker {
    Pool* pool;
    pthread_t thread;
    int32_t slot;
    std::atomic<int32_t> id;  // of the thread, for the kernel; 0 before it runs
  };

  // The tiles of a slot that nobody has taken: [first, end), in one word.
  struct alignas(64) Run {
    std::atomic<uint64_t> rest{0};
    static constexpr int kShift = 32;
    bool take(bool first, int64_t* tile);
  };

  Pool(Worker* workers, Run* runs, int32_t wanted) : workers_(workers), runs_(runs), wanted_(wanted), forks_(forks()) {}
  static void* body(void* worker);
  bool start();  // the workers; false where the system refuses one, and those before it serve
  void stop();
  bool is_a_parents() const { return forks_.load(std::memory_order_acquire) != forks(); }
  bool start_anew();  // in a child; false where another caller is at it
  void submit(int64_t count, int64_t tile, int64_t tiles, void (*task)(void*, int64_t, int64_t, int32_t), void* arg);
  void serve(int32_t slot);
  // Waits; the gate of a job that is open and not `last`.
  uint64_t next_job(uint64_t last);
  void take_tiles(int32_t slot);
  void clear_callers_core(uint64_t job);

  // Bits 0..14: workers inside; 15: the job is open; 16..: its number. One word, so that "may I come in" and "I am in"
  // are one step.
  static constexpr uint64_t kInside = (1u << 15) - 1, kOpen = 1u << 15, kNumber = uint64_t{1} << 16;

  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};  // a word: not every core exchanges bytes
  std::atomic<bool> stopping_{false};
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> waiting_{false};
  // Of the callers, who come one after the other.
  int32_t caller_core_ = -1;
  uint64_t last_move_ = 0;
  // The job: written while the gate is shut and nobody is inside.
  int64_t count_ = 0, tile_ = 0;
  void (*task_)(void*, int64_t, int64_t, int32_t) = nullptr;
  void* arg_ = nullptr;

  Worker* const workers_;
  Run* const runs_;  // one a slot
  int32_t worker_count_ = 0;
  const int32_t wanted_;  // workers
  static constexpr uint32_t kStarting = 1u << 31;
  std::atomic<uint32_t> forks_;  // as forks() was when they were started
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;  // a job, or the end
  pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;  // the last worker has left
};

// One a core that this process may use.
int32_t usable_cores();

}  // namespace vireo::platform

#endif  // VIREO_RUNTIME_PLATFORM_POOL_H_

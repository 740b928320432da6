// The threads of hosted targets: see Pool.
#ifndef VIREO_RUNTIME_PLATFORM_POOL_H_
#define VIREO_RUNTIME_PLATFORM_POOL_H_

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "vireo/vireo.h"

namespace vireo::platform {

// `slots` - 1 threads beside the caller's. A job is cut into tiles that everybody takes from one counter, the caller
// first of all: it waits for those who took a tile, never for one who has not come yet. So a core that is busy with
// something else costs its own share and no more, where a pool that counts its threads in at each operator stands still
// until the last one has been given a core. Idle threads watch for the next job for about 0.1 ms, the gap between two
// operators, then sleep. One that finds itself on the caller's core goes to another: Linux wakes threads where their
// waker runs and takes tens of milliseconds to part the two, in which both together are slower than one. A job that
// begins while another session's runs is done by its caller alone.
//
// Allocates nothing after `open`.
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
  };

  explicit Pool(Worker* workers);
  static void* body(void* worker);
  void submit(int64_t count, int64_t tile, int64_t tiles, void (*task)(void*, int64_t, int64_t, int32_t), void* arg);
  void serve(int32_t slot);
  // Waits; the gate of a job that is open and not `last`.
  uint64_t next_job(uint64_t last, uint64_t* last_move);
  void take_tiles(int32_t slot);
  void leave_callers_core(uint64_t job, uint64_t* last_move);

  // Bits 0..14: workers inside; 15: the job is open; 16..: its number. One word, so that "may I come in" and "I am in"
  // are one step.
  static constexpr uint64_t kInside = (1u << 15) - 1, kOpen = 1u << 15, kNumber = uint64_t{1} << 16;

  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<int64_t> next_{0};   // the next tile
  alignas(64) std::atomic<uint32_t> busy_{0};  // a word: not every core exchanges bytes
  std::atomic<bool> stopping_{false};
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<int32_t> caller_core_{-1};
  // The job: written while the gate is shut and nobody is inside.
  int64_t count_ = 0, tile_ = 0, tiles_ = 0;
  void (*task_)(void*, int64_t, int64_t, int32_t) = nullptr;
  void* arg_ = nullptr;

  Worker* const workers_;
  int32_t worker_count_ = 0;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;  // a job, or the end
  pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;  // the last worker has left
};

// One a core that this process may use.
int32_t usable_cores();

}  // namespace vireo::platform

#endif  // VIREO_RUNTIME_PLATFORM_POOL_H_

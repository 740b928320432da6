// How a kernel spreads its work. Borrowed from the session; the pool behind it is the caller's, ours or none.
#ifndef VIREO_SDK_BASE_PARALLEL_H_
#define VIREO_SDK_BASE_PARALLEL_H_

#include <stdint.h>

namespace vireo {

struct Parallel {
  // Works on [begin, end). `slot` in [0, slots) is unique among calls that run at the same time, so it can choose a
  // part of the scratch memory.
  using Task = void (*)(void* arg, int64_t begin, int64_t end, int32_t slot);

  // Calls `task` over disjoint ranges that cover [0, count), each of at least `grain` but for the last, and returns
  // when all are done. Null: everything runs on the caller's thread as one range in slot 0.
  void (*run)(void* pool, int64_t count, int64_t grain, Task task, void* arg) = nullptr;
  void* pool = nullptr;
  int32_t slots = 1;

  // `f(begin, end, slot)`; `f` is borrowed for the call. `grain` >= 1: the least work worth a thread's while.
  template <class F>
  void for_range(int64_t count, int64_t grain, const F& f) const {
    if (count <= 0) return;
    if (run == nullptr || slots <= 1 || count <= grain) {
      f(int64_t{0}, count, int32_t{0});
      return;
    }
    run(
        pool, count, grain,
        [](void* arg, int64_t begin, int64_t end, int32_t slot) { (*static_cast<const F*>(arg))(begin, end, slot); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }
};

}  // namespace vireo

#endif  // VIREO_SDK_BASE_PARALLEL_H_

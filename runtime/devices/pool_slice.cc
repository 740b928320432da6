#include "runtime/devices/pool_slice.h"

namespace vireo {
namespace {

struct Job {
  void (*task)(void*, int64_t, int64_t, int32_t);
  void* arg;
  int64_t count, tile;
  uint32_t tiles;
  uint32_t next;  // few tiles a slot, so that 32 bits do: cores without 64-bit atomics build this too
};

void work(void* arg, int64_t begin, int64_t end, int32_t) {
  auto& job = *static_cast<Job*>(arg);
  for (int64_t slot = begin; slot < end; ++slot) {
    for (;;) {
      const uint32_t i = __atomic_fetch_add(&job.next, 1u, __ATOMIC_RELAXED);
      if (i >= job.tiles) break;
      const int64_t from = int64_t{i} * job.tile, to = from + job.tile < job.count ? from + job.tile : job.count;
      job.task(job.arg, from, to, static_cast<int32_t>(slot));
    }
  }
}

}  // namespace

void run_slice(void* slice, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
  const auto& l = *static_cast<const PoolSlice*>(slice);
  const int64_t most = 4 * int64_t{l.count};
  int64_t tile = (count + most - 1) / most;
  if (tile < grain) tile = grain;
  if (tile < 1) return;
  Job job{task, arg, count, tile, static_cast<uint32_t>((count + tile - 1) / tile), 0};
  l.inner.run(l.inner.pool, l.count, 1, work, &job);
}

}  // namespace vireo

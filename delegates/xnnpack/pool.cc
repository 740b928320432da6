#include "delegates/xnnpack/pool.h"

#include <pthreadpool.h>

namespace vireo::xnnpack {
namespace {

constexpr size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// N nested loops, cut into tiles; an extent that is not tiled has tiles of 1.
template <int N, class F>
struct Loops {
  size_t range[N], tile[N], tiles[N];
  const F* body;  // (start[N], slot)

  void run(int64_t begin, int64_t end, size_t slot) const {
    size_t at[N];  // in tiles
    size_t rest = static_cast<size_t>(begin);
    for (int d = N; d-- > 0;) {
      at[d] = rest % tiles[d];
      rest /= tiles[d];
    }
    for (int64_t i = begin; i < end; ++i) {
      size_t start[N];
      for (int d = 0; d < N; ++d) start[d] = at[d] * tile[d];
      (*body)(start, slot);
      for (int d = N; d-- > 0;) {
        if (++at[d] < tiles[d]) break;
        at[d] = 0;
      }
    }
  }
  static void task(void* self, int64_t begin, int64_t end, int32_t slot) {
    static_cast<const Loops*>(self)->run(begin, end, static_cast<size_t>(slot));
  }
};

template <int N, class F>
void for_each_tile(pthreadpool_t pool, const size_t (&range)[N], const size_t (&tile)[N], const F& body) {
  Loops<N, F> loops;
  size_t count = 1;
  for (int d = 0; d < N; ++d) {
    loops.range[d] = range[d];
    loops.tile[d] = tile[d];
    loops.tiles[d] = (range[d] + tile[d] - 1) / tile[d];
    count *= loops.tiles[d];
  }
  loops.body = &body;
  const auto total = static_cast<int64_t>(count);
  const vireo_thread_pool* threads = pool == nullptr ? nullptr : pool->threads;
  if (threads == nullptr || total <= 1) {
    if (total > 0) loops.run(0, total, 0);
  } else {
    threads->run(threads->pool, total, 1, Loops<N, F>::task, &loops);
  }
}

}  // namespace
}  // namespace vireo::xnnpack

pthreadpool::pthreadpool() = default;

using vireo::xnnpack::for_each_tile;
using vireo::xnnpack::smaller;

// The functions that XNNPACK 20241108 uses, in the order of its operator-run.c. `flags` asks to flush denormals and to
// put threads to sleep: the first would change results, the second is the pool's business. The _with_uarch ones tell
// the kernel on what kind of core it runs, for machines with several; packed weights serve all, so the given default
// does.
extern "C" {

size_t pthreadpool_get_threads_count(pthreadpool_t pool) { return pool == nullptr ? 1 : pool->slots; }

void pthreadpool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task, void* arg, size_t range, uint32_t) {
  for_each_tile<1>(pool, {range}, {1}, [&](const size_t(&i)[1], size_t) { task(arg, i[0]); });
}

void pthreadpool_parallelize_1d_with_thread(pthreadpool_t pool, pthreadpool_task_1d_with_thread_t task, void* arg,
                                            size_t range, uint32_t) {
  for_each_tile<1>(pool, {range}, {1}, [&](const size_t(&i)[1], size_t slot) { task(arg, slot, i[0]); });
}

void pthreadpool_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task, void* arg, size_t range,
                                        size_t tile, uint32_t) {
  for_each_tile<1>(pool, {range}, {tile},
                   [&](const size_t(&i)[1], size_t) { task(arg, i[0], smaller(range - i[0], tile)); });
}

void pthreadpool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* arg, size_t range_i,
                                size_t range_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {1, 1}, [&](const size_t(&i)[2], size_t) { task(arg, i[0], i[1]); });
}

void pthreadpool_parallelize_2d_with_thread(pthreadpool_t pool, pthreadpool_task_2d_with_thread_t task, void* arg,
                                            size_t range_i, size_t range_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {1, 1},
                   [&](const size_t(&i)[2], size_t slot) { task(arg, slot, i[0], i[1]); });
}

void pthreadpool_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t tile_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {1, tile_j},
                   [&](const size_t(&i)[2], size_t) { task(arg, i[0], i[1], smaller(range_j - i[1], tile_j)); });
}

void pthreadpool_parallelize_2d_tile_1d_with_uarch(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_with_id_t task,
                                                   void* arg, uint32_t uarch, uint32_t, size_t range_i, size_t range_j,
                                                   size_t tile_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {1, tile_j},
                   [&](const size_t(&i)[2], size_t) { task(arg, uarch, i[0], i[1], smaller(range_j - i[1], tile_j)); });
}

void pthreadpool_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t tile_i, size_t tile_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {tile_i, tile_j}, [&](const size_t(&i)[2], size_t) {
    task(arg, i[0], i[1], smaller(range_i - i[0], tile_i), smaller(range_j - i[1], tile_j));
  });
}

void pthreadpool_parallelize_2d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_with_id_t task,
                                                   void* arg, uint32_t uarch, uint32_t, size_t range_i, size_t range_j,
                                                   size_t tile_i, size_t tile_j, uint32_t) {
  for_each_tile<2>(pool, {range_i, range_j}, {tile_i, tile_j}, [&](const size_t(&i)[2], size_t) {
    task(arg, uarch, i[0], i[1], smaller(range_i - i[0], tile_i), smaller(range_j - i[1], tile_j));
  });
}

void pthreadpool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task, void* arg, size_t range_i,
                                size_t range_j, size_t range_k, uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, 1, 1},
                   [&](const size_t(&i)[3], size_t) { task(arg, i[0], i[1], i[2]); });
}

void pthreadpool_parallelize_3d_tile_1d(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t range_k, size_t tile_k, uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, 1, tile_k},
                   [&](const size_t(&i)[3], size_t) { task(arg, i[0], i[1], i[2], smaller(range_k - i[2], tile_k)); });
}

void pthreadpool_parallelize_3d_tile_1d_with_thread(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_with_thread_t task,
                                                    void* arg, size_t range_i, size_t range_j, size_t range_k,
                                                    size_t tile_k, uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, 1, tile_k}, [&](const size_t(&i)[3], size_t slot) {
    task(arg, slot, i[0], i[1], i[2], smaller(range_k - i[2], tile_k));
  });
}

void pthreadpool_parallelize_3d_tile_1d_with_uarch(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_with_id_t task,
                                                   void* arg, uint32_t uarch, uint32_t, size_t range_i, size_t range_j,
                                                   size_t range_k, size_t tile_k, uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, 1, tile_k}, [&](const size_t(&i)[3], size_t) {
    task(arg, uarch, i[0], i[1], i[2], smaller(range_k - i[2], tile_k));
  });
}

void pthreadpool_parallelize_3d_tile_1d_with_uarch_with_thread(pthreadpool_t pool,
                                                               pthreadpool_task_3d_tile_1d_with_id_with_thread_t task,
                                                               void* arg, uint32_t uarch, uint32_t, size_t range_i,
                                                               size_t range_j, size_t range_k, size_t tile_k,
                                                               uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, 1, tile_k}, [&](const size_t(&i)[3], size_t slot) {
    task(arg, uarch, slot, i[0], i[1], i[2], smaller(range_k - i[2], tile_k));
  });
}

void pthreadpool_parallelize_3d_tile_2d(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t range_k, size_t tile_j, size_t tile_k,
                                        uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, tile_j, tile_k}, [&](const size_t(&i)[3], size_t) {
    task(arg, i[0], i[1], i[2], smaller(range_j - i[1], tile_j), smaller(range_k - i[2], tile_k));
  });
}

void pthreadpool_parallelize_3d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_with_id_t task,
                                                   void* arg, uint32_t uarch, uint32_t, size_t range_i, size_t range_j,
                                                   size_t range_k, size_t tile_j, size_t tile_k, uint32_t) {
  for_each_tile<3>(pool, {range_i, range_j, range_k}, {1, tile_j, tile_k}, [&](const size_t(&i)[3], size_t) {
    task(arg, uarch, i[0], i[1], i[2], smaller(range_j - i[1], tile_j), smaller(range_k - i[2], tile_k));
  });
}

void pthreadpool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task, void* arg, size_t range_i,
                                size_t range_j, size_t range_k, size_t range_l, uint32_t) {
  for_each_tile<4>(pool, {range_i, range_j, range_k, range_l}, {1, 1, 1, 1},
                   [&](const size_t(&i)[4], size_t) { task(arg, i[0], i[1], i[2], i[3]); });
}

void pthreadpool_parallelize_4d_tile_2d(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t range_k, size_t range_l, size_t tile_k,
                                        size_t tile_l, uint32_t) {
  for_each_tile<4>(
      pool, {range_i, range_j, range_k, range_l}, {1, 1, tile_k, tile_l}, [&](const size_t(&i)[4], size_t) {
        task(arg, i[0], i[1], i[2], i[3], smaller(range_k - i[2], tile_k), smaller(range_l - i[3], tile_l));
      });
}

void pthreadpool_parallelize_4d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_with_id_t task,
                                                   void* arg, uint32_t uarch, uint32_t, size_t range_i, size_t range_j,
                                                   size_t range_k, size_t range_l, size_t tile_k, size_t tile_l,
                                                   uint32_t) {
  for_each_tile<4>(
      pool, {range_i, range_j, range_k, range_l}, {1, 1, tile_k, tile_l}, [&](const size_t(&i)[4], size_t) {
        task(arg, uarch, i[0], i[1], i[2], i[3], smaller(range_k - i[2], tile_k), smaller(range_l - i[3], tile_l));
      });
}

void pthreadpool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task, void* arg, size_t range_i,
                                size_t range_j, size_t range_k, size_t range_l, size_t range_m, uint32_t) {
  for_each_tile<5>(pool, {range_i, range_j, range_k, range_l, range_m}, {1, 1, 1, 1, 1},
                   [&](const size_t(&i)[5], size_t) { task(arg, i[0], i[1], i[2], i[3], i[4]); });
}

void pthreadpool_parallelize_5d_tile_2d(pthreadpool_t pool, pthreadpool_task_5d_tile_2d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t range_k, size_t range_l, size_t range_m,
                                        size_t tile_l, size_t tile_m, uint32_t) {
  for_each_tile<5>(
      pool, {range_i, range_j, range_k, range_l, range_m}, {1, 1, 1, tile_l, tile_m}, [&](const size_t(&i)[5], size_t) {
        task(arg, i[0], i[1], i[2], i[3], i[4], smaller(range_l - i[3], tile_l), smaller(range_m - i[4], tile_m));
      });
}

void pthreadpool_parallelize_6d_tile_2d(pthreadpool_t pool, pthreadpool_task_6d_tile_2d_t task, void* arg,
                                        size_t range_i, size_t range_j, size_t range_k, size_t range_l, size_t range_m,
                                        size_t range_n, size_t tile_m, size_t tile_n, uint32_t) {
  for_each_tile<6>(pool, {range_i, range_j, range_k, range_l, range_m, range_n}, {1, 1, 1, 1, tile_m, tile_n},
                   [&](const size_t(&i)[6], size_t) {
                     task(arg, i[0], i[1], i[2], i[3], i[4], i[5], smaller(range_m - i[4], tile_m),
                          smaller(range_n - i[5], tile_n));
                   });
}

}  // extern "C"

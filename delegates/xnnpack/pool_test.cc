// pthreadpool's functions visit every element once, in tiles no larger than asked for, in slots that the pool has.
#include "delegates/xnnpack/pool.h"

#include <pthreadpool.h>

#include "delegates/xnnpack/testing.h"

namespace vireo::xnnpack {
namespace {

constexpr size_t kSlots = 3;

struct Visits {
  std::atomic<int> count[6 * 5 * 4 * 3 * 3 * 2] = {};
  std::atomic<int> faults{0};

  void visit(size_t index) {
    if (index >= sizeof(count) / sizeof(count[0])) {
      ++faults;
    } else {
      ++count[index];
    }
  }
  bool once(size_t n) const {
    for (size_t i = 0; i < sizeof(count) / sizeof(count[0]); ++i) {
      if (count[i] != (i < n ? 1 : 0)) return false;
    }
    return faults == 0;
  }
};

Visits& of(void* v) { return *static_cast<Visits*>(v); }

class Pool : public ::testing::TestWithParam<int32_t> {
 protected:
  Pool() : threads_(GetParam()) {
    pool_.slots = kSlots;
    pool_.threads = threads_.get();
  }
  testing::Threads threads_;
  pthreadpool pool_;
  Visits v_;
};

TEST_P(Pool, OneLoop) {
  EXPECT_EQ(pthreadpool_get_threads_count(&pool_), kSlots);
  EXPECT_EQ(pthreadpool_get_threads_count(nullptr), 1u);
  pthreadpool_parallelize_1d(
      &pool_, [](void* v, size_t i) { of(v).visit(i); }, &v_, 17, 0);
  EXPECT_TRUE(v_.once(17));
}

TEST_P(Pool, NothingToDo) {
  pthreadpool_parallelize_1d(
      &pool_, [](void* v, size_t i) { of(v).visit(i); }, &v_, 0, 0);
  pthreadpool_parallelize_2d(
      &pool_, [](void* v, size_t i, size_t) { of(v).visit(i); }, &v_, 4, 0, 0);
  EXPECT_TRUE(v_.once(0));
}

TEST_P(Pool, SlotsAreThePools) {
  pthreadpool_parallelize_1d_with_thread(
      &pool_,
      [](void* v, size_t slot, size_t i) {
        if (slot >= kSlots) ++of(v).faults;
        of(v).visit(i);
      },
      &v_, 50, 0);
  EXPECT_TRUE(v_.once(50));
}

TEST_P(Pool, Tiles) {
  pthreadpool_parallelize_1d_tile_1d(
      &pool_,
      [](void* v, size_t i, size_t n) {
        if (n > 4 || n == 0) ++of(v).faults;
        for (size_t k = 0; k < n; ++k) of(v).visit(i + k);
      },
      &v_, 18, 4, 0);
  EXPECT_TRUE(v_.once(18));
}

TEST_P(Pool, TwoTiledLoopsOnAKindOfCore) {
  pthreadpool_parallelize_2d_tile_2d_with_uarch(
      &pool_,
      [](void* v, uint32_t uarch, size_t i, size_t j, size_t ni, size_t nj) {
        if (uarch != 0 || ni > 3 || nj > 4) ++of(v).faults;
        for (size_t a = i; a < i + ni; ++a) {
          for (size_t b = j; b < j + nj; ++b) of(v).visit(a * 9 + b);
        }
      },
      &v_, 0, 0, 10, 9, 3, 4, 0);
  EXPECT_TRUE(v_.once(90));
}

TEST_P(Pool, ThreeLoops) {
  pthreadpool_parallelize_3d_tile_2d(
      &pool_,
      [](void* v, size_t i, size_t j, size_t k, size_t nj, size_t nk) {
        for (size_t b = j; b < j + nj; ++b) {
          for (size_t c = k; c < k + nk; ++c) of(v).visit((i * 7 + b) * 5 + c);
        }
      },
      &v_, 3, 7, 5, 2, 5, 0);
  EXPECT_TRUE(v_.once(105));
}

TEST_P(Pool, SixLoops) {
  pthreadpool_parallelize_6d_tile_2d(
      &pool_,
      [](void* v, size_t i, size_t j, size_t k, size_t l, size_t m, size_t n, size_t nm, size_t nn) {
        for (size_t a = m; a < m + nm; ++a) {
          for (size_t b = n; b < n + nn; ++b) of(v).visit(((((i * 5 + j) * 4 + k) * 3 + l) * 3 + a) * 2 + b);
        }
      },
      &v_, 6, 5, 4, 3, 3, 2, 2, 1, 0);
  EXPECT_TRUE(v_.once(6 * 5 * 4 * 3 * 3 * 2));
}

INSTANTIATE_TEST_SUITE_P(Threads, Pool, ::testing::Values(1, static_cast<int32_t>(kSlots)));

}  // namespace
}  // namespace vireo::xnnpack

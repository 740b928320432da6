#include "runtime/platform/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/devices/pool_slice.h"
#include "runtime/platform/platform.h"

namespace vireo::platform {
namespace {

struct Close {
  void operator()(Pool* p) const { Pool::close(p); }
};
using Held = std::unique_ptr<Pool, Close>;

// Counts visits of each index, and checks that a slot is in one hand at a time.
struct Visits {
  Visits(int64_t count, int32_t slots) : seen(static_cast<size_t>(count)), taken(static_cast<size_t>(slots)) {}
  std::vector<std::atomic<int>> seen, taken;
  std::atomic<bool> clash{false};
  std::atomic<int64_t> least{INT64_MAX};

  static void task(void* arg, int64_t begin, int64_t end, int32_t slot) {
    auto& v = *static_cast<Visits*>(arg);
    if (slot < 0 || static_cast<size_t>(slot) >= v.taken.size() ||
        v.taken[static_cast<size_t>(slot)].exchange(1) != 0) {
      v.clash = true;
      return;
    }
    for (int64_t i = begin; i < end; ++i) ++v.seen[static_cast<size_t>(i)];
    if (end != static_cast<int64_t>(v.seen.size()) && end - begin < v.least) v.least = end - begin;
    v.taken[static_cast<size_t>(slot)] = 0;
  }
  void expect_all_once(int64_t grain) const {
    EXPECT_FALSE(clash);
    EXPECT_GE(least, grain);
    for (const std::atomic<int>& n : seen) ASSERT_EQ(n, 1);
  }
};

TEST(Pool, CoversEveryIndexOnce) {
  for (const int32_t slots : {2, 3, 8}) {
    const Held pool(Pool::open(slots));
    ASSERT_NE(pool, nullptr);
    for (const int64_t count : {1, 2, 7, 64, 1001}) {
      for (const int64_t grain : {1, 5, 64, 2000}) {
        Visits v(count, slots);
        Pool::run(pool.get(), count, grain, Visits::task, &v);
        v.expect_all_once(grain);
      }
    }
    Pool::run(pool.get(), 0, 1, nullptr, nullptr);  // nothing to do: nobody is called
  }
}

// Thousands of jobs with pauses around the time after which threads fall asleep.
TEST(Pool, WakesAndSleeps) {
  const Held pool(Pool::open(3));
  for (int round = 0; round < 2000; ++round) {
    Visits v(40, 3);
    Pool::run(pool.get(), 40, 1, Visits::task, &v);
    v.expect_all_once(1);
    if (round % 3 == 0) usleep(static_cast<useconds_t>(round % 400));
  }
}

// Every thread must come for this job to end: each piece waits until all are there.
TEST(Pool, AllThreadsTakePart) {
  constexpr int32_t kSlots = 4;
  const Held pool(Pool::open(kSlots));
  for (int round = 0; round < 20; ++round) {
    usleep(round % 2 == 0 ? 0 : 5000);  // asleep, or still watching
    struct Meeting {
      std::atomic<int> here{0};
      std::atomic<bool> late{false};
    } meeting;
    Pool::run(
        pool.get(), kSlots, 1,
        [](void* arg, int64_t begin, int64_t end, int32_t) {
          auto& m = *static_cast<Meeting*>(arg);
          m.here += static_cast<int>(end - begin);
          const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (m.here < kSlots && !m.late) {
            if (std::chrono::steady_clock::now() > give_up) m.late = true;
            std::this_thread::yield();
          }
        },
        &meeting);
    ASSERT_FALSE(meeting.late);
  }
}

// At least four tiles a slot, of nearly one size: 10 pieces for two slots are not 4 and 6.
TEST(Pool, TilesAreSmallEnoughToShareEvenly) {
  const Held pool(Pool::open(2));
  for (const int64_t count : {8, 10, 15, 16, 23, 1001}) {
    std::atomic<int64_t> most{0};
    Pool::run(
        pool.get(), count, 1,
        [](void* arg, int64_t begin, int64_t end, int32_t) {
          auto& m = *static_cast<std::atomic<int64_t>*>(arg);
          int64_t seen = m;
          while (end - begin > seen && !m.compare_exchange_weak(seen, end - begin)) {
          }
        },
        &most);
    EXPECT_EQ(most, count / 8) << count;
  }
}

// A slot begins with its own part of the range, the same one in every job.
TEST(Pool, EachSlotHasItsPart) {
  constexpr int32_t kSlots = 3;
  const Held pool(Pool::open(kSlots));
  for (int round = 0; round < 20; ++round) {
    struct Starts {
      std::atomic<int64_t> first[kSlots];
      std::atomic<int> here{0};
      std::atomic<bool> late{false};
    } starts;
    for (auto& f : starts.first) f = -1;
    Pool::run(
        pool.get(), 12, 1,
        [](void* arg, int64_t begin, int64_t, int32_t slot) {
          auto& s = *static_cast<Starts*>(arg);
          if (s.first[slot] >= 0) return;
          s.first[slot] = begin;
          ++s.here;
          const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (s.here < kSlots && !s.late) {  // nobody takes a second tile before all have one
            if (std::chrono::steady_clock::now() > give_up) s.late = true;
            std::this_thread::yield();
          }
        },
        &starts);
    ASSERT_FALSE(starts.late);
    for (int64_t slot = 0; slot < kSlots; ++slot) EXPECT_EQ(starts.first[slot], 4 * slot);
  }
}

#if defined(__linux__)
// Workers leave the caller a core, and take none that the caller may not use.
TEST(Pool, WorkersKeepOffTheCallersCore) {
  const int32_t cores = usable_cores();
  if (cores < 2) GTEST_SKIP() << "one core: there is none to leave";
  const Held pool(Pool::open(2));
  struct Seen {
    std::atomic<int> allowed{0};
  } seen;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen.allowed != cores - 1 && std::chrono::steady_clock::now() < give_up) {
    Pool::run(
        pool.get(), 2, 1,
        [](void* arg, int64_t, int64_t, int32_t slot) {
          auto& s = *static_cast<Seen*>(arg);
          usleep(100);  // that the other one comes
          if (slot != 0) s.allowed = usable_cores();
        },
        &seen);
  }
  EXPECT_EQ(seen.allowed, cores - 1);
  EXPECT_EQ(usable_cores(), cores);  // the caller's own stay as they were
}

// Bound to one core, a runtime starts no worker that would take turns with its caller.
TEST(OpenPool, OneCoreIsOneThread) {
  std::thread bound([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    for (const int32_t threads : {0, 1, 4}) {
      vireo_thread_pool pool = {};
      Error error;
      ASSERT_TRUE(ok(open_pool(threads, &pool, &error))) << error.message;
      EXPECT_EQ(pool.slots, 1) << threads;
      EXPECT_EQ(pool.run, nullptr) << threads;
      close_pool(pool);
    }
  });
  bound.join();
}

// A caller that binds itself later still has its work done, and keeps its own set.
TEST(Pool, ServesACallerBoundToOneCore) {
  const Held pool(Pool::open(2));
  std::thread bound([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    for (int round = 0; round < 200; ++round) {
      Visits v(40, 2);
      Pool::run(pool.get(), 40, 1, Visits::task, &v);
      v.expect_all_once(1);
    }
    EXPECT_EQ(usable_cores(), 1);
  });
  bound.join();
}

// Idle threads sleep: a second without work takes a few milliseconds of all cores' time (the watch's last turns, on a
// loaded machine up to ten), one thread that spins takes a second.
TEST(Pool, AnIdlePoolTakesNoTime) {
  const Held pool(Pool::open(4));
  const auto cpu_ns = [] {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
  };
  for (int round = 0; round < 100; ++round) {
    Visits v(400, 4);
    Pool::run(pool.get(), 400, 1, Visits::task, &v);
  }
  usleep(200000);  // the watch after the last job, on a core that others use too
  const int64_t before = cpu_ns();
  usleep(1000000);
  EXPECT_LT(cpu_ns() - before, 100000000);
}
#endif

// Another caller's job, which runs from the construction until end().
class LongJob {
 public:
  explicit LongJob(void* pool) : caller_([this, pool] { Pool::run(pool, 8, 1, task, this); }) {
    while (!running_) std::this_thread::yield();
  }
  void end() {
    go_on_ = true;
    caller_.join();
  }

 private:
  static void task(void* self, int64_t, int64_t, int32_t) {
    auto& job = *static_cast<LongJob*>(self);
    job.running_ = true;
    while (!job.go_on_) std::this_thread::yield();
  }
  std::atomic<bool> running_{false}, go_on_{false};
  std::thread caller_;  // uses the two above
};

// While one session's job runs, another's is done by its caller: nobody waits for the other.
TEST(Pool, TwoCallersAtOnce) {
  const Held pool(Pool::open(2));
  LongJob first(pool.get());
  Visits v(100, 1);  // slot 0 alone
  Pool::run(pool.get(), 100, 1, Visits::task, &v);
  v.expect_all_once(1);
  first.end();
}

// The thread sanitizer ends a child of several threads that starts one.
#if !defined(__SANITIZE_THREAD__)
// Status of a child that runs `body`, which says by its result whether all is well. 20 s are a hang.
int status_of_child(bool (*body)(void* argument), void* argument) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body(argument) ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// Threads that sleep, that watch, and that are in the middle of another caller's job when the process forks.
TEST(Pool, AForkedChildHasThreadsOfItsOwn) {
#ifdef VIREO_EMULATED
  GTEST_SKIP() << "qemu ends a child of a process with threads that makes threads itself";
#endif
  const Held pool(Pool::open(4));
  const auto child = [](void* p) {
    std::atomic<int> threads{0};
    for (int round = 0; round < 100; ++round) {  // until one other thread was there in time
      threads = 0;
      Pool::run(
          p, 4, 1,
          [](void* arg, int64_t, int64_t, int32_t slot) {
            auto& seen = *static_cast<std::atomic<int>*>(arg);
            seen |= 1 << slot;
            usleep(2000);
          },
          &threads);
      if ((threads & ~1) != 0) break;
    }
    Pool::close(static_cast<Pool*>(p));
    return (threads & ~1) != 0;
  };
  Visits v(100, 4);
  Pool::run(pool.get(), 100, 1, Visits::task, &v);
  EXPECT_EQ(status_of_child(child, pool.get()), 0) << "watching";
  usleep(100000);
  EXPECT_EQ(status_of_child(child, pool.get()), 0) << "asleep";

  LongJob other(pool.get());
  EXPECT_EQ(status_of_child(child, pool.get()), 0) << "at work";
  other.end();
  Visits after(100, 4);
  Pool::run(pool.get(), 100, 1, Visits::task, &after);  // the parent goes on as before
  after.expect_all_once(1);
}

TEST(Pool, AForkedChildClosesWhatItNeverUsed) {
  const Held pool(Pool::open(3));
  usleep(100000);
  const auto child = [](void* p) {
    Pool::close(static_cast<Pool*>(p));
    return true;
  };
  EXPECT_EQ(status_of_child(child, pool.get()), 0);
}
#endif

// A session of two threads on a pool of four: kernels have scratch for two.
TEST(PoolSlice, KeepSlotsBelowTheSessionsOwn) {
  const Held pool(Pool::open(4));
  PoolSlice lanes{{Pool::run, pool.get(), 4}, 2};
  for (const int64_t count : {1, 2, 9, 500}) {
    for (int round = 0; round < 50; ++round) {
      Visits v(count, 2);
      run_slice(&lanes, count, 3, Visits::task, &v);
      v.expect_all_once(3);
    }
  }
}

TEST(Pool, CountsTheCoresItMayUse) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), 4096);
}

}  // namespace
}  // namespace vireo::platform

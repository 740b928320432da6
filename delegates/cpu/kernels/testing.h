// What the tests of all kernel families share: every instruction set of this machine, threads, memory that faults when
// read past its end, and errors in the right unit.
#ifndef VIREO_DELEGATES_CPU_KERNELS_TESTING_H_
#define VIREO_DELEGATES_CPU_KERNELS_TESTING_H_

#include <gtest/gtest.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "delegates/cpu/kernels/levels.h"
#include "delegates/cpu/kernels/targets.h"

// After targets.h, which it reads.
#include <hwy/targets.h>

#include "sdk/base/parallel.h"
#include "tests/support/sample.h"

namespace vireo::cpu::testing {

// Whether for_each_level is at the best instruction set. The model of a tile unit in plain C++ is slow and the same on
// all of them, so the tests try it there only.
inline bool& on_best_level() {
  static bool best = true;
  return best;
}

// Runs `body` once for each instruction set that this machine has and the kernels are built for, best first. Each test
// has its own: one that defines VIREO_KERNEL_USES_BF16 before this header has one more set. Under the thread sanitizer,
// which slows each access down, the best alone: who shares what with whom does not depend on the width of a vector.
static inline void for_each_level(const std::function<void(const char* level)>& body) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t all = supported_levels() & (HWY_TARGETS | HWY_AVX3_DL);
  for (int64_t rest = all; rest != 0; rest &= rest - 1) {
    const int64_t level = rest & ~(rest - 1);
    hwy::SetSupportedTargetsForTest(level);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(level));
    on_best_level() = rest == all;
    body(hwy::TargetName(level));
#ifdef __SANITIZE_THREAD__
    break;
#endif
  }
  on_best_level() = true;
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(supported_levels());
}

// A pool of as many threads as it has slots, made anew for each call: slow, and harsh on anything that assumes an
// order.
class Threads {
 public:
  explicit Threads(int32_t slots) : slots_(slots) {}
  Parallel parallel() {
    Parallel p;
    if (slots_ > 1) {
      p.run = &Threads::run;
      p.pool = this;
      p.slots = slots_;
    }
    return p;
  }
  // How often a kernel gave work away.
  int jobs() const { return jobs_; }

 private:
  static void run(void* pool, int64_t count, int64_t grain, Parallel::Task task, void* arg) {
    const int32_t slots = static_cast<Threads*>(pool)->slots_;
    ++static_cast<Threads*>(pool)->jobs_;
    std::atomic<int64_t> next{0};
    std::vector<std::thread> threads;
    for (int32_t slot = 0; slot < slots; ++slot) {
      threads.emplace_back([&, slot] {
        for (;;) {
          const int64_t begin = next.fetch_add(grain);
          if (begin >= count) return;
          task(arg, begin, std::min(begin + grain, count), slot);
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
  int32_t slots_;
  int jobs_ = 0;
};

// `count` elements that end where an unreadable page begins. `shift` elements of slack at the end move the start off
// its alignment; they hold a pattern that `intact` checks.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : count_(count) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    room_ = bytes + 2 * page;
    base_ = static_cast<char*>(mmap(nullptr, room_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + bytes, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + page + bytes - count * sizeof(T));
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, room_); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }

 private:
  size_t count_, room_;
  char* base_;
  T* data_;
};
using Floats = Guarded<float>;

// Scratch is promised 64-byte alignment; its end is guarded up to that.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : memory_((bytes + 63) / 64 * 64) {
    memset(memory_.data(), 0xA5, memory_.size());  // as float: -2.9e-16, so that stale scratch shows
  }
  void* data() { return memory_.data(); }

 private:
  Guarded<char> memory_;
};

// The number that std::uniform_real_distribution would draw, whose many small functions are slow in tests, which are
// hardly optimised.
inline float uniform(std::mt19937& rng, float lo, float hi) {
  const float part = static_cast<float>(rng()) * 0x1p-32f;
  return std::min(part, 1 - 0x1p-24f) * (hi - lo) + lo;
}

template <class Range>
void fill_uniform(Range& out, uint32_t seed, float lo = -1, float hi = 1) {
  std::mt19937 rng(seed);
  for (auto& v : out) v = uniform(rng, lo, hi);
}

using tests::in_sample;

// One thread and three. What is planned depends on their number and not on the instruction set, so a default run tries
// three only at the lesser sets.
inline std::vector<int32_t> thread_counts() {
  return on_best_level() || tests::sample_step() == 1 ? std::vector<int32_t>{1, 3} : std::vector<int32_t>{3};
}

// The vector unit of 32-bit Arm takes numbers below 2^-126 for 0, and gives 0 for results there.
#if HWY_ARCH_ARM_V7
constexpr bool kSubnormals = false;
#else
constexpr bool kSubnormals = true;
#endif
inline bool lost(double x) { return !kSubnormals && x != 0 && std::abs(x) < 0x1p-126; }

// Distance in units in the last place of the nearest float to `want`; infinities and NaN must match.
inline double ulp_error(float got, double want) {
  const float near = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(near) || std::isinf(got)) return near == got ? 0 : 1e30;
  const double unit = std::max(std::abs(static_cast<double>(std::nextafter(near, INFINITY)) - near), 1.4e-45);
  return std::abs(got - want) / unit;
}

// The bound for a sum of `terms` products in float32 in any order: each rounding loses at most 2^-24 of a partial sum,
// which never exceeds `magnitude` = sum |a b|; + 2 for bias and activation.
inline double sum_bound(int64_t terms, double magnitude) {
  return (static_cast<double>(terms) + 2) * 0x1p-24 * magnitude + 1e-30;
}

// What plain loops expect of a kernel: `want`, and how far off a result may be.
struct Expected {
  std::vector<double> want, bound;
};

// Numbers, enumerators, flags and arrays of them as a key of expected_once.
template <class... Parts>
std::vector<double> key_of(const Parts&... parts) {
  std::vector<double> key;
  const auto add = [&key](const auto& part) {
    if constexpr (std::is_array_v<std::remove_reference_t<decltype(part)>>) {
      for (const auto& number : part) key.push_back(static_cast<double>(number));
    } else {
      key.push_back(static_cast<double>(part));
    }
  };
  (add(parts), ...);
  return key;
}

// What `make(Expected*)` makes, once for each `key`, which holds all that the numbers depend on. Plain loops are most
// of a test's time, and instruction sets, numbers of threads and ways of packing share them.
template <class Make>
const Expected& expected_once(const std::vector<double>& key, const Make& make) {
  static std::map<std::vector<double>, Expected> made;  // one for each place that calls
  const auto [at, fresh] = made.try_emplace(key);
  if (fresh) make(&at->second);
  return at->second;
}

}  // namespace vireo::cpu::testing

#endif  // VIREO_DELEGATES_CPU_KERNELS_TESTING_H_

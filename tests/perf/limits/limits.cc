// What this machine can do at most, on 1 to N threads, as JSON: products from registers alone, streams from each level
// of memory.
//
//   machine_limits [THREADS]
//
// Each figure is the best of many short tries: on a machine that others use too, what was left undisturbed once.
// Operations count multiplications and additions; a copy counts what it reads and what it writes. A figure that the
// core has no instruction for is left out.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/levels.h"

#define VIREO_KERNEL_USES_VNNI
#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/perf/limits/limits.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vireo {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums that run side by side hide a multiplication's latency: 4 to 5 cycles at two a cycle, of bfloat16 up to 7. With
// the operands they fit the registers of each target.
constexpr int kSums = 12, kBf16Sums = 16;
constexpr int64_t kRounds = 50000;

// Rounds of `step` on so many sums; their sum goes to `memory` + 64 elements, so that none is left out. They begin with
// what stands at places of their own: of equal ones the compiler would keep one.
template <int kCount, class D, class F>
void spin(D d, F step, hn::TFromD<D>* memory) {
  hn::Vec<D> sums[kCount];
  VIREO_UNROLL for (int k = 0; k < kCount; ++k) sums[k] = hn::LoadU(d, memory + k);
  for (int64_t i = 0; i < kRounds; ++i) {
    VIREO_UNROLL for (int k = 0; k < kCount; ++k) sums[k] = step(sums[k]);
  }
  VIREO_UNROLL for (int k = 1; k < kCount; ++k) sums[0] = hn::Add(sums[0], sums[k]);
  hn::Store(sums[0], d, memory + 64);
}

double fma_f32(float* memory) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Load(d, memory), b = hn::Load(d, memory + 16);
  spin<kSums>(
      d, [&](auto sum) { return hn::MulAdd(a, b, sum); }, memory);
  return 2.0 * kSums * kRounds * static_cast<double>(hn::Lanes(d));
}

double dot_i8(float* memory) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  const hn::ScalableTag<int32_t> d;
  const auto a = hn::Load(hn::Repartition<uint8_t, decltype(d)>(), reinterpret_cast<const uint8_t*>(memory));
  const auto b = hn::Load(hn::Repartition<int8_t, decltype(d)>(), reinterpret_cast<const int8_t*>(memory));
  spin<kSums>(
      d, [&](auto sum) { return hn::SumOfMulQuadAccumulate(d, a, b, sum); }, reinterpret_cast<int32_t*>(memory));
  return 8.0 * kSums * kRounds * static_cast<double>(hn::Lanes(d));
#else
  (void)memory;
  return 0;
#endif
}

double dot_bf16(float* memory) {
#if HWY_NATIVE_DOT_BF16
  const hn::ScalableTag<float> d;
  const auto a = hn::Load(hn::Repartition<hwy::bfloat16_t, decltype(d)>(), reinterpret_cast<hwy::bfloat16_t*>(memory));
  auto unused = hn::Zero(d);
  spin<kBf16Sums>(
      d, [&](auto sum) { return hn::ReorderWidenMulAccumulate(d, a, a, sum, unused); }, memory);
  return 4.0 * kBf16Sums * kRounds * static_cast<double>(hn::Lanes(d));
#else
  (void)memory;
  return 0;
#endif
}

// Bytes are a multiple of 1024.
double read_all(const uint8_t* memory, size_t bytes, float* result) {
  const hn::ScalableTag<uint64_t> d;
  const auto* p = reinterpret_cast<const uint64_t*>(memory);
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i < bytes / 8; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::Load(d, p + i));
    s1 = hn::Add(s1, hn::Load(d, p + i + lanes));
    s2 = hn::Add(s2, hn::Load(d, p + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(d, p + i + 3 * lanes));
  }
  hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, reinterpret_cast<uint64_t*>(result + 64));
  return static_cast<double>(bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace vireo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo {
namespace {

HWY_EXPORT(fma_f32);
HWY_EXPORT(dot_i8);
HWY_EXPORT(dot_bf16);
HWY_EXPORT(read_all);

// Memory of one thread: registers' operands, a result, and what it streams.
struct Worker {
  alignas(64) float small[256];
  std::vector<uint8_t> from, to;
};

uint8_t* aligned(std::vector<uint8_t>& v) { return v.data() + (64 - reinterpret_cast<uintptr_t>(v.data()) % 64) % 64; }

#if VIREO_AMX
template <bool kBf16>
double tiles() {
  constexpr int64_t kRounds = 4000;
  alignas(64) uint8_t bytes[1024] = {};
  cpu::AmxTiles t;
  cpu::TileConfig config;
  for (int i = 0; i < 8; ++i) config.set(i, cpu::kTileRows, cpu::kTileBytes);
  t.configure(config);
  t.load<4>(bytes, 64);
  t.load<5>(bytes, 64);
  t.zero<0>();
  t.zero<1>();
  t.zero<2>();
  t.zero<3>();
  for (int64_t i = 0; i < kRounds; ++i) {
    if constexpr (kBf16) {
      t.dot_bf16<0, 4, 5>();
      t.dot_bf16<1, 4, 5>();
      t.dot_bf16<2, 4, 5>();
      t.dot_bf16<3, 4, 5>();
    } else {
      t.dot_i8<0, 4, 5, true, true>();
      t.dot_i8<1, 4, 5, true, true>();
      t.dot_i8<2, 4, 5, true, true>();
      t.dot_i8<3, 4, 5, true, true>();
    }
  }
  t.store<0>(bytes, 64);
  t.release();
  return 2.0 * 4 * kRounds * 16 * 16 * (kBf16 ? 32 : 64);
}
#endif

// Work of all threads a nanosecond, the best of some tries. `work(worker)` returns what it did.
template <class F>
double best_rate(std::vector<Worker>& workers, int tries, const F& work) {
  double best = 0;
  for (int k = 0; k < tries; ++k) {
    std::atomic<size_t> ready{0};
    std::atomic<bool> go{false};
    std::vector<double> done(workers.size());
    std::vector<std::chrono::steady_clock::time_point> ends(workers.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < workers.size(); ++i) {
      threads.emplace_back([&, i] {
        ready.fetch_add(1);
        while (!go.load()) {
        }
        done[i] = work(workers[i]);
        ends[i] = std::chrono::steady_clock::now();
      });
    }
    while (ready.load() + 1 < workers.size()) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    go.store(true);
    done[0] = work(workers[0]);
    ends[0] = std::chrono::steady_clock::now();
    for (std::thread& t : threads) t.join();
    const double ns =
        std::chrono::duration<double, std::nano>(*std::max_element(ends.begin(), ends.end()) - begin).count();
    double all = 0;
    for (const double d : done) all += d;
    best = std::max(best, all / ns);
  }
  return best;
}

void print(const char* name, double rate) {
  if (rate > 0) std::printf(", \"%s\": %.2f", name, rate);
}

void measure(size_t threads, bool last) {
  constexpr int kTries = 200;
  constexpr size_t kMost = size_t{192} << 20;
  std::vector<Worker> workers(threads);
  for (Worker& w : workers) {
    std::fill(std::begin(w.small), std::end(w.small), 0x1p-60f);
    w.from.assign(kMost / threads + 64, 1);
    w.to.assign(kMost / threads + 64, 2);
  }
  std::printf("  {\"threads\": %zu", threads);
  print("f32", best_rate(workers, kTries, [](Worker& w) { return HWY_DYNAMIC_DISPATCH(fma_f32)(w.small); }));
  print("i8", best_rate(workers, kTries, [](Worker& w) { return HWY_DYNAMIC_DISPATCH(dot_i8)(w.small); }));
  print("bf16", best_rate(workers, kTries, [](Worker& w) { return HWY_DYNAMIC_DISPATCH(dot_bf16)(w.small); }));
#if VIREO_AMX
  if (cpu::has_amx_int8()) print("amx_i8", best_rate(workers, kTries, [](Worker&) { return tiles<false>(); }));
  if (cpu::has_amx_bf16()) print("amx_bf16", best_rate(workers, kTries, [](Worker&) { return tiles<true>(); }));
#endif
  const auto read = [](size_t bytes, int times) {
    return [bytes, times](Worker& w) {
      double done = 0;
      for (int k = 0; k < times; ++k) done += HWY_DYNAMIC_DISPATCH(read_all)(aligned(w.from), bytes, w.small);
      return done;
    };
  };
  print("read_256k", best_rate(workers, kTries, read(size_t{256} << 10, 64)));
  print("read_8m", best_rate(workers, kTries, read((size_t{8} << 20) / threads, 4)));
  print("read_memory", best_rate(workers, 20, read(kMost / threads, 1)));
  print("copy_memory", best_rate(workers, 20, [threads](Worker& w) {
          std::memcpy(aligned(w.to), aligned(w.from), kMost / threads);
          return 2.0 * kMost / static_cast<double>(threads);
        }));
  std::printf("}%s\n", last ? "" : ",");
}

}  // namespace
}  // namespace vireo

int main(int argc, char** argv) {
  vireo::cpu::use_supported_levels();
  const int most = argc > 1 ? std::atoi(argv[1]) : 2;
  std::printf("[\n");
  for (int threads = 1; threads <= most; ++threads) vireo::measure(static_cast<size_t>(threads), threads == most);
  std::printf("]\n");
  return 0;
}
#endif

// Products with weights in float16 and in float32: GFLOP/s on one thread, and GB/s of the weights.
#include "delegates/cpu/kernels/gemm_f16/gemm_f16.h"

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

namespace vireo::cpu {
namespace {

struct Room {
  explicit Room(size_t bytes) : data(aligned_alloc(64, bytes / 64 * 64 + 64)) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { free(data); }
  void* data;
};

void rate(benchmark::State& state, const GemmF16& s, int64_t element) {
  const auto weights = static_cast<double>(s.n * s.k);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(s.m) * weights, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * weights * static_cast<double>(element), benchmark::Counter::kIsIterationInvariantRate);
}

GemmF16 shape(const benchmark::State& state) {
  GemmF16 s;
  s.m = state.range(0);
  s.n = s.ldc = state.range(1);
  s.k = s.lda = state.range(2);
  return s;
}

template <class T>
void product_f16(benchmark::State& state) {
  GemmF16 s = shape(state);
  const std::vector<uint16_t> b(static_cast<size_t>(f16_packed_elements(s.n, s.k)), 0x3400);
  s.packed = b.data();
  const std::vector<T> a(static_cast<size_t>(s.m * s.k), T{1});
  std::vector<T> c(static_cast<size_t>(s.m * s.n));
  const Room scratch(gemm_f16_scratch_bytes(s.m, s.n, s.k, 1, true, true));
  for (auto _ : state) {
    if constexpr (sizeof(T) == sizeof(float)) {
      gemm_f16(s, a.data(), c.data(), Parallel{}, scratch.data);
    } else {
      gemm_f16(s, HalfTail{}, a.data(), c.data(), Parallel{}, scratch.data);
    }
    benchmark::ClobberMemory();
  }
  rate(state, s, 2);
}
void f16_weights(benchmark::State& state) { product_f16<float>(state); }
void f16_all(benchmark::State& state) { product_f16<uint16_t>(state); }

void f32(benchmark::State& state) {
  const GemmF16 sizes = shape(state);
  GemmF32 s;
  s.m = sizes.m;
  s.n = s.ldb = s.ldc = sizes.n;
  s.k = s.lda = sizes.k;
  const std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f), b(static_cast<size_t>(s.n * s.k), 0.25f);
  std::vector<float> c(static_cast<size_t>(s.m * s.n)), panels(static_cast<size_t>(gemm_f32_packed_floats(s)));
  const Room scratch(gemm_f32_scratch_bytes(s, 1));
  if (!panels.empty()) {
    pack_gemm_f32(s, b.data(), Parallel{}, panels.data());
    s.packed = panels.data();
  }
  for (auto _ : state) {
    gemm_f32(s, a.data(), b.data(), c.data(), Parallel{}, scratch.data);
    benchmark::ClobberMemory();
  }
  rate(state, sizes, 4);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"});
  for (const int64_t m : {1, 2, 4, 8, 16, 128}) b->Args({m, 8192, 2048});
  b->Args({1, 32000, 2048})->Args({128, 1536, 384})->Args({3136, 256, 64});
}
BENCHMARK(f16_weights)->Apply(sizes);
BENCHMARK(f16_all)->Apply(sizes);
BENCHMARK(f32)->Apply(sizes);

}  // namespace
}  // namespace vireo::cpu

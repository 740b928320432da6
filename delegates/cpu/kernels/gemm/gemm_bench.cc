// Matrix products of models people run: GFLOP/s on one thread, operands warm in the cache they fit.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/gemm/gemm.h"

namespace vireo::cpu {
namespace {

void product(benchmark::State& state, bool trans_b, bool packed = false) {
  GemmF32 s;
  s.m = state.range(0);
  s.n = state.range(1);
  s.k = state.range(2);
  s.trans_b = trans_b;
  s.lda = s.k;
  s.ldb = trans_b ? s.k : s.n;
  s.ldc = s.n;
  s.epilogue.act.kind = Activation::kRelu;
  std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f), b(static_cast<size_t>(s.n * s.k), 0.25f);
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  void* const scratch = aligned_alloc(64, gemm_f32_scratch_bytes(s, 1) / 64 * 64 + 64);
  std::vector<float> panels(static_cast<size_t>(packed ? gemm_f32_packed_floats(s) : 0));
  if (!panels.empty()) {
    pack_gemm_f32(s, b.data(), Parallel{}, panels.data());
    s.packed = panels.data();
  }
  for (auto _ : state) {
    gemm_f32(s, a.data(), b.data(), c.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(s.m * s.n * s.k), benchmark::Counter::kIsIterationInvariantRate);
}
void rows_by_columns(benchmark::State& state) { product(state, false); }
void rows_by_rows(benchmark::State& state) { product(state, true); }

void by_panels(benchmark::State& state) { product(state, false, true); }

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"});
  b->Args({128, 384, 384})->Args({128, 1536, 384})->Args({128, 384, 1536});  // transformer, 128 tokens
  b->Args({128, 128, 32})->Args({128, 32, 128});                             // one attention head
  b->Args({96, 12544, 16})->Args({24, 3136, 96})->Args({144, 3136, 24})->Args({192, 784, 32})->Args({384, 196, 64});
  b->Args({576, 196, 96})->Args({160, 49, 960})->Args({320, 49, 960})->Args({1280, 49, 320});  // MobileNetV2 1x1
  b->Args({64, 3136, 256})
      ->Args({256, 3136, 64})
      ->Args({128, 784, 512})
      ->Args({1024, 196, 256})
      ->Args({2048, 49, 512});  // ResNet-50
  b->Args({512, 49, 2048})
      ->Args({64, 125, 64})
      ->Args({1, 1000, 2048})
      ->Args({1, 640, 128})
      ->Args({1, 32, 64})
      ->Args({1, 64, 32})
      ->Args({1000, 1, 512});
  b->Args({2, 32000, 1024})->Args({4, 32000, 1024})->Args({7, 32000, 1024});  // a few tokens: weights from memory
  b->Args({1024, 1024, 1024});
}
BENCHMARK(rows_by_columns)->Apply(sizes);
BENCHMARK(rows_by_rows)->Apply(sizes);
BENCHMARK(by_panels)->Apply(sizes);

}  // namespace
}  // namespace vireo::cpu

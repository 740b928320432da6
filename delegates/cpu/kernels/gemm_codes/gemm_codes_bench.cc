// Products with weights of 4 and 8 bits and of float32: GFLOP/s on one thread; with few rows GB/s of what is read of
// the weights (codes and scales), beside a loop that only reads as many bytes.
#include "delegates/cpu/kernels/gemm_codes/gemm_codes.h"

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

void rate(benchmark::State& state, double macs, double weight_bytes) {
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * macs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * weight_bytes, benchmark::Counter::kIsIterationInvariantRate);
}

void product_codes(benchmark::State& state, int32_t bits, int64_t block, bool zeros) {
  GemmCodes s;
  s.m = state.range(0);
  s.n = s.ldc = state.range(1);
  s.k = s.lda = state.range(2);
  s.b.bits = bits;
  s.b.block = block == 0 ? s.k : block;
  const int64_t blocks = blocks_of(s.b, s.k);
  const std::vector<uint32_t> codes(codes_packed_bytes(s.n, s.k, bits) / 4, 0x12345678u);
  const std::vector<float> scales(scales_packed_bytes(s.n, blocks) / 4, 0.25f);
  const std::vector<uint8_t> zero(zeros_packed_bytes(s.n, blocks), 8);
  s.packed = codes.data();
  s.packed_scales = scales.data();
  s.packed_zeros = zeros ? zero.data() : nullptr;
  const std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f);
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  const Room scratch(gemm_codes_scratch_bytes(s.m, s.n, s.k, 1, true));
  for (auto _ : state) {
    gemm_codes(s, a.data(), c.data(), Parallel{}, scratch.data);
    benchmark::ClobberMemory();
  }
  rate(state, static_cast<double>(s.m * s.n * s.k),
       static_cast<double>(codes.size() * 4 + scales.size() * 4 + (zeros ? zero.size() : 0)));
}
void int4_block32(benchmark::State& state) { product_codes(state, 4, 32, false); }
void uint4_block32_zeros(benchmark::State& state) { product_codes(state, 4, 32, true); }
void int4_block128(benchmark::State& state) { product_codes(state, 4, 128, false); }
void int8_column(benchmark::State& state) { product_codes(state, 8, 0, false); }

void product_f32(benchmark::State& state) {
  GemmF32 s;
  s.m = state.range(0);
  s.n = s.ldb = s.ldc = state.range(1);
  s.k = s.lda = state.range(2);
  std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f), b(static_cast<size_t>(s.n * s.k), 0.25f);
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
  rate(state, static_cast<double>(s.m * s.n * s.k), static_cast<double>(s.n * s.k * 4));
}

// The limit of a product with one row.
void read_alone(benchmark::State& state) {
  const std::vector<uint64_t> data(static_cast<size_t>(state.range(0)) * 1024 * 1024 / 8, 1);
  for (auto _ : state) {
    uint64_t sum[8] = {};
    for (size_t i = 0; i + 8 <= data.size(); i += 8) {
      for (size_t j = 0; j < 8; ++j) sum[j] += data[i + j];
    }
    for (const uint64_t s : sum) benchmark::DoNotOptimize(s);
  }
  rate(state, 0, static_cast<double>(data.size() * 8));
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"});
  for (const int64_t m : {1, 2, 4, 8, 16, 128}) b->Args({m, 8192, 2048});
  b->Args({1, 32000, 2048})->Args({1, 2048, 2048})->Args({128, 1536, 384});
}
BENCHMARK(int4_block32)->Apply(sizes);
BENCHMARK(uint4_block32_zeros)->Apply(sizes);
BENCHMARK(int4_block128)->Apply(sizes);
BENCHMARK(int8_column)->Apply(sizes);
BENCHMARK(product_f32)->Apply(sizes);
BENCHMARK(read_alone)->ArgName("MiB")->Arg(16)->Arg(128);

}  // namespace
}  // namespace vireo::cpu

// Integer convolutions of models people run, one thread, codes in and out. Arguments: channels in, channels out,
// height, width, kernel, stride, groups. Matrix products: m, n, k.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/intgemm/intgemm.h"

namespace vireo::cpu {
namespace {

// Counts multiplications: AVX-512 VNNI does 128 a cycle (2 instructions of 64).
void rate(benchmark::State& state, int64_t products) {
  state.counters["Gmac/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(products), benchmark::Counter::kIsIterationInvariantRate);
}

void conv_codes(benchmark::State& state) {
  ConvI8 c;
  ConvF32& s = c.shape;
  s.in_channels = state.range(0);
  s.out_channels = state.range(1);
  s.in[1] = state.range(2);
  s.in[2] = state.range(3);
  s.groups = state.range(6);
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = state.range(4);
    s.stride[i] = state.range(5);
    s.pad[i] = s.kernel[i] / 2;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - s.kernel[i]) / s.stride[i] + 1;
  }
  const int64_t depth = s.in_channels / s.groups * s.kernel[1] * s.kernel[2], area = s.out[1] * s.out[2];
  std::vector<uint8_t> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 77);
  std::vector<uint8_t> w(static_cast<size_t>(s.out_channels * depth), 3), y(static_cast<size_t>(s.out_channels * area));
  const std::vector<int32_t> bias(static_cast<size_t>(s.out_channels), 1000);
  const std::vector<float> multiplier(static_cast<size_t>(s.out_channels), 0.01f);
  const uint8_t x_zero = 120;
  Requantize q;
  q.bias = bias.data();
  q.multiplier = multiplier.data();
  q.multiplier_per_row = true;
  c.w_signed = true;
  c.x_zero = &x_zero;
  c.finish = &q;
  void* const scratch = aligned_alloc(64, conv_i8_scratch_bytes(c, true, 1) / 64 * 64 + 64);
  for (auto _ : state) {
    conv_i8(c, x.data(), w.data(), y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  rate(state, s.out_channels * area * depth);
}
BENCHMARK(conv_codes)
    ->ArgNames({"c", "o", "h", "w", "k", "s", "g"})
    // MobileNetV2
    ->Args({3, 32, 224, 224, 3, 2, 1})
    ->Args({32, 16, 112, 112, 1, 1, 1})
    ->Args({16, 96, 112, 112, 1, 1, 1})
    ->Args({144, 32, 28, 28, 1, 1, 1})
    ->Args({384, 64, 14, 14, 1, 1, 1})
    ->Args({96, 576, 14, 14, 1, 1, 1})
    ->Args({960, 320, 7, 7, 1, 1, 1})
    ->Args({32, 32, 112, 112, 3, 1, 32})
    ->Args({96, 96, 112, 112, 3, 2, 96})
    ->Args({144, 144, 56, 56, 3, 1, 144})
    ->Args({384, 384, 14, 14, 3, 1, 384})
    ->Args({576, 576, 14, 14, 3, 2, 576})
    ->Args({960, 960, 7, 7, 3, 1, 960})
    // ResNet-50
    ->Args({64, 64, 56, 56, 3, 1, 1})
    ->Args({256, 256, 14, 14, 3, 1, 1})
    // keyword spotter
    ->Args({64, 64, 25, 5, 3, 1, 64})
    ->Args({64, 64, 25, 5, 1, 1, 1});

void gemm_codes(benchmark::State& state) {
  GemmI8 g;
  g.m = state.range(0);
  g.n = g.ldb = g.ldc = state.range(1);
  g.k = g.lda = state.range(2);
  g.b_signed = true;
  const std::vector<uint8_t> a(static_cast<size_t>(g.m * g.k), 77), b(static_cast<size_t>(g.n * g.k), 3);
  std::vector<uint8_t> y(static_cast<size_t>(g.m * g.n));
  const uint8_t a_zero = 120;
  const float multiplier = 0.01f;
  Requantize q;
  q.multiplier = &multiplier;
  g.a_zero = &a_zero;
  g.finish = &q;
  void* packed = nullptr;
  if (state.range(3) != 0) {
    packed = aligned_alloc(64, gemm_i8_packed_bytes(g));  // a multiple of 64
    pack_gemm_i8(g, b.data(), Parallel{}, packed);
    g.packed = packed;
  }
  void* const scratch = aligned_alloc(64, gemm_i8_scratch_bytes(g, true, 1) / 64 * 64 + 64);
  for (auto _ : state) {
    gemm_i8(g, a.data(), b.data(), y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  free(packed);
  rate(state, g.m * g.n * g.k);
}
BENCHMARK(gemm_codes)
    ->ArgNames({"m", "n", "k", "packed"})
    ->ArgsProduct({{1}, {1000}, {1280}, {0, 1}})
    ->ArgsProduct({{128}, {384}, {384, 1536}, {0, 1}})
    ->ArgsProduct({{384, 3136}, {384}, {384}, {0, 1}})
    ->ArgsProduct({{49, 196}, {512}, {2304}, {0, 1}});

}  // namespace
}  // namespace vireo::cpu

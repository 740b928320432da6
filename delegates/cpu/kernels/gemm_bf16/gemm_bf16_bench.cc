// Products in bfloat16 and in float32 of the same sizes, weights packed ahead ("kept": what is read and written lies in
// bfloat16, too): GFLOP/s on one thread; with one row GB/s
// of weights, beside a loop that only reads as many bytes.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "delegates/cpu/kernels/levels.h"

namespace vireo::cpu {
namespace {

constexpr uint16_t kQuarter = 0x3E80;

// Of all benchmarks of the program, before the first.
[[maybe_unused]] const bool kLevelsAreKnown = (use_supported_levels(), true);

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

// Memory for as many elements, of which bfloat16 takes half.
template <bool kKept>
Bf16Operands operands(const std::vector<float>& a, std::vector<float>& c) {
  Bf16Operands o;
  o.a = a.data();
  o.c = c.data();
  o.a_half = o.c_half = kKept;
  return o;
}

template <bool kKept>
void product(benchmark::State& state) {
  GemmBf16 s;
  s.m = state.range(0);
  s.n = s.ldc = state.range(1);
  s.k = s.lda = state.range(2);
  const std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f);
  const std::vector<uint16_t> packed(static_cast<size_t>(bf16_packed_elements(s.n, s.k)), kQuarter);
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  const Room scratch(gemm_bf16_scratch_bytes(s.m, s.n, s.k, 1, true, kKept));
  const Bf16Operands o = operands<kKept>(a, c);
  s.packed = packed.data();
  for (auto _ : state) {
    gemm_bf16(s, o, Parallel{}, scratch.data);
    benchmark::ClobberMemory();
  }
  rate(state, static_cast<double>(s.m * s.n * s.k), static_cast<double>(s.n * s.k * 2));
}

void product_bf16(benchmark::State& state) { product<false>(state); }
void product_kept(benchmark::State& state) { product<true>(state); }

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

ConvF32 conv_of(const benchmark::State& state) {
  ConvF32 s;
  s.in_channels = state.range(0);
  s.out_channels = state.range(1);
  s.in[1] = s.in[2] = state.range(2);
  s.kernel[1] = s.kernel[2] = state.range(3);
  s.stride[1] = s.stride[2] = state.range(4);
  s.pad[1] = s.pad[2] = s.kernel[1] / 2;
  s.out[1] = s.out[2] = (s.in[1] + 2 * s.pad[1] - s.kernel[1]) / s.stride[1] + 1;
  s.act.kind = Activation::kRelu;
  return s;
}
double macs_of(const ConvF32& s) {
  return static_cast<double>(s.in_channels * s.out_channels * s.out[1] * s.out[2] * s.kernel[1] * s.kernel[2]);
}

void conv_f32(benchmark::State& state) {
  ConvF32 s = conv_of(state);
  const int64_t k = s.in_channels * s.kernel[1] * s.kernel[2];
  const std::vector<float> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 0.5f);
  const std::vector<float> packed(static_cast<size_t>(conv_nhwc_f32_packed_floats(s)), 0.25f);
  std::vector<float> y(static_cast<size_t>(s.out_channels * s.out[1] * s.out[2]));
  const Room scratch(conv_nhwc_f32_scratch_bytes(s, 1, Sizes::kFixed, true));
  s.packed = packed.data();
  for (auto _ : state) {
    conv_nhwc_f32(s, x.data(), nullptr, y.data(), Parallel{}, scratch.data);
    benchmark::ClobberMemory();
  }
  rate(state, macs_of(s), static_cast<double>(s.out_channels * k * 4));
}

template <bool kKept>
void convolution(benchmark::State& state) {
  const ConvF32 s = conv_of(state);
  const int64_t k = s.in_channels * s.kernel[1] * s.kernel[2];
  const std::vector<float> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 0.5f);
  const std::vector<uint16_t> packed(static_cast<size_t>(bf16_packed_elements(s.out_channels, k)), kQuarter);
  std::vector<float> y(static_cast<size_t>(s.out_channels * s.out[1] * s.out[2]));
  const Room scratch(conv_bf16_scratch_bytes(s, 1, true, kKept));
  const Bf16Operands o = operands<kKept>(x, y);
  for (auto _ : state) {
    cpu::conv_bf16(s, o, nullptr, packed.data(), Parallel{}, scratch.data);
    benchmark::ClobberMemory();
  }
  rate(state, macs_of(s), static_cast<double>(s.out_channels * k * 2));
}

void conv_bf16(benchmark::State& state) { convolution<false>(state); }
void conv_kept(benchmark::State& state) { convolution<true>(state); }

void products(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"});
  b->Args({128, 384, 384})->Args({128, 1536, 384})->Args({128, 384, 1536});  // transformer, 128 tokens
  b->Args({3136, 256, 64})->Args({196, 256, 1024})->Args({49, 2048, 512});   // ResNet-50, 1 x 1
  b->Args({12544, 96, 16})->Args({784, 32, 192})->Args({49, 160, 960});      // MobileNetV2
  b->Args({1024, 1024, 1024});
  b->Args({1, 2048, 2048})->Args({1, 8192, 2048})->Args({1, 32000, 2048})->Args({4, 8192, 2048});  // decoding
}
void convolutions(benchmark::internal::Benchmark* b) {
  b->ArgNames({"c", "o", "plane", "kernel", "stride"});
  b->Args({3, 64, 224, 7, 2})->Args({64, 64, 56, 3, 1})->Args({128, 128, 28, 3, 1});
  b->Args({256, 256, 14, 3, 1})->Args({512, 512, 7, 3, 1})->Args({256, 512, 56, 1, 2});
}
BENCHMARK(product_f32)->Apply(products);
BENCHMARK(product_bf16)->Apply(products);
BENCHMARK(product_kept)->Apply(products);
BENCHMARK(conv_f32)->Apply(convolutions);
BENCHMARK(conv_bf16)->Apply(convolutions);
BENCHMARK(conv_kept)->Apply(convolutions);
BENCHMARK(read_alone)->ArgName("MiB")->Arg(16)->Arg(128);

}  // namespace
}  // namespace vireo::cpu

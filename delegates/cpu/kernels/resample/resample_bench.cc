// Doubling both axes, planes and pixels, one thread. Arguments: edge of the input, channels.
#include <benchmark/benchmark.h>

#include <vector>

#include "delegates/cpu/kernels/resample/resample.h"

namespace vireo::cpu {
namespace {

struct Data {
  Data(const benchmark::State& state, int64_t taps, bool pixels) {
    const int64_t in = state.range(0), out = 2 * in, channels = state.range(1);
    for (int64_t i = 0; i < out; ++i) {
      first.push_back((i + 1) / 2 - (taps > 1 ? 1 : i % 2));
      weights.push_back(i % 2 == 0 ? 0.25 : 0.75);
      weights.push_back(i % 2 == 0 ? 0.75 : 0.25);
    }
    shape.x = {in, out, taps, first.data(), taps == 1 ? nullptr : weights.data()};
    shape.y = shape.x;
    shape.count = pixels ? 1 : channels;
    shape.depth = pixels ? channels : 1;
    x.assign(static_cast<size_t>(in * in * channels), 0.5f);
    y.assign(static_cast<size_t>(out * out * channels), 0.0f);
    scratch.resize(resample_scratch_bytes(taps, in, out, shape.depth, 1) + 64);
  }
  void* memory() { return scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64; }
  Planes shape;
  std::vector<int64_t> first;
  std::vector<double> weights;
  std::vector<float> x, y;
  std::vector<char> scratch;
};

void nearest(benchmark::State& state, bool pixels) {
  Data d(state, 1, pixels);
  for (auto _ : state) {
    pick_elements(d.shape, d.x.data(), d.y.data(), 4, Parallel{});
    benchmark::ClobberMemory();
  }
}

void linear(benchmark::State& state, bool pixels) {
  Data d(state, 2, pixels);
  for (auto _ : state) {
    resample(d.shape, Elements::kF32, d.x.data(), d.y.data(), Parallel{}, d.memory());
    benchmark::ClobberMemory();
  }
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Args({10, 256})->Args({20, 128})->Args({40, 64})->Args({40, 16})->Args({80, 3});
}
BENCHMARK_CAPTURE(nearest, planes, false)->Apply(sizes);
BENCHMARK_CAPTURE(nearest, pixels, true)->Apply(sizes);
BENCHMARK_CAPTURE(linear, planes, false)->Apply(sizes);
BENCHMARK_CAPTURE(linear, pixels, true)->Apply(sizes);

}  // namespace
}  // namespace vireo::cpu

// A sum and its layer normalisation: as one and as two, one thread. Arguments: rows, row, whether the sum is wanted.
#include <benchmark/benchmark.h>

#include <vector>

#include "delegates/cpu/kernels/eltwise/eltwise.h"
#include "delegates/cpu/kernels/norm/norm.h"

namespace vireo::cpu {
namespace {

struct Data {
  explicit Data(const benchmark::State& state) {
    shape.rows = state.range(0);
    shape.size = shape.period = state.range(1);
    const auto count = static_cast<size_t>(shape.rows * shape.size);
    x.assign(count, 0.5f);
    skip.assign(count, 0.25f);
    for (size_t i = 0; i < count; i += 3) x[i] = 1;
    y.assign(count, 0.0f);
    sum.assign(count, 0.0f);
    scale.assign(static_cast<size_t>(shape.size), 1.0f);
    shape.scale = shape.shift = scale.data();
  }
  NormF32 shape;
  std::vector<float> x, skip, y, sum, scale;
};

void parts(benchmark::State& state) {
  Data d(state);
  BinaryF32 add;
  add.op = Binary::kAdd;
  add.rank = 1;
  add.dims[0] = d.shape.rows * d.shape.size;
  add.a_strides[0] = add.b_strides[0] = 1;
  float* const sum = state.range(2) != 0 ? d.sum.data() : d.x.data();  // in place where nobody wants it
  for (auto _ : state) {
    binary_f32(add, d.x.data(), d.skip.data(), sum, Parallel{});
    norm_f32(d.shape, sum, d.y.data(), Parallel{});
    benchmark::ClobberMemory();
  }
}

void fused(benchmark::State& state) {
  Data d(state);
  d.shape.residual = d.skip.data();
  d.shape.sum = state.range(2) != 0 ? d.sum.data() : nullptr;
  for (auto _ : state) {
    norm_f32(d.shape, d.x.data(), d.y.data(), Parallel{});
    benchmark::ClobberMemory();
  }
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int wanted : {0, 1}) {
    b->Args({1, 256, wanted})->Args({128, 384, wanted})->Args({197, 192, wanted})->Args({1024, 768, wanted});
  }
}
BENCHMARK(parts)->Apply(sizes);
BENCHMARK(fused)->Apply(sizes);

}  // namespace
}  // namespace vireo::cpu

// Rows of neighbouring elements, one thread. Arguments: rows, row.
#include <benchmark/benchmark.h>

#include <vector>

#include "delegates/cpu/kernels/reduce/reduce.h"

namespace vireo::cpu {
namespace {

void rows(benchmark::State& state) {
  const int64_t rows = state.range(0), row = state.range(1);
  std::vector<float> x(static_cast<size_t>(rows * row), 0.5f), y(static_cast<size_t>(rows));
  for (auto _ : state) {
    reduce_f32(Reduce::kSum, x.data(), y.data(), rows, row, 1, Parallel{});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * row);
}

BENCHMARK(rows)->ArgsProduct({{1024}, {2, 4, 8, 16, 24, 32, 33, 64, 128, 1024}})->Args({1, 4})->Args({1, 32});

}  // namespace
}  // namespace vireo::cpu

// (a + b), relu, times a: as a chain and as its parts, one thread. Arguments: rows, row, whether b is one number a row.
// The same, or a * b alone, summed over each row: what a reduction at the end gains.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/chain/chain.h"

namespace vireo::cpu {
namespace {

struct Data {
  explicit Data(const benchmark::State& state)
      : rows(state.range(0)), row(state.range(1)), repeated(state.range(2) != 0) {
    const auto count = static_cast<size_t>(rows * row);
    a.assign(count, 0.5f);
    b.assign(count, 0.25f);
    y.assign(count, 0.0f);
  }
  BinaryF32 shape(Binary op, bool with_b) const {
    BinaryF32 s;
    s.op = op;
    s.rank = 2;
    s.dims[0] = rows;
    s.dims[1] = row;
    s.a_strides[0] = row;
    s.a_strides[1] = 1;
    s.b_strides[0] = with_b && repeated ? 1 : row;
    s.b_strides[1] = with_b && repeated ? 0 : 1;
    return s;
  }
  int64_t rows, row;
  bool repeated;
  std::vector<float> a, b, y;
};

void parts(benchmark::State& state) {
  Data d(state);
  const BinaryF32 add = d.shape(Binary::kAdd, true), mul = d.shape(Binary::kMul, false);
  for (auto _ : state) {
    binary_f32(add, d.a.data(), d.b.data(), d.y.data(), Parallel{});
    activate_f32(d.y.data(), d.y.data(), d.rows * d.row, {Activation::kRelu, 0, 0}, Parallel{});
    binary_f32(mul, d.y.data(), d.a.data(), d.y.data(), Parallel{});
    benchmark::ClobberMemory();
  }
}

void chain(benchmark::State& state) {
  Data d(state);
  ChainF32 c;
  c.operand_count = 2;
  c.blocks = 1;
  c.step_count = 3;
  c.steps[0] = {true, Binary::kAdd, {}, -1, -2, 0};
  c.steps[1] = {false, Binary::kAdd, {Activation::kRelu, 0, 0}, 0, 0, 0};
  c.steps[2] = {true, Binary::kMul, {}, 0, -1, 0};
  const BinaryF32 s = d.shape(Binary::kAdd, true);
  ChainOperand operands[2];
  operands[0] = {d.a.data(), {s.a_strides[0], s.a_strides[1]}};
  operands[1] = {d.b.data(), {s.b_strides[0], s.b_strides[1]}};
  void* const scratch = aligned_alloc(64, chain_f32_scratch_bytes(c, 1));
  for (auto _ : state) {
    chain_f32(c, 2, s.dims, operands, d.y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
}

// Arguments: rows, row, whether b is one number a row, how many steps: 1 or 3.
void parts_reduced(benchmark::State& state) {
  Data d(state);
  const BinaryF32 add = d.shape(Binary::kAdd, true), mul = d.shape(Binary::kMul, state.range(3) == 1);
  std::vector<float> sums(static_cast<size_t>(d.rows));
  for (auto _ : state) {
    if (state.range(3) == 1) {
      binary_f32(mul, d.a.data(), d.b.data(), d.y.data(), Parallel{});
    } else {
      binary_f32(add, d.a.data(), d.b.data(), d.y.data(), Parallel{});
      activate_f32(d.y.data(), d.y.data(), d.rows * d.row, {Activation::kRelu, 0, 0}, Parallel{});
      binary_f32(mul, d.y.data(), d.a.data(), d.y.data(), Parallel{});
    }
    reduce_f32(Reduce::kSum, d.y.data(), sums.data(), d.rows, d.row, 1, Parallel{});
    benchmark::ClobberMemory();
  }
}

void chain_reduced(benchmark::State& state) {
  Data d(state);
  ChainF32 c;
  c.operand_count = 2;
  c.blocks = 1;
  c.step_count = static_cast<int>(state.range(3));
  if (c.step_count == 1) {
    c.steps[0] = {true, Binary::kMul, {}, -1, -2, 0};
  } else {
    c.steps[0] = {true, Binary::kAdd, {}, -1, -2, 0};
    c.steps[1] = {false, Binary::kAdd, {Activation::kRelu, 0, 0}, 0, 0, 0};
    c.steps[2] = {true, Binary::kMul, {}, 0, -1, 0};
  }
  c.end = {1, Reduce::kSum, false};
  const BinaryF32 s = d.shape(Binary::kAdd, true);
  ChainOperand operands[2];
  operands[0] = {d.a.data(), {s.a_strides[0], s.a_strides[1]}};
  operands[1] = {d.b.data(), {s.b_strides[0], s.b_strides[1]}};
  std::vector<float> sums(static_cast<size_t>(d.rows));
  void* const scratch = aligned_alloc(64, chain_f32_scratch_bytes(c, 1));
  for (auto _ : state) {
    chain_f32(c, 2, s.dims, operands, sums.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "row", "repeated"});
  for (const int64_t row : {64, 1024, 16384, 262144}) b->Args({1, row, 0});
  for (const int64_t row : {49, 196, 384, 1024, 25600}) b->Args({64, row, 1});
}
void reduced_sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "row", "repeated", "steps"});
  for (const int64_t steps : {1, 3}) {
    for (const int64_t count : {64, 1024, 4096, 16384, 65536, 262144, 1048576}) {
      for (const int64_t row : {2, 8, 33, 64, 256, 1024, 8192, 65536}) {
        if (row <= count) b->Args({count / row, row, 0, steps});
      }
    }
    for (const int64_t row : {8, 64, 200, 256, 1024, 25600}) b->Args({64, row, 1, steps});
  }
}
BENCHMARK(parts)->Apply(sizes);
BENCHMARK(chain)->Apply(sizes);
BENCHMARK(parts_reduced)->Apply(reduced_sizes);
BENCHMARK(chain_reduced)->Apply(reduced_sizes);

}  // namespace
}  // namespace vireo::cpu

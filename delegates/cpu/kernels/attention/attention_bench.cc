// Attention of models people run, one thread. Arguments: heads, heads of keys, queries, keys, head size, causal.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/attention/attention.h"
#include "delegates/cpu/kernels/attention/bf16.h"
#include "delegates/cpu/kernels/attention/cached.h"

namespace vireo::cpu {
namespace {

AttentionF32 shape_of(const benchmark::State& state) {
  AttentionF32 s;
  s.batch = 1;
  s.q_heads = state.range(0);
  s.kv_heads = state.range(1);
  s.queries = state.range(2);
  s.keys = state.range(3);
  s.head = s.value_head = state.range(4);
  s.causal = state.range(5) != 0;
  s.offset = s.keys - s.queries;
  const auto steps = [&](int64_t heads) { return AttentionF32::Steps{heads * s.head, s.head, 0}; };
  s.q = s.y = steps(s.q_heads);
  s.k = s.v = steps(s.kv_heads);
  s.scale = 0.125f;
  return s;
}

struct Operands {
  std::vector<float> q, k, v, y;
  explicit Operands(const AttentionF32& s)
      : q(static_cast<size_t>(s.q_heads * s.queries * s.head)),
        k(static_cast<size_t>(s.kv_heads * s.keys * s.head)),
        v(k.size()),
        y(q.size()) {
    for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 13) / 13 - 0.5f;
    for (size_t i = 0; i < k.size(); ++i) k[i] = v[i] = static_cast<float>(i % 11) / 11 - 0.5f;
  }
};

void* room(size_t bytes) { return aligned_alloc(64, bytes / 64 * 64 + 64); }

// As if all keys were seen.
void rate(benchmark::State& state, const AttentionF32& s) {
  state.counters["GFLOP/s"] = benchmark::Counter(4e-9 * static_cast<double>(s.q_heads * s.queries * s.keys * s.head),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void attention(benchmark::State& state) {
  const AttentionF32 s = shape_of(state);
  Operands of(s);
  void* const scratch = room(attention_f32_scratch_bytes(s, 1));
  for (auto _ : state) {
    attention_f32(s, of.q.data(), of.k.data(), of.v.data(), of.y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  rate(state, s);
}

// Products in bfloat16, of operands that are float32 in memory.
void attention_bf16_of_f32(benchmark::State& state) {
  AttentionBf16 s;
  static_cast<AttentionF32&>(s) = shape_of(state);
  s.wide_q = s.wide_k = s.wide_v = s.wide_y = true;
  Operands of(s);
  void* const scratch = room(attention_bf16_scratch_bytes(s, 1));
  for (auto _ : state) {
    attention_bf16(s, of.q.data(), of.k.data(), of.v.data(), of.y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  rate(state, s);
}

// A cache head by head, one token. Arguments: heads, heads of keys, keys, head size, bytes of an element (4: float32).
void decode(benchmark::State& state) {
  AttentionCached s;
  s.batch = s.queries = 1;
  s.q_heads = state.range(0);
  s.kv_heads = state.range(1);
  s.keys = state.range(2);
  s.head = s.value_head = state.range(3);
  const int64_t bytes = state.range(4);
  s.type = bytes == 1 ? CacheType::kI8 : CacheType::kBf16;
  s.q = s.y = {s.q_heads * s.head, s.head, 0};
  s.k = s.v = {s.head, s.keys * s.head, 0};
  s.k_scales = s.v_scales = {1, s.keys, 0};
  s.scale = 0.125f;
  const size_t elements = static_cast<size_t>(s.kv_heads * s.keys * s.head);
  std::vector<float> q(static_cast<size_t>(s.q_heads * s.head), 0.25f), y(q.size()),
      scales(static_cast<size_t>(s.kv_heads * s.keys), 0.01f);
  std::vector<uint8_t> k(elements * static_cast<size_t>(bytes), 1), v(k);  // small numbers in each type
  if (bytes == 1) s.k_scale = s.v_scale = scales.data();
  void* const scratch = room(attention_cached_scratch_bytes(s, 1) + attention_f32_scratch_bytes(s, 1));
  for (auto _ : state) {
    if (bytes == 4) {
      attention_f32(s, q.data(), reinterpret_cast<const float*>(k.data()), reinterpret_cast<const float*>(v.data()),
                    y.data(), Parallel{}, scratch);
    } else {
      attention_cached(s, q.data(), k.data(), v.data(), y.data(), Parallel{}, scratch);
    }
    benchmark::ClobberMemory();
  }
  free(scratch);
  state.counters["GB/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(k.size()), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(decode)
    ->ArgsProduct({{12}, {4}, {128, 1024, 16384}, {64}, {4, 2, 1}})
    ->ArgsProduct({{32}, {8}, {4096}, {128}, {4, 2, 1}});

void sizes(benchmark::internal::Benchmark* b) {
  b->Args({6, 6, 1500, 1500, 64, 0})
      ->Args({3, 3, 197, 197, 64, 0})
      ->Args({12, 12, 128, 128, 32, 0})
      ->Args({12, 4, 512, 512, 64, 1})
      ->Args({12, 4, 1, 1024, 64, 1})
      ->Args({8, 8, 16, 4096, 128, 1});
}
BENCHMARK(attention)->Apply(sizes);
BENCHMARK(attention_bf16_of_f32)->Apply(sizes);

}  // namespace
}  // namespace vireo::cpu

// Attention of models people run, one thread. Arguments: heads, heads of keys, queries, keys, head size, causal.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/attention/attention.h"

namespace vireo::cpu {
namespace {

void attention(benchmark::State& state) {
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
  std::vector<float> q(static_cast<size_t>(s.q_heads * s.queries * s.head)), y(q.size());
  std::vector<float> k(static_cast<size_t>(s.kv_heads * s.keys * s.head)), v(k.size());
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 13) / 13 - 0.5f;
  for (size_t i = 0; i < k.size(); ++i) k[i] = v[i] = static_cast<float>(i % 11) / 11 - 0.5f;
  const size_t bytes = attention_f32_scratch_bytes(s, 1);
  void* const scratch = aligned_alloc(64, bytes / 64 * 64 + 64);
  for (auto _ : state) {
    attention_f32(s, q.data(), k.data(), v.data(), y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  state.counters["GFLOP/s"] = benchmark::Counter(4e-9 * static_cast<double>(s.q_heads * s.queries * s.keys * s.head),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(attention)
    ->Args({6, 6, 1500, 1500, 64, 0})
    ->Args({3, 3, 197, 197, 64, 0})
    ->Args({12, 12, 128, 128, 32, 0})
    ->Args({12, 4, 512, 512, 64, 1})
    ->Args({12, 4, 1, 1024, 64, 1})
    ->Args({8, 8, 16, 4096, 128, 1});

}  // namespace
}  // namespace vireo::cpu

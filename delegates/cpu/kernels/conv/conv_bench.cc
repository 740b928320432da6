// Convolutions of models people run, one thread. Arguments: channels in, channels out, height, width, kernel and stride
// along either axis, groups.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {
namespace {

void conv(benchmark::State& state) {
  ConvF32 s;
  s.in_channels = state.range(0);
  s.out_channels = state.range(1);
  s.in[1] = state.range(2);
  s.in[2] = state.range(3);
  s.groups = state.range(8);
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = state.range(3 + i);
    s.stride[i] = state.range(5 + i);
    s.pad[i] = s.kernel[i] / 2;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - s.kernel[i]) / s.stride[i] + 1;
  }
  s.act = {Activation::kClip, 0, 6};
  const int64_t depth = s.in_channels / s.groups * s.kernel[1] * s.kernel[2], area = s.out[1] * s.out[2];
  std::vector<float> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 0.5f);
  std::vector<float> w(static_cast<size_t>(s.out_channels * depth), 0.25f),
      y(static_cast<size_t>(s.out_channels * area));
  void* const scratch = aligned_alloc(64, conv_f32_scratch_bytes(s, 1) / 64 * 64 + 64);
  for (auto _ : state) {
    conv_f32(s, x.data(), w.data(), y.data(), Parallel{}, scratch);
    benchmark::ClobberMemory();
  }
  free(scratch);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(s.out_channels * area * depth),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(conv)
    ->ArgNames({"c", "o", "h", "w", "kh", "kw", "sh", "sw", "g"})
    // ResNet-50
    ->Args({3, 64, 224, 224, 7, 7, 2, 2, 1})
    ->Args({64, 64, 56, 56, 3, 3, 1, 1, 1})
    ->Args({128, 128, 28, 28, 3, 3, 1, 1, 1})
    ->Args({256, 256, 14, 14, 3, 3, 1, 1, 1})
    ->Args({512, 512, 7, 7, 3, 3, 1, 1, 1})
    ->Args({256, 512, 56, 56, 1, 1, 2, 2, 1})
    // MobileNetV2
    ->Args({3, 32, 224, 224, 3, 3, 2, 2, 1})
    ->Args({16, 96, 112, 112, 1, 1, 1, 1, 1})
    ->Args({32, 32, 112, 112, 3, 3, 1, 1, 32})
    ->Args({96, 96, 112, 112, 3, 3, 2, 2, 96})
    ->Args({144, 144, 56, 56, 3, 3, 1, 1, 144})
    ->Args({192, 192, 28, 28, 3, 3, 1, 1, 192})
    ->Args({384, 384, 14, 14, 3, 3, 1, 1, 384})
    ->Args({576, 576, 14, 14, 3, 3, 2, 2, 576})
    ->Args({960, 960, 7, 7, 3, 3, 1, 1, 960})
    // keyword spotter
    ->Args({64, 64, 25, 5, 3, 3, 1, 1, 64})
    ->Args({64, 64, 25, 5, 1, 1, 1, 1, 1})
    // super resolution, 5 x 5 depthwise
    ->Args({32, 12, 160, 160, 3, 3, 1, 1, 1})
    ->Args({672, 672, 14, 14, 5, 5, 1, 1, 672})
    // notes of music: few filters
    ->Args({8, 8, 172, 264, 3, 39, 1, 1, 1})
    ->Args({8, 1, 172, 264, 5, 5, 1, 1, 1})
    ->Args({32, 1, 172, 88, 7, 3, 1, 1, 1})
    ->Args({1, 1, 1, 43844, 1, 256, 1, 2, 1})
    ->Args({8, 32, 172, 264, 5, 5, 1, 3, 1})
    ->Args({1, 32, 172, 264, 7, 7, 1, 3, 1})
    // what an agent sees
    ->Args({5, 16, 40, 40, 8, 8, 4, 4, 1})
    // where faces are: ends of a pyramid
    ->Args({256, 6, 4, 5, 3, 3, 1, 1, 1})
    ->Args({256, 12, 4, 5, 3, 3, 1, 1, 1})
    // kinds of files: a column
    ->Args({256, 512, 512, 1, 5, 1, 1, 1, 1});

}  // namespace
}  // namespace vireo::cpu

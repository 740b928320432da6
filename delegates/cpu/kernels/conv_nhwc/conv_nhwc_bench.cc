// Convolutions of models people run in both layouts, one thread. Arguments: channels in, channels out, height, width,
// kernel, stride, groups, layout (0: channels first; 1: last; 2: last, filters packed; 3 and 4: the same by Winograd's
// tiles of 2 x 2 and 4 x 4).
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "delegates/cpu/kernels/winograd/winograd.h"

namespace vireo::cpu {
namespace {

void conv(benchmark::State& state) {
  ConvF32 s;
  s.in_channels = state.range(0);
  s.out_channels = state.range(1);
  s.in[1] = state.range(2);
  s.in[2] = state.range(3);
  s.groups = state.range(6);
  const int64_t layout = state.range(7);
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = std::min(state.range(4), s.in[i]);
    s.stride[i] = s.in[i] == 1 ? 1 : state.range(5);
    s.pad[i] = s.kernel[i] > 8 ? 0 : s.kernel[i] / 2;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - s.kernel[i]) / s.stride[i] + 1;
  }
  s.act = {Activation::kClip, 0, 6};
  const int64_t depth = s.in_channels / s.groups * s.kernel[1] * s.kernel[2], area = s.out[1] * s.out[2];
  std::vector<float> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 0.5f);
  std::vector<float> w(static_cast<size_t>(s.out_channels * depth), 0.25f),
      y(static_cast<size_t>(s.out_channels * area));
  const int32_t tile = layout == 3 ? 2 : layout == 4 ? 4 : 0;
  const bool is_depthwise = s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
  const size_t bytes = tile != 0     ? winograd_f32_scratch_bytes(s, tile, 1, Sizes::kFixed)
                       : layout == 0 ? conv_f32_scratch_bytes(s, 1, Sizes::kFixed)
                                     : conv_nhwc_f32_scratch_bytes(s, 1, Sizes::kFixed, layout == 2 && !is_depthwise);
  void* const scratch = aligned_alloc(64, bytes / 64 * 64 + 64);
  std::vector<float> packed(static_cast<size_t>(tile != 0     ? winograd_f32_packed_floats(s, tile)
                                                : layout == 2 ? conv_nhwc_f32_packed_floats(s)
                                                              : 0));
  if (!packed.empty()) {
    if (tile != 0) {
      pack_winograd_f32(s, tile, w.data(), Parallel{}, packed.data());
    } else {
      pack_conv_nhwc_f32(s, w.data(), Parallel{}, packed.data());
    }
    s.packed = packed.data();
  }
  for (auto _ : state) {
    if (tile != 0) {
      winograd_f32(s, tile, x.data(), y.data(), Parallel{}, scratch);
    } else if (layout == 0) {
      conv_f32(s, x.data(), w.data(), y.data(), Parallel{}, scratch);
    } else {
      conv_nhwc_f32(s, x.data(), w.data(), y.data(), Parallel{}, scratch);
    }
    benchmark::ClobberMemory();
  }
  free(scratch);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(s.out_channels * area * depth),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* b) {
  const std::vector<std::vector<int64_t>> all = {
      // ResNet-50
      {3, 64, 224, 224, 7, 2, 1},
      {64, 64, 56, 56, 3, 1, 1},
      {128, 128, 28, 28, 3, 1, 1},
      {256, 256, 14, 14, 3, 1, 1},
      {512, 512, 7, 7, 3, 1, 1},
      {64, 256, 56, 56, 1, 1, 1},
      {256, 512, 56, 56, 1, 2, 1},
      {1024, 256, 14, 14, 1, 1, 1},
      // MobileNetV2
      {3, 32, 224, 224, 3, 2, 1},
      {16, 96, 112, 112, 1, 1, 1},
      {96, 24, 56, 56, 1, 1, 1},
      {192, 32, 28, 28, 1, 1, 1},
      {384, 64, 14, 14, 1, 1, 1},
      {960, 160, 7, 7, 1, 1, 1},
      {32, 32, 112, 112, 3, 1, 32},
      {96, 96, 112, 112, 3, 2, 96},
      {144, 144, 56, 56, 3, 1, 144},
      {192, 192, 28, 28, 3, 1, 192},
      {384, 384, 14, 14, 3, 1, 384},
      {576, 576, 14, 14, 3, 2, 576},
      {960, 960, 7, 7, 3, 1, 960},
      // detectors, super-resolution and segmentation at the size of the image
      {16, 16, 160, 160, 3, 1, 1},
      {32, 32, 80, 80, 3, 1, 1},
      {64, 64, 40, 40, 3, 1, 1},
      {128, 128, 20, 20, 3, 1, 1},
      {128, 128, 10, 10, 3, 1, 1},
      {64, 64, 160, 160, 3, 1, 1},
      {32, 12, 160, 160, 3, 1, 1},
      {3, 32, 160, 160, 3, 1, 1},
      // SSDLite's heads
      {672, 672, 20, 20, 3, 1, 672},
      {672, 546, 20, 20, 1, 1, 1},
      {480, 546, 10, 10, 1, 1, 1},
      // MobileNetV3
      {3, 16, 224, 224, 3, 2, 1},
      {16, 16, 112, 112, 3, 2, 16},
      {72, 72, 56, 56, 3, 2, 72},
      {96, 96, 28, 28, 5, 2, 96},
      {120, 120, 40, 40, 5, 1, 120},
      {240, 240, 14, 14, 5, 1, 240},
      {672, 672, 14, 14, 5, 1, 672},
      {576, 576, 7, 7, 5, 1, 576},
      // a keyword spotter
      {1, 64, 49, 10, 5, 2, 1},
      {64, 64, 25, 5, 3, 1, 64},
      // a music transcriber: an octave of a constant-Q transform, and its windows over time and pitch
      {1, 36, 1, 44000, 512, 256, 1},
      {8, 8, 172, 264, 5, 1, 1},
      {8, 32, 172, 264, 5, 3, 1},
  };
  for (const std::vector<int64_t>& shape : all) {
    const bool winograd = shape[4] == 3 && shape[5] == 1 && shape[6] == 1;
    for (int64_t layout = 0; layout < (winograd ? 5 : 3); ++layout) {
      std::vector<int64_t> args = shape;
      args.push_back(layout);
      b->Args(args);
    }
  }
}
BENCHMARK(conv)->ArgNames({"c", "o", "h", "w", "k", "s", "g", "layout"})->Apply(shapes);

}  // namespace
}  // namespace vireo::cpu

// Integer convolutions of models people run, in both layouts, one thread, codes in and out. Arguments: channels in,
// channels out, height and width, kernel, stride, groups, 1 for channels last.
#include "delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8.h"

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <vector>

namespace vireo::cpu {
namespace {

void conv_codes(benchmark::State& state) {
  ConvI8 c;
  ConvF32& s = c.shape;
  s.in_channels = state.range(0);
  s.out_channels = state.range(1);
  s.groups = state.range(5);
  for (int i = 1; i < 3; ++i) {
    s.in[i] = state.range(2);
    s.kernel[i] = state.range(3);
    s.stride[i] = state.range(4);
    s.pad[i] = s.kernel[i] / 2;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - s.kernel[i]) / s.stride[i] + 1;
  }
  const bool last = state.range(6) != 0;
  const int64_t depth = s.in_channels / s.groups * s.kernel[1] * s.kernel[2], area = s.out[1] * s.out[2];
  const std::vector<uint8_t> x(static_cast<size_t>(s.in_channels * s.in[1] * s.in[2]), 77);
  const std::vector<uint8_t> w(static_cast<size_t>(s.out_channels * depth), 3);
  std::vector<uint8_t> y(static_cast<size_t>(s.out_channels * area));
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
  void* packed = nullptr;
  if (last && conv_nhwc_i8_packed_bytes(s) != 0) {
    packed = aligned_alloc(64, conv_nhwc_i8_packed_bytes(s));  // a multiple of 64
    pack_conv_nhwc_i8(c, w.data(), Parallel{}, packed);
  }
  const size_t bytes = last ? conv_nhwc_i8_scratch_bytes(c, 1, true) : conv_i8_scratch_bytes(c, true, 1);
  void* const scratch = aligned_alloc(64, bytes / 64 * 64 + 64);
  for (auto _ : state) {
    if (last) {
      conv_nhwc_i8(c, x.data(), w.data(), packed, y.data(), Parallel{}, scratch);
    } else {
      conv_i8(c, x.data(), w.data(), y.data(), Parallel{}, scratch);
    }
    benchmark::ClobberMemory();
  }
  free(scratch);
  free(packed);
  state.counters["Gmac/s"] = benchmark::Counter(1e-9 * static_cast<double>(s.out_channels * area * depth),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* b) {
  struct Conv {
    int64_t c, o, size, kernel, stride, groups;
  };
  for (const Conv& s : {Conv{3, 64, 224, 7, 2, 1},     Conv{64, 64, 56, 3, 1, 1},     Conv{128, 128, 28, 3, 1, 1},
                        Conv{256, 256, 14, 3, 1, 1},   Conv{512, 512, 7, 3, 1, 1},    Conv{64, 256, 56, 1, 1, 1},
                        Conv{256, 64, 56, 1, 1, 1},    Conv{256, 512, 56, 1, 2, 1},   Conv{1024, 256, 14, 1, 1, 1},
                        Conv{512, 2048, 7, 1, 1, 1},   Conv{3, 32, 224, 3, 2, 1},     Conv{16, 96, 112, 1, 1, 1},
                        Conv{32, 16, 112, 1, 1, 1},    Conv{96, 24, 56, 1, 1, 1},     Conv{144, 24, 56, 1, 1, 1},
                        Conv{192, 32, 28, 1, 1, 1},    Conv{64, 384, 14, 1, 1, 1},    Conv{384, 64, 14, 1, 1, 1},
                        Conv{960, 160, 7, 1, 1, 1},    Conv{320, 1280, 7, 1, 1, 1},   Conv{32, 32, 112, 3, 1, 32},
                        Conv{96, 96, 112, 3, 2, 96},   Conv{144, 144, 56, 3, 1, 144}, Conv{192, 192, 28, 3, 1, 192},
                        Conv{384, 384, 14, 3, 1, 384}, Conv{576, 576, 14, 3, 2, 576}, Conv{960, 960, 7, 3, 1, 960},
                        Conv{672, 672, 14, 5, 1, 672}, Conv{64, 64, 25, 3, 1, 64},    Conv{32, 32, 128, 3, 1, 1},
                        Conv{8, 8, 64, 5, 1, 1}}) {
    for (const int64_t last : {0, 1}) b->Args({s.c, s.o, s.size, s.kernel, s.stride, s.groups, last});
  }
}
BENCHMARK(conv_codes)->ArgNames({"c", "o", "size", "k", "s", "g", "last"})->Apply(shapes);

}  // namespace
}  // namespace vireo::cpu

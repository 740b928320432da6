#include "delegates/cpu/kernels/pool_nhwc_i8/pool_nhwc_i8.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;
using testing::Guarded;
using Bytes = Guarded<uint8_t>;

// Channels first is the reference here: its own test compares it with plain loops.
void check(const PoolI8& shape, int64_t channels, int32_t slots) {
  const Window& w = shape.window;
  SCOPED_TRACE(::testing::Message() << (shape.is_max ? "max" : "average") << " of " << channels << " channels, "
                                    << w.in_h << " x " << w.in_w << ", kernel " << w.kernel_h << ", stride "
                                    << w.stride_h << ", pad " << w.pad_top);
  const int64_t n = shape.planes / channels, in_area = w.in_h * w.in_w, out_area = w.out_h * w.out_w;
  Bytes x(static_cast<size_t>(n * channels * in_area)), first(x.size());
  Bytes y(static_cast<size_t>(n * channels * out_area)), wanted(y.size());
  std::mt19937 rng(1);
  for (uint8_t& v : x) v = static_cast<uint8_t>(rng());
  for (int64_t i = 0; i < n * channels * in_area; ++i) {
    const int64_t c = i % channels, at = i / channels % in_area, image = i / channels / in_area;
    first[static_cast<size_t>((image * channels + c) * in_area + at)] = x[static_cast<size_t>(i)];
  }
  testing::Scratch scratch(pool_i8_scratch_bytes(shape, 1));
  pool_i8(shape, first.data(), wanted.data(), Parallel{}, scratch.data());
  testing::Threads threads(slots);
  pool_nhwc_i8(shape, channels, x.data(), y.data(), threads.parallel());
  for (int64_t i = 0; i < n * channels * out_area; ++i) {
    const int64_t c = i % channels, at = i / channels % out_area, image = i / channels / out_area;
    ASSERT_EQ(y[static_cast<size_t>(i)], wanted[static_cast<size_t>((image * channels + c) * out_area + at)])
        << "image " << image << ", pixel " << at << ", channel " << c;
  }
}

TEST(PoolNhwcI8, AsChannelsFirst) {
  std::vector<float> multiplier(64);
  for (size_t i = 0; i < multiplier.size(); ++i) multiplier[i] = 0.3f / static_cast<float>(1 + i);
  for_each_level([&](const char*) {
    int i = 0;
    for (const int64_t channels : {1, 5, 16, 40, 64, 130}) {
      for (const int64_t kernel : {1, 2, 3, 7}) {
        for (const bool is_max : {false, true}) {
          PoolI8 p;
          Window& w = p.window;
          p.planes = channels * (1 + i % 2);
          w.in_h = 7 + i % 3;
          w.in_w = 8 + i % 2;
          w.kernel_h = w.kernel_w = kernel;
          w.stride_h = w.stride_w = 1 + i % 2;
          w.pad_top = w.pad_left = p.pad_bottom = p.pad_right = i % 3 == 0 ? kernel / 2 : 0;
          w.out_h = (w.in_h + 2 * w.pad_top - kernel) / w.stride_h + 1;
          w.out_w = (w.in_w + 2 * w.pad_left - kernel) / w.stride_w + 1;
          p.is_max = is_max;
          p.count_padding = i % 4 < 2;
          p.x_signed = i % 5 < 2;
          p.x_zero = 5;
          p.multiplier = multiplier.data();
          p.one_multiplier = i % 7 == 0;
          p.finish.zero_point = 3;
          p.finish.is_signed = true;
          p.finish.low = -128;
          p.finish.high = 127;
          check(p, channels, i % 3 == 1 ? 3 : 1);
          ++i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

#include "delegates/cpu/kernels/pool_nhwc/pool_nhwc.h"

#include <limits>

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t n, int64_t channels, Window w, int64_t pad_end, PoolKind kind, int32_t slots, bool with_nan) {
  w.out_h = (w.in_h + w.pad_top + pad_end - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1;
  w.out_w = (w.in_w + w.pad_left + pad_end - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
  PoolF32 s;
  s.planes = n * channels;
  s.window = w;
  s.pad_bottom = s.pad_right = pad_end;
  s.kind = kind;
  Floats x(static_cast<size_t>(n * w.in_h * w.in_w * channels));
  Floats y(static_cast<size_t>(n * w.out_h * w.out_w * channels));
  testing::fill_uniform(x, 1);
  if (with_nan) x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  testing::Guarded<uint16_t> half_x(x.size()), half_y(y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    half_x[i] = f32_to_bf16(x[i]);
    x[i] = bf16_to_f32(half_x[i]);
  }
  testing::Threads threads(slots);
  pool_nhwc_f32(s, channels, x.data(), y.data(), threads.parallel());
  pool_nhwc_bf16(s, channels, half_x.data(), half_y.data(), threads.parallel());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(half_y[i], f32_to_bf16(y[i])) << "in bfloat16, element " << i;
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i), c = at % channels, ox = at / channels % w.out_w;
    const int64_t oy = at / channels / w.out_w % w.out_h, image = at / channels / w.out_w / w.out_h;
    double sum = 0, best = -INFINITY;
    int64_t inside = 0, padded = 0;
    for (int64_t t = 0; t < w.kernel_h * w.kernel_w; ++t) {
      const int64_t iy = oy * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
      const int64_t ix = ox * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
      padded += iy < w.in_h + pad_end && ix < w.in_w + pad_end;
      if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
      const double v = x[static_cast<size_t>(((image * w.in_h + iy) * w.in_w + ix) * channels + c)];
      ++inside;
      sum += v;
      best = std::isnan(v) || v > best ? v : best;
    }
    if (kind == PoolKind::kMax) {
      ASSERT_TRUE(y[i] == best || (std::isnan(best) && std::isnan(y[i]))) << "element " << i;
    } else {
      const double want = sum / static_cast<double>(kind == PoolKind::kAverageWithPad ? padded : inside);
      ASSERT_TRUE(std::abs(y[i] - want) <= testing::sum_bound(inside, 1) || (std::isnan(want) && std::isnan(y[i])))
          << "element " << i;
    }
  }
}

TEST(PoolNhwc, Windows) {
  for_each_level([](const char*) {
    for (PoolKind kind : {PoolKind::kMax, PoolKind::kAverage, PoolKind::kAverageWithPad}) {
      for (int64_t channels : {1, 3, 16, 17, 70}) {
        for (int64_t stride : {1, 2}) {
          for (int64_t dilation : {1, 2}) {
            const Window w{9, 7, 0, 0, 3, 2, stride, stride, dilation, dilation, 1, 1};
            check(2, channels, w, 1, kind, 3, false);
            check(1, channels, w, 0, kind, 1, true);
          }
        }
      }
    }
  });
}

TEST(PoolNhwc, OverlappingWindows) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 16, 33, 64, 70}) {
      for (int64_t kernel : {3, 5}) {
        for (int64_t width : {5, 70, 150}) {  // fewer columns than are kept at once, and more
          const Window w{6, width, 0, 0, kernel, kernel, 1, 1, 1, 1, kernel / 2, kernel / 2};
          check(2, channels, w, kernel / 2, PoolKind::kMax, 3, false);
          check(1, channels, w, kernel / 2, PoolKind::kMax, 1, true);
        }
        const Window far{20, 67, 0, 0, kernel, 7, 2, 2, 2, 1, 1, 3};  // rows with a distance, steps of two
        check(1, channels, far, 3, PoolKind::kMax, 2, false);
        const Window wide{5, 140, 0, 0, kernel, kernel, 1, 3, 1, 31, 1, 2};  // wider than columns are kept for 3 taps
        check(1, channels, wide, 2, PoolKind::kMax, 1, true);
      }
    }
  });
}

TEST(PoolNhwc, Bf16InOrder) {
  for_each_level([](const char*) {
    // Negative ones, infinities, NaN of both signs: what float32 says of the same values.
    const uint16_t values[] = {0xBF80, 0xFF80, 0x7F80, 0x7FC0, 0xFFC0, 0x3F80, 0xFF7F, 0x7F7F, 0x8000, 0x0001};
    constexpr size_t kCount = sizeof(values) / sizeof(values[0]);
    const Window w{3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1};
    PoolF32 s;
    s.planes = kCount * kCount;
    s.window = w;
    s.pad_bottom = s.pad_right = 1;
    s.kind = PoolKind::kMax;
    testing::Guarded<uint16_t> x(9 * kCount * kCount), y(x.size());
    for (size_t i = 0; i < kCount * kCount; ++i) {
      for (size_t p = 0; p < 9; ++p) x[p * kCount * kCount + i] = p == 4 ? values[i % kCount] : values[i / kCount];
    }
    testing::Threads threads(1);
    pool_nhwc_bf16(s, kCount * kCount, x.data(), y.data(), threads.parallel());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t c = i % (kCount * kCount);
      const float a = bf16_to_f32(values[c % kCount]), b = bf16_to_f32(values[c / kCount]);
      const float got = bf16_to_f32(y[i]);
      if (std::isnan(a) || std::isnan(b)) {
        ASSERT_TRUE(std::isnan(got)) << a << ", " << b;
      } else {
        ASSERT_EQ(got, std::max(a, b));
      }
    }
  });
}

TEST(PoolNhwc, Global) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 5, 16, 64, 130}) {
      const int64_t n = 2, area = 49;
      Floats x(static_cast<size_t>(n * area * channels)), mean(static_cast<size_t>(n * channels)), most(mean.size());
      testing::fill_uniform(x, 1);
      testing::Threads threads(3);
      global_average_nhwc_f32(x.data(), mean.data(), n, area, channels, threads.parallel());
      global_max_nhwc_f32(x.data(), most.data(), n, area, channels, threads.parallel());
      testing::Guarded<uint16_t> half_x(x.size()), half_mean(mean.size());
      for (size_t i = 0; i < x.size(); ++i) half_x[i] = f32_to_bf16(x[i]);
      global_average_nhwc_bf16(half_x.data(), half_mean.data(), n, area, channels, threads.parallel());
      for (size_t i = 0; i < mean.size(); ++i) {
        const size_t image = i / static_cast<size_t>(channels), c = i % static_cast<size_t>(channels);
        double sum = 0, half_sum = 0;
        float best = -INFINITY;
        for (size_t p = 0; p < static_cast<size_t>(area); ++p) {
          const float v = x[(image * static_cast<size_t>(area) + p) * static_cast<size_t>(channels) + c];
          sum += v;
          best = std::max(best, v);
          half_sum += bf16_to_f32(f32_to_bf16(v));
        }
        const double half_bound = std::abs(half_sum / area) * 0x1p-8 + testing::sum_bound(area, 1);
        ASSERT_NEAR(bf16_to_f32(half_mean[i]), half_sum / area, half_bound);
        ASSERT_NEAR(mean[i], sum / area, testing::sum_bound(area, 1));
        ASSERT_EQ(most[i], best);
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

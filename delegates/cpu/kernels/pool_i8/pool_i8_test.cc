#include "delegates/cpu/kernels/pool_i8/pool_i8.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;
using Bytes = testing::Guarded<uint8_t>;

int32_t value(uint8_t v, bool is_signed) { return is_signed ? static_cast<int8_t>(v) : v; }

TEST(PoolI8, RandomWindows) {
  for_each_level([](const char*) {
    std::mt19937 rng(3);
    const auto upto = [&](int64_t most) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(most)) + 1; };
    for (int i = 0; i < 200; ++i) {
      PoolI8 s;
      Window& w = s.window;
      s.planes = upto(3);
      w.kernel_h = upto(4);
      w.kernel_w = upto(4);
      w.stride_h = upto(3);
      w.stride_w = upto(3);
      w.dilation_h = upto(2);
      w.dilation_w = upto(2);
      w.pad_top = upto(w.kernel_h) - 1;
      w.pad_left = upto(w.kernel_w) - 1;
      s.pad_bottom = upto(w.kernel_h) - 1;
      s.pad_right = upto(w.kernel_w) - 1;
      w.in_h = (w.kernel_h - 1) * w.dilation_h + upto(20);
      w.in_w = (w.kernel_w - 1) * w.dilation_w + upto(i % 2 == 0 ? 20 : 100);
      // One more than fits: the last window hangs over the end (ceil_mode).
      w.out_h = (w.in_h + w.pad_top + s.pad_bottom - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1 + i % 2;
      w.out_w = (w.in_w + w.pad_left + s.pad_right - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1 + i % 2;
      if (i % 5 == 0) {  // global
        w = {w.in_h, w.in_w, 1, 1, w.in_h, w.in_w, 1, 1, 1, 1, 0, 0};
        s.pad_bottom = s.pad_right = 0;
      }
      s.is_max = i % 3 == 0;
      s.count_padding = i % 4 == 1;
      s.x_signed = i % 8 < 4;
      s.x_zero = s.x_signed ? -70 : 200;
      std::vector<float> multiplier(static_cast<size_t>(w.kernel_h * w.kernel_w + 1));
      for (size_t n = 0; n < multiplier.size(); ++n) multiplier[n] = 1.5f / static_cast<float>(n + 1);
      s.multiplier = multiplier.data();
      s.one_multiplier = i % 7 == 0;
      s.finish.is_signed = i % 3 != 1;
      s.finish.zero_point = 5;
      s.finish.low = s.finish.is_signed ? -100 : 0;
      s.finish.high = s.finish.is_signed ? 127 : 230;
      Bytes x(static_cast<size_t>(s.planes * w.in_h * w.in_w)), y(static_cast<size_t>(s.planes * w.out_h * w.out_w));
      for (uint8_t& v : x) v = static_cast<uint8_t>(rng());
      const int32_t slots = i % 6 == 0 ? 3 : 1;
      testing::Scratch scratch(pool_i8_scratch_bytes(s, slots));
      testing::Threads threads(slots);
      pool_i8(s, x.data(), y.data(), threads.parallel(), scratch.data());
      for (int64_t p = 0; p < s.planes; ++p) {
        for (int64_t at = 0; at < w.out_h * w.out_w; ++at) {
          int32_t most = s.x_signed ? -128 : 0, sum = 0;
          int64_t inside = 0, padded = 0;
          for (int64_t t = 0; t < w.kernel_h * w.kernel_w; ++t) {
            const int64_t iy = at / w.out_w * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
            const int64_t ix = at % w.out_w * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
            if (iy < w.in_h + s.pad_bottom && ix < w.in_w + s.pad_right) ++padded;
            if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
            ++inside;
            const int32_t v = value(x[static_cast<size_t>((p * w.in_h + iy) * w.in_w + ix)], s.x_signed);
            most = std::max(most, v);
            sum += v - s.x_zero;
          }
          const float m = multiplier[s.one_multiplier ? 0 : static_cast<size_t>(s.count_padding ? padded : inside)];
          const int32_t want = s.is_max ? most : requantize(sum, m, s.finish.zero_point, s.finish.low, s.finish.high);
          ASSERT_EQ(y[static_cast<size_t>(p * w.out_h * w.out_w + at)], static_cast<uint8_t>(want))
              << "case " << i << " plane " << p << " at " << at;
        }
      }
    }
  });
}

// What zero points add up to is beyond an int32, what is left is not.
TEST(PoolI8, LargePlane) {
  for_each_level([](const char*) {
    constexpr int64_t kSide = 3000;
    PoolI8 s;
    s.window = {kSide, kSide, 1, 1, kSide, kSide, 1, 1, 1, 1, 0, 0};
    s.is_max = false;
    s.x_zero = 250;
    const float multiplier = 1.0f / (kSide * kSide);
    s.multiplier = &multiplier;
    s.one_multiplier = true;
    s.finish.zero_point = 100;
    s.finish.low = 0;
    s.finish.high = 255;
    Bytes x(static_cast<size_t>(kSide * kSide)), y(1);
    for (uint8_t& v : x) v = 252;
    testing::Scratch scratch(pool_i8_scratch_bytes(s, 1));
    pool_i8(s, x.data(), y.data(), {}, scratch.data());
    EXPECT_EQ(y[0], 102);
    s.pad_bottom = 1;  // by columns
    pool_i8(s, x.data(), y.data(), {}, scratch.data());
    EXPECT_EQ(y[0], 102);
  });
}

}  // namespace
}  // namespace vireo::cpu

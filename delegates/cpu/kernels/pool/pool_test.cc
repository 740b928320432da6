#include "delegates/cpu/kernels/pool/pool.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t planes, Window w, int64_t pad_end, PoolKind kind, int32_t slots, bool ceil = false) {
  const auto out = [&](int64_t in, int64_t pad, int64_t k, int64_t d, int64_t s) {
    const int64_t room = in + pad + pad_end - (k - 1) * d - 1;
    return (ceil ? room + s - 1 : room) / s + 1;
  };
  w.out_h = out(w.in_h, w.pad_top, w.kernel_h, w.dilation_h, w.stride_h);
  w.out_w = out(w.in_w, w.pad_left, w.kernel_w, w.dilation_w, w.stride_w);
  SCOPED_TRACE(::testing::Message() << "in " << w.in_h << "x" << w.in_w << " k " << w.kernel_h << "x" << w.kernel_w
                                    << " s " << w.stride_w << " d " << w.dilation_w << " p " << w.pad_left << " kind "
                                    << static_cast<int>(kind));
  Floats x(static_cast<size_t>(planes * w.in_h * w.in_w)), y(static_cast<size_t>(planes * w.out_h * w.out_w));
  testing::fill_uniform(x, 1, -2, -1);  // all negative: padding must not win a maximum
  PoolF32 s;
  s.planes = planes;
  s.window = w;
  s.pad_bottom = s.pad_right = pad_end;
  s.kind = kind;
  testing::Scratch scratch(pool_f32_scratch_bytes(s, slots));
  testing::Threads threads(slots);
  pool_f32(s, x.data(), y.data(), threads.parallel(), scratch.data());
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t oy = 0; oy < w.out_h; ++oy) {
      for (int64_t ox = 0; ox < w.out_w; ++ox) {
        double best = -1e30, sum = 0;
        int64_t inside = 0, padded = 0;
        for (int64_t i = 0; i < w.kernel_h; ++i) {
          for (int64_t j = 0; j < w.kernel_w; ++j) {
            const int64_t iy = oy * w.stride_h - w.pad_top + i * w.dilation_h;
            const int64_t ix = ox * w.stride_w - w.pad_left + j * w.dilation_w;
            padded += iy < w.in_h + pad_end && ix < w.in_w + pad_end;
            if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
            const double v = x[static_cast<size_t>((p * w.in_h + iy) * w.in_w + ix)];
            best = std::max(best, v);
            sum += v;
            ++inside;
          }
        }
        ASSERT_GT(inside, 0);
        const float got = y[static_cast<size_t>((p * w.out_h + oy) * w.out_w + ox)];
        if (kind == PoolKind::kMax) {
          ASSERT_EQ(got, static_cast<float>(best)) << oy << ", " << ox;
        } else {
          const double divisor = static_cast<double>(kind == PoolKind::kAverage ? inside : padded);
          ASSERT_NEAR(got, sum / divisor, testing::sum_bound(inside, 4)) << oy << ", " << ox;
        }
      }
    }
  }
}

TEST(Pool, Windows) {
  for_each_level([](const char*) {
    for (PoolKind kind : {PoolKind::kMax, PoolKind::kAverage, PoolKind::kAverageWithPad}) {
      for (int64_t width : {3, 7, 8, 9, 16, 17, 35, 66}) {
        for (int64_t kernel : {2, 3}) {
          for (int64_t stride : {1, 2, 3}) {
            check(2, {7, width, 0, 0, kernel, kernel, stride, stride, 1, 1, 1, 1}, 1, kind, 1);
            check(2, {7, width, 0, 0, kernel, kernel, stride, stride, 1, 1, 0, 0}, 0, kind, 1);
            check(1, {7, width, 0, 0, kernel, kernel, stride, stride, 1, 1, 0, 0}, 0, kind, 1, stride <= kernel);
          }
        }
      }
      check(1, {9, 20, 0, 0, 3, 3, 1, 1, 2, 2, 2, 2}, 2, kind, 1);
      // Strides that step over rows and columns, which no tap then reads; lines too long to be read as they lie.
      check(5, {10, 20, 0, 0, 1, 3, 1, 4, 1, 1, 0, 1}, 0, kind, 2);
      check(2, {9, 31, 0, 0, 2, 2, 3, 4, 2, 3, 1, 2}, 1, kind, 1);
      check(1, {3, 1200, 0, 0, 1, 3, 1, 4, 1, 1, 0, 1}, 0, kind, 1);
      check(3, {21, 67, 0, 0, 1, 1, 1, 4, 1, 1, 0, 0}, 0, kind, 1);
      check(3, {22, 67, 0, 0, 2, 2, 3, 5, 1, 3, 1, 1}, 1, kind, 1);
      check(2, {40, 70, 0, 0, 2, 1, 4, 3, 2, 1, 0, 0}, 0, kind, 3);
      check(7, {112, 112, 0, 0, 3, 3, 2, 2, 1, 1, 1, 1}, 1, kind, 3);
      check(3, {30, 1000, 0, 0, 5, 5, 1, 1, 1, 1, 2, 2}, 2, kind, 3);
      // Lines in pieces, a window longer than a piece, and planes of which many are joined at once.
      check(2, {2, 9000, 0, 0, 1, 3, 1, 2, 1, 1, 0, 1}, 0, kind, 2);
      check(1, {2, 9000, 0, 0, 2, 5, 1, 1, 1, 700, 0, 9}, 0, kind, 1);
      check(1, {1, 9000, 0, 0, 1, 3, 1, 40, 1, 2500, 0, 9}, 0, kind, 1);
      check(90, {4, 4, 0, 0, 3, 3, 2, 2, 1, 1, 1, 1}, 1, kind, 2);
    }
  });
}

TEST(Pool, Global) {
  for_each_level([](const char*) {
    for (int64_t area : {1, 3, 15, 16, 17, 49, 64, 65, 200}) {
      Floats x(static_cast<size_t>(5 * area)), mean(5), most(5);
      testing::fill_uniform(x, 1, -2, -1);
      global_average_f32(x.data(), mean.data(), 5, area, Parallel{});
      global_max_f32(x.data(), most.data(), 5, area, Parallel{});
      for (int64_t p = 0; p < 5; ++p) {
        double sum = 0, best = -1e30;
        for (int64_t i = 0; i < area; ++i) {
          const double v = x[static_cast<size_t>(p * area + i)];
          sum += v;
          best = std::max(best, v);
        }
        EXPECT_NEAR(mean[static_cast<size_t>(p)], sum / static_cast<double>(area), testing::sum_bound(area, 2));
        EXPECT_EQ(most[static_cast<size_t>(p)], static_cast<float>(best));
      }
    }
  });
}

TEST(Pool, NotANumber) {
  for_each_level([](const char*) {
    for (int at = 0; at < 30; ++at) {
      std::vector<float> x(30, 1.0f);
      x[static_cast<size_t>(at)] = NAN;
      float y = 0;
      global_max_f32(x.data(), &y, 1, 30, Parallel{});
      EXPECT_TRUE(std::isnan(y)) << at;
      PoolF32 s;
      s.window = {1, 30, 1, 15, 1, 2, 1, 2, 1, 1, 0, 0};
      testing::Scratch scratch(pool_f32_scratch_bytes(s, 1));
      std::vector<float> out(15);
      pool_f32(s, x.data(), out.data(), Parallel{}, scratch.data());
      for (int i = 0; i < 15; ++i) EXPECT_EQ(std::isnan(out[static_cast<size_t>(i)]), i == at / 2) << at;
      s.window = {5, 6, 4, 5, 2, 2, 1, 1, 1, 1, 0, 0};  // the same as five rows
      testing::Scratch more(pool_f32_scratch_bytes(s, 1));
      std::vector<float> windows(20);
      pool_f32(s, x.data(), windows.data(), Parallel{}, more.data());
      for (int i = 0; i < 20; ++i) {
        const int row = at / 6 - i / 5, column = at % 6 - i % 5;
        EXPECT_EQ(std::isnan(windows[static_cast<size_t>(i)]), row >= 0 && row < 2 && column >= 0 && column < 2) << at;
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

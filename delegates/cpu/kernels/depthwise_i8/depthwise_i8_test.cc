#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"

#include "delegates/cpu/kernels/bytes_testing.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::fill;
using testing::for_each_level;
using testing::Guarded;
using testing::value;

struct Depthwise {
  int64_t n, channels, multiplier, depth;
  Window w;
};

// Extents of the output follow from `pad` on both sides.
Depthwise window(int64_t channels, int64_t h, int64_t width, int64_t kh, int64_t kw, int64_t stride, int64_t dilation,
                 int64_t pad, int64_t multiplier = 1, int64_t n = 1, int64_t depth = 1) {
  const int64_t oh = (h + 2 * pad - (kh - 1) * dilation - 1) / stride + 1,
                ow = (width + 2 * pad - (kw - 1) * dilation - 1) / stride + 1;
  return {n, channels, multiplier, depth, {h, width, oh, ow, kh, kw, stride, stride, dilation, dilation, pad, pad}};
}

void check(const Depthwise& c, int signs, bool codes, int32_t slots, uint32_t seed) {
  const Window& w = c.w;
  SCOPED_TRACE(::testing::Message() << w.in_h << " x " << w.in_w << " kernel " << w.kernel_h << " x " << w.kernel_w
                                    << " stride " << w.stride_h << " dilation " << w.dilation_h << " pad " << w.pad_top
                                    << " channels " << c.channels << " x " << c.multiplier << " signs " << signs
                                    << " codes " << codes);
  const int64_t outputs = c.channels * c.multiplier, taps = w.kernel_h * w.kernel_w, area = w.out_h * w.out_w;
  std::mt19937 rng(seed);
  DepthwiseI8 s;
  s.n = c.n;
  s.channels = c.channels;
  s.multiplier = c.multiplier;
  s.depth = c.depth;
  s.window = w;
  s.x_signed = (signs & 1) != 0;
  s.w_signed = (signs & 2) != 0;
  s.x_zero = s.x_signed ? static_cast<int8_t>(rng()) : static_cast<uint8_t>(rng());
  Bytes x(static_cast<size_t>(c.n * c.channels * c.depth * w.in_h * w.in_w)), f(static_cast<size_t>(outputs * taps)),
      zero(static_cast<size_t>(outputs));
  fill(x, seed + 1);
  fill(f, seed + 2);
  fill(zero, seed + 3);
  s.w_zero_per_channel = (signs & 4) != 0;
  if (seed % 3 != 0) s.w_zero = zero.data();  // absent: differences fit a byte
  std::vector<int32_t> bias(static_cast<size_t>(outputs));
  std::vector<float> multiplier(static_cast<size_t>(outputs));
  for (int32_t& b : bias) b = static_cast<int32_t>(rng() % 20001) - 10000;
  for (float& m : multiplier) m = 0.001f + 0.01f * static_cast<float>(rng() % 100) / static_cast<float>(taps);
  Requantize q;
  q.bias = bias.data();
  q.multiplier = multiplier.data();
  q.multiplier_per_row = true;
  q.zero_point = static_cast<int32_t>(rng() % 100);
  q.is_signed = (signs & 2) == 0;
  q.low = static_cast<int32_t>(rng() % 20) - 10;
  q.high = 100 + static_cast<int32_t>(rng() % 200);
  if (codes) s.finish = &q;
  const size_t count = static_cast<size_t>(c.n * outputs * c.depth * area);
  Bytes y(count * (codes ? 1 : 4));
  testing::Scratch scratch(depthwise_i8_scratch_bytes(s, slots));
  testing::Threads threads(slots);
  depthwise_i8(s, x.data(), f.data(), y.data(), threads.parallel(), scratch.data());
  const int low = std::max(q.low, q.is_signed ? -128 : 0), high = std::min(q.high, q.is_signed ? 127 : 255);
  for (int64_t p = 0; p < c.n * outputs * c.depth; ++p) {
    const int64_t z = p % c.depth, o = p / c.depth % outputs, n = p / c.depth / outputs;
    const int64_t plane = (n * c.channels + o / c.multiplier) * c.depth + z;
    const int wz = s.w_zero == nullptr ? 0 : value(zero, s.w_signed, s.w_zero_per_channel ? o : 0);
    for (int64_t at = 0; at < area; ++at) {
      int32_t sum = codes ? bias[static_cast<size_t>(o)] : 0;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t iy = at / w.out_w * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
        const int64_t ix = at % w.out_w * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
        if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
        sum += (value(x, s.x_signed, (plane * w.in_h + iy) * w.in_w + ix) - s.x_zero) *
               (value(f, s.w_signed, o * taps + t) - wz);
      }
      const size_t to = static_cast<size_t>(p * area + at);
      if (!codes) {
        int32_t got;
        memcpy(&got, y.data() + to * 4, sizeof(got));
        ASSERT_EQ(got, sum) << "plane " << p << " at " << at;
        continue;
      }
      const float v = static_cast<float>(sum) * multiplier[static_cast<size_t>(o)];
      const int want =
          static_cast<int>(std::min<double>(std::max<double>(std::nearbyint(double{v}) + q.zero_point, low), high));
      ASSERT_EQ(value(y, q.is_signed, static_cast<int64_t>(to)), want) << "plane " << p << " at " << at;
    }
  }
}

TEST(DepthwiseI8, AsThePlainLoop) {
  const Depthwise cases[] = {window(3, 7, 7, 3, 3, 1, 1, 1),          window(2, 14, 14, 3, 3, 1, 1, 1),
                             window(2, 14, 14, 3, 3, 2, 1, 1),        window(2, 8, 8, 3, 3, 1, 1, 1),
                             window(2, 9, 16, 3, 3, 1, 1, 1),         window(1, 56, 65, 3, 3, 1, 1, 1),
                             window(1, 30, 70, 3, 3, 2, 1, 1),        window(2, 12, 17, 5, 5, 1, 1, 2, 2, 2),
                             window(2, 19, 40, 5, 5, 2, 1, 2),        window(1, 33, 33, 7, 9, 1, 1, 3),
                             window(2, 20, 23, 3, 3, 1, 5, 5),        window(1, 40, 60, 2, 3, 3, 7, 2),
                             window(1, 40, 90, 3, 4, 5, 1, 0),        window(1, 5, 130, 1, 20, 1, 1, 0),
                             window(2, 25, 5, 3, 3, 1, 1, 1, 3, 2),   window(1, 1, 1, 3, 3, 1, 1, 1),
                             window(2, 4, 5, 3, 3, 1, 1, 1, 1, 1, 3), window(1, 2, 3, 3, 3, 2, 1, 4),
                             window(1, 200, 150, 3, 3, 1, 1, 1, 2),   window(1, 10, 3000, 9, 3, 1, 1, 1)};
  for_each_level([&](const char*) {
    uint32_t seed = 0;
    for (const Depthwise& c : cases) {
      for (int signs = 0; signs < 8; ++signs) check(c, signs, signs % 3 != 1, signs == 5 ? 3 : 1, ++seed);
    }
  });
}

TEST(DepthwiseI8, RandomShapes) {
  for_each_level([&](const char*) {
    std::mt19937 rng(7);
    const auto upto = [&](int64_t most) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(most)) + 1; };
    for (int i = 0; i < 150; ++i) {
      const int64_t kh = upto(5), kw = upto(6), dilation = upto(3), pad = upto(3) - 1;
      const int64_t h = (kh - 1) * dilation + upto(20), w = (kw - 1) * dilation + upto(i % 2 == 0 ? 24 : 90);
      check(window(upto(3), h, w, kh, kw, upto(4), dilation, pad, upto(2)), i % 8, i % 3 != 0, 1,
            static_cast<uint32_t>(i));
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

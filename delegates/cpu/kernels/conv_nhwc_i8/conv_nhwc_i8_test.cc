#include "delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8.h"

#include "delegates/cpu/kernels/bytes_testing.h"
#include "delegates/cpu/kernels/intgemm/tiles_testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::Expected;
using testing::expected_once;
using testing::fill;
using testing::for_each_level;
using testing::Guarded;
using testing::key_of;
using testing::kPlainTiles;
using testing::value;

struct Sizes2 {
  int64_t channels, outputs, height, width, kernel, stride, dilation, pad;
};

enum class Then { kNothing, kAdd, kAffine };

void check(const Sizes2& z, int64_t n, bool x_signed, bool zeros, int32_t slots, Then then = Then::kNothing) {
  SCOPED_TRACE(::testing::Message() << z.channels << " to " << z.outputs << ", " << z.height << " x " << z.width
                                    << ", kernel " << z.kernel << ", stride " << z.stride << ", dilation " << z.dilation
                                    << ", pad " << z.pad << ", signed " << x_signed << ", then "
                                    << static_cast<int>(then));
  ConvI8 c;
  ConvF32& s = c.shape;
  s.n = n;
  s.in_channels = z.channels;
  s.out_channels = z.outputs;
  s.in[1] = z.height;
  s.in[2] = z.width;
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = z.kernel;
    s.stride[i] = z.stride;
    s.dilation[i] = z.dilation;
    s.pad[i] = z.pad;
    s.out[i] = (s.in[i] + 2 * z.pad - (z.kernel - 1) * z.dilation - 1) / z.stride + 1;
  }
  const int64_t taps = z.kernel * z.kernel, out_area = s.out[1] * s.out[2], in_area = z.height * z.width;
  Bytes x(static_cast<size_t>(n * in_area * z.channels)), w(static_cast<size_t>(z.outputs * z.channels * taps));
  Bytes x_zero(1), w_zero(static_cast<size_t>(z.outputs)), y(static_cast<size_t>(n * out_area * z.outputs));
  fill(x, 1);
  fill(w, 2);
  fill(x_zero, 3);
  fill(w_zero, 4);
  std::vector<int32_t> bias(static_cast<size_t>(z.outputs));
  std::vector<float> multiplier(static_cast<size_t>(z.outputs));
  for (size_t i = 0; i < bias.size(); ++i) {
    bias[i] = static_cast<int32_t>(i) * 31 - 200;
    multiplier[i] = 0.004f / static_cast<float>(1 + i % 4);
  }
  Requantize q;
  q.bias = bias.data();
  q.multiplier = multiplier.data();
  q.multiplier_per_row = true;
  q.zero_point = -3;
  q.is_signed = true;
  q.low = -120;
  q.high = 110;
  Bytes other(static_cast<size_t>(n * out_area * z.outputs));
  fill(other, 5);
  std::vector<float> factors[3];
  for (int p = 0; p < 3; ++p) {
    for (int64_t i = 0; i < z.outputs; ++i)
      factors[p].push_back(static_cast<float>(i % 7 - 2) * (p == 2 ? 3.25f : 0.21f) + 0.5f);
  }
  SecondStep step;
  step.zero = 9;
  step.factor = factors[0].data();
  step.adds = then == Then::kAdd;
  step.other_signed = n == 2;
  step.other_zero = 5;
  step.other_factor = -0.6f;
  step.y.zero_point = 130;
  step.y.low = 20;
  if (then == Then::kAffine) {
    step.per_column = true;
    step.below = zeros ? nullptr : factors[1].data();
    step.offset = x_signed ? nullptr : factors[2].data();
  }
  if (then != Then::kNothing) q.then = &step;
  if (step.adds) c.added = other.data();
  c.x_signed = x_signed;
  c.w_signed = true;
  c.x_zero = x_zero.data();
  if (zeros) c.w_zero = w_zero.data();
  c.w_zero_per_channel = zeros;
  c.finish = &q;
  const std::vector<double>& want =
      expected_once(
          key_of(z.channels, z.outputs, z.height, z.width, z.kernel, z.stride, z.dilation, z.pad, n, x_signed, zeros,
                 then),
          [&](Expected* e) {
            for (int64_t i = 0; i < n * out_area * z.outputs; ++i) {
              const int64_t o = i % z.outputs, at = i / z.outputs % out_area, image = i / z.outputs / out_area;
              int32_t sum = bias[static_cast<size_t>(o)];
              for (int64_t t = 0; t < taps; ++t) {
                const int64_t iy = at / s.out[2] * z.stride - z.pad + t / z.kernel * z.dilation;
                const int64_t ix = at % s.out[2] * z.stride - z.pad + t % z.kernel * z.dilation;
                if (iy < 0 || iy >= z.height || ix < 0 || ix >= z.width) continue;
                for (int64_t k = 0; k < z.channels; ++k) {
                  const int xv = value(x, x_signed, ((image * z.height + iy) * z.width + ix) * z.channels + k);
                  const int wv = value(w, true, (o * z.channels + k) * taps + t);
                  sum += (xv - value(x_zero, x_signed, 0)) * (wv - (zeros ? value(w_zero, true, o) : 0));
                }
              }
              int wanted = requantize(sum, multiplier[static_cast<size_t>(o)], -3, -120, 110);
              if (then != Then::kNothing) {
                const auto of = [&](const float* values) { return values[then == Then::kAffine ? o : 0]; };
                const auto d = static_cast<float>(wanted - step.zero);
                float v = d * of(d < 0 && step.below != nullptr ? step.below : step.factor);
                if (step.adds) v += static_cast<float>(value(other, step.other_signed, i) - step.other_zero) * -0.6f;
                if (step.offset != nullptr) v += of(step.offset);
                wanted = round_and_clamp(v, 130, 20, 255);
              }
              e->want.push_back(wanted);
            }
          })
          .want;
  testing::Threads threads(slots);
  Bytes filters(conv_nhwc_i8_packed_bytes(s));
  pack_conv_nhwc_i8(c, w.data(), threads.parallel(), filters.data());
  for (const int way : {0, 1, 2, 3}) {
    if (way == 2 && !testing::on_best_level()) continue;
    const bool packed = way != 0;
    testing::Scratch scratch(conv_nhwc_i8_scratch_bytes(c, slots, packed));
    conv_nhwc_i8_on(way == 2   ? &kPlainTiles
                    : way == 3 ? nullptr
                               : int_tiles(),
                    c, x.data(), packed ? nullptr : w.data(), packed ? filters.data() : nullptr, y.data(),
                    threads.parallel(), scratch.data());
    for (int64_t i = 0; i < n * out_area * z.outputs; ++i) {
      ASSERT_EQ(value(y, then == Then::kNothing, i), want[static_cast<size_t>(i)])
          << "pixel " << i / z.outputs % out_area << ", channel " << i % z.outputs << ", way " << way;
    }
  }
}

// Whole 64s of channels at stride 1: lines in place of patches where there are tiles.
TEST(ConvNhwcI8, ExactOverLines) {
  for_each_level([](const char*) {
    int i = 0;
    for (const Sizes2& z :
         {Sizes2{64, 64, 12, 12, 3, 1, 1, 1}, Sizes2{64, 20, 7, 7, 3, 1, 1, 1}, Sizes2{64, 40, 11, 17, 3, 1, 1, 1},
          Sizes2{128, 130, 7, 7, 3, 1, 1, 1}, Sizes2{64, 17, 9, 6, 2, 1, 1, 0}, Sizes2{64, 33, 5, 18, 5, 1, 1, 4},
          Sizes2{64, 70, 3, 2, 3, 1, 1, 1}, Sizes2{64, 16, 13, 11, 1, 1, 1, 2}}) {
      check(z, 1 + i % 2, false, false, 1);
      check(z, 2, i % 2 == 0, i % 3 == 1, 3);
      check(z, 1, false, false, 2);
      check(z, 2, false, false, 1, Then::kAdd);
      check(z, 1, i % 2 == 0, i % 3 == 1, 2, Then::kAffine);
      ++i;
    }
  });
}

// What vectors read where it lies: strides, runs of few channels, images of several bands, 5, 7 and 13 rows of a tile.
TEST(ConvNhwcI8, ExactInPlace) {
  for_each_level([](const char*) {
    int i = 0;
    for (const Sizes2& z :
         {Sizes2{64, 70, 9, 9, 3, 2, 1, 1}, Sizes2{64, 130, 9, 7, 1, 2, 1, 0}, Sizes2{24, 40, 7, 7, 3, 1, 1, 1},
          Sizes2{256, 3, 24, 25, 3, 1, 1, 1}, Sizes2{256, 20, 47, 3, 3, 2, 1, 1}, Sizes2{20, 17, 11, 15, 5, 3, 1, 4},
          Sizes2{32, 200, 5, 5, 5, 1, 1, 2}, Sizes2{64, 64, 8, 8, 2, 3, 1, 0}, Sizes2{64, 50, 15, 3, 3, 1, 1, 0}}) {
      check(z, 1 + i % 2, false, false, 1 + i % 3);
      check(z, 2 - i % 2, false, false, 2, i % 2 == 0 ? Then::kAdd : Then::kAffine);
      ++i;
    }
  });
}

TEST(ConvNhwcI8, ExactOverWindows) {
  for_each_level([](const char*) {
    int i = 0;
    for (const Sizes2& z :
         {Sizes2{3, 20, 17, 19, 3, 2, 1, 1}, Sizes2{16, 70, 9, 6, 1, 1, 1, 0}, Sizes2{24, 16, 9, 7, 1, 2, 1, 0},
          Sizes2{70, 33, 6, 7, 3, 1, 1, 1}, Sizes2{5, 130, 8, 8, 3, 1, 2, 2}, Sizes2{64, 64, 12, 12, 3, 1, 1, 1},
          Sizes2{1, 1, 1, 1, 1, 1, 1, 0}, Sizes2{4, 17, 11, 4, 5, 3, 1, 4}}) {
      check(z, 1 + i % 2, i % 2 == 1, i % 3 == 0, 1);
      check(z, 1, i % 2 == 0, i % 3 == 1, 3);
      check(z, 1 + i % 2, i % 2 == 0, i % 3 == 1, 1, Then::kAdd);
      check(z, 1, i % 2 == 1, i % 3 == 0, 2, Then::kAffine);
      ++i;
    }
  });
}

TEST(ConvNhwcI8, NothingToSum) {
  for_each_level([](const char*) {
    for (const int64_t kernel : {1, 3}) {
      check({0, 20, 5, 5, kernel, 1, 1, 0}, 2, false, true, 1);
      check({0, 4, 5, 5, kernel, 2, 1, 1}, 1, true, false, 3, Then::kAdd);
    }
  });
}

// One image up to this one's size, of any depth: a depth of 1 reads windows from lines.
TEST(ConvNhwcI8, BoundCoversAllSmallerImages) {
  std::mt19937 rng(1);
  const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
  for (int i = 0; i < 3000; ++i) {
    const int64_t channels = i % 3 == 0 ? 64 * up_to(8) : up_to(200), kernel = up_to(4),
                  stride = i % 2 == 0 ? 1 : up_to(3);
    const int64_t pad = up_to(kernel) - 1, deep = i % 5 == 0 ? 2 : 1;
    const int32_t slots = static_cast<int32_t>(up_to(4));
    const auto at = [&](int64_t n, int64_t d, int64_t h, int64_t w) {
      ConvI8 c;
      ConvF32& s = c.shape;
      s.n = n;
      s.in_channels = channels;
      s.out_channels = 40;
      const int64_t in[3] = {d, h, w}, kernels[3] = {deep, kernel, kernel}, pads[3] = {deep - 1, pad, pad};
      for (int a = 0; a < 3; ++a) {
        s.in[a] = in[a];
        s.kernel[a] = kernels[a];
        s.stride[a] = a == 0 ? 1 : stride;
        s.pad[a] = pads[a];
        s.out[a] = (in[a] + 2 * pads[a] - kernels[a]) / s.stride[a] + 1;
      }
      return c;
    };
    const int64_t n = up_to(2), d = up_to(3), h = up_to(40) + 3, w = up_to(40) + 3;
    for (const bool packed : {false, true}) {
      const size_t bound = conv_nhwc_i8_scratch_bytes(at(n, d, h, w), slots, packed);
      for (int j = 0; j < 8; ++j) {
        const int64_t n1 = up_to(n), d1 = up_to(d), h1 = up_to(h - 3) + 3, w1 = up_to(w - 3) + 3;
        ASSERT_GE(bound, conv_nhwc_i8_scratch_bytes(at(n1, d1, h1, w1), slots, packed, Sizes::kFixed))
            << "c " << channels << " k " << kernel << " s " << stride << ": " << n << "x" << d << "x" << h << "x" << w
            << " and " << n1 << "x" << d1 << "x" << h1 << "x" << w1;
      }
    }
  }
  const auto seven = [](int64_t d) {
    ConvI8 c;
    ConvF32& s = c.shape;
    s.in_channels = s.out_channels = 512;
    s.in[0] = s.out[0] = d;
    for (int a = 1; a < 3; ++a) {
      s.in[a] = s.out[a] = 7;
      s.kernel[a] = 3;
      s.pad[a] = 1;
    }
    return c;
  };
  EXPECT_GE(conv_nhwc_i8_scratch_bytes(seven(2), 2, true),
            conv_nhwc_i8_scratch_bytes(seven(1), 2, true, Sizes::kFixed));
}

}  // namespace
}  // namespace vireo::cpu

#include "delegates/cpu/kernels/depthwise_nhwc_i8/depthwise_nhwc_i8.h"

#include "delegates/cpu/kernels/bytes_testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::fill;
using testing::for_each_level;
using testing::Guarded;
using testing::value;

void check(const Window& w, int64_t n, int64_t channels, bool x_signed, bool zeros, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << channels << " channels of " << w.in_h << " x " << w.in_w << ", kernel "
                                    << w.kernel_h << " x " << w.kernel_w << ", stride " << w.stride_h << ", pad "
                                    << w.pad_top << ", signed " << x_signed << ", zeros " << zeros);
  const int64_t taps = w.kernel_h * w.kernel_w, out_area = w.out_h * w.out_w;
  Bytes x(static_cast<size_t>(n * w.in_h * w.in_w * channels)), weights(static_cast<size_t>(channels * taps));
  Bytes x_zero(1), w_zero(static_cast<size_t>(channels)), y(static_cast<size_t>(n * out_area * channels));
  fill(x, 1);
  fill(weights, 2);
  fill(x_zero, 3);
  fill(w_zero, 4);
  std::vector<int32_t> bias(static_cast<size_t>(channels));
  std::vector<float> multiplier(static_cast<size_t>(channels));
  for (size_t i = 0; i < bias.size(); ++i) {
    bias[i] = static_cast<int32_t>(i) * 31 - 200;
    multiplier[i] = 0.01f / static_cast<float>(1 + i % 4);
  }
  Requantize q;
  q.bias = bias.data();
  q.multiplier = multiplier.data();
  q.multiplier_per_row = true;
  q.zero_point = 120;
  q.low = 10;
  q.high = 250;
  DepthwiseI8 s;
  s.n = n;
  s.channels = channels;
  s.window = w;
  s.x_signed = x_signed;
  s.w_signed = true;
  s.x_zero = value(x_zero, x_signed, 0);
  if (zeros) s.w_zero = w_zero.data();
  s.w_zero_per_channel = true;
  s.finish = &q;
  testing::Scratch scratch(depthwise_nhwc_i8_scratch_bytes(s, slots));
  testing::Threads threads(slots);
  depthwise_nhwc_i8(s, x.data(), weights.data(), y.data(), threads.parallel(), scratch.data());
  for (int64_t i = 0; i < n * out_area * channels; ++i) {
    const int64_t c = i % channels, at = i / channels % out_area, image = i / channels / out_area;
    int32_t sum = bias[static_cast<size_t>(c)];
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t iy = at / w.out_w * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
      const int64_t ix = at % w.out_w * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
      if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
      const int xv = value(x, x_signed, ((image * w.in_h + iy) * w.in_w + ix) * channels + c);
      sum += (xv - s.x_zero) * (value(weights, true, c * taps + t) - (zeros ? value(w_zero, true, c) : 0));
    }
    const int wanted = requantize(sum, multiplier[static_cast<size_t>(c)], 120, 10, 250);
    ASSERT_EQ(value(y, false, i), wanted) << "image " << image << ", pixel " << at << ", channel " << c;
  }
}

TEST(DepthwiseNhwcI8, ExactOverWindows) {
  for_each_level([](const char*) {
    int i = 0;
    for (const int64_t channels : {1, 7, 16, 33, 64, 100, 130}) {
      for (const int64_t kernel : {1, 3, 5}) {
        for (const int64_t stride : {1, 2}) {
          for (const int64_t pad : {int64_t{0}, kernel / 2, kernel - 1}) {
            for (const int64_t dilation : {1, 2}) {
              Window w;
              w.in_h = 10 + i % 3;
              w.in_w = 9 + i % 4;
              w.kernel_h = kernel;
              w.kernel_w = kernel + (i % 5 == 4 ? 1 : 0);
              w.stride_h = w.stride_w = stride;
              w.dilation_h = w.dilation_w = dilation;
              w.pad_top = w.pad_left = pad;
              w.out_h = (w.in_h + 2 * pad - (w.kernel_h - 1) * dilation - 1) / stride + 1;
              w.out_w = (w.in_w + 2 * pad - (w.kernel_w - 1) * dilation - 1) / stride + 1;
              if (w.out_h <= 0 || w.out_w <= 0) continue;
              check(w, 1 + i % 2, channels, i % 2 == 0, i % 4 == 1, i % 3 == 0 ? 3 : 1);
              ++i;
            }
          }
        }
      }
    }
  });
}

// So many taps that their weights times the zero point are beyond an int32, though no sum is.
TEST(DepthwiseNhwcI8, LargeWindow) {
  for_each_level([](const char*) {
    constexpr int64_t kChannels = 64, kSide = 400;
    DepthwiseI8 s;
    s.channels = kChannels;
    s.window.in_h = s.window.in_w = s.window.kernel_h = s.window.kernel_w = kSide;
    s.x_zero = 250;
    s.w_signed = true;
    Requantize q;
    const float multiplier = 1.0f / (kSide * kSide);
    q.multiplier = &multiplier;
    q.zero_point = 20;
    q.low = 0;
    q.high = 255;
    s.finish = &q;
    Bytes x(kSide * kSide * kChannels), weights(x.size()), y(kChannels);
    for (uint8_t& v : x) v = 251;
    for (uint8_t& v : weights) v = 100;
    testing::Scratch scratch(depthwise_nhwc_i8_scratch_bytes(s, 1));
    depthwise_nhwc_i8(s, x.data(), weights.data(), y.data(), {}, scratch.data());
    for (const uint8_t v : y) ASSERT_EQ(v, 120);
  });
}

// Threads take groups of 64 channels, the last of 40.
TEST(DepthwiseNhwcI8, ExactOverChannels) {
  for_each_level([](const char*) {
    Window w;
    w.in_h = w.in_w = w.out_h = w.out_w = 7;
    w.kernel_h = w.kernel_w = 3;
    w.pad_top = w.pad_left = 1;
    check(w, 2, 360, false, false, 3);
    check(w, 1, 488, true, true, 2);
    w.stride_h = w.stride_w = 2;
    w.out_h = w.out_w = 4;
    check(w, 1, 232, false, true, 2);
  });
}

}  // namespace
}  // namespace vireo::cpu

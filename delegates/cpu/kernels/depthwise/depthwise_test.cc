#include "delegates/cpu/kernels/depthwise/depthwise.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t n, int64_t channels, int64_t multiplier, Window w, int64_t pad_end, const Activate& act,
           int residual, int32_t slots) {
  w.out_h = (w.in_h + w.pad_top + pad_end - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1;
  w.out_w = (w.in_w + w.pad_left + pad_end - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
  SCOPED_TRACE(::testing::Message() << "n " << n << " c " << channels << " x " << multiplier << " in " << w.in_h << "x"
                                    << w.in_w << " k " << w.kernel_h << "x" << w.kernel_w << " s " << w.stride_h << ","
                                    << w.stride_w << " d " << w.dilation_h << "," << w.dilation_w << " p " << w.pad_top
                                    << "," << w.pad_left);
  const int64_t outputs = channels * multiplier, area = w.out_h * w.out_w, taps = w.kernel_h * w.kernel_w;
  const size_t count = static_cast<size_t>(n * outputs * area);
  Floats x(static_cast<size_t>(n * channels * w.in_h * w.in_w)), weights(static_cast<size_t>(outputs * taps));
  Floats bias(static_cast<size_t>(outputs)), extra(count), y(count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(weights, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  DepthwiseF32 s;
  s.n = n;
  s.channels = channels;
  s.multiplier = multiplier;
  s.window = w;
  s.bias = bias.data();
  s.act = act;
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  testing::Scratch scratch(depthwise_f32_scratch_bytes(s, slots, Sizes::kFixed));
  testing::Threads threads(slots);
  depthwise_f32(s, x.data(), weights.data(), y.data(), threads.parallel(), scratch.data());
  for (int64_t p = 0; p < n * outputs; ++p) {
    const int64_t o = p % outputs;
    const float* in = x.data() + (p / outputs * channels + o / multiplier) * w.in_h * w.in_w;
    for (int64_t oy = 0; oy < w.out_h; ++oy) {
      for (int64_t ox = 0; ox < w.out_w; ++ox) {
        double sum = bias[static_cast<size_t>(o)], magnitude = 3;
        for (int64_t i = 0; i < w.kernel_h; ++i) {
          for (int64_t j = 0; j < w.kernel_w; ++j) {
            const int64_t iy = oy * w.stride_h - w.pad_top + i * w.dilation_h;
            const int64_t ix = ox * w.stride_w - w.pad_left + j * w.dilation_w;
            if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
            const double product =
                double{in[iy * w.in_w + ix]} * weights[static_cast<size_t>(o * taps + i * w.kernel_w + j)];
            sum += product;
            magnitude += std::abs(product);
          }
        }
        const size_t at = static_cast<size_t>(p * area + oy * w.out_w + ox);
        if (residual == 1) sum += extra[at];
        if (act.kind == Activation::kRelu) sum = std::max(sum, 0.0);
        if (act.kind == Activation::kClip) sum = std::min(std::max(sum, double{act.a}), double{act.b});
        if (residual == 2) sum += extra[at];
        ASSERT_NEAR(y[at], sum, testing::sum_bound(taps + 3, magnitude)) << "plane " << p << " at " << oy << ", " << ox;
      }
    }
  }
}

TEST(Depthwise, Windows) {
  for_each_level([](const char*) {
    for (int64_t width : {1, 3, 4, 5, 7, 8, 9, 14, 16, 17, 33, 70}) {
      for (int64_t kernel : {1, 3, 5}) {
        for (int64_t stride : {1, 2, 3}) {
          for (int64_t dilation : {1, 2}) {
            const int64_t pad = kernel / 2 * dilation;
            Window w{9, width, 0, 0, kernel, kernel, stride, stride, dilation, dilation, pad, pad};
            check(1, 2, 1, w, pad, {Activation::kClip, -0.5f, 0.75f}, 0, 1);
          }
        }
      }
    }
  });
}

TEST(Depthwise, UnevenWindowsAndPads) {
  for_each_level([](const char*) {
    check(2, 3, 1, {5, 40, 0, 0, 3, 7, 1, 2, 1, 1, 0, 4}, 3, {}, 0, 1);
    check(1, 3, 2, {8, 9, 0, 0, 3, 3, 2, 1, 1, 3, 1, 0}, 1, {}, 1, 1);
    check(1, 3, 3, {1, 90, 0, 0, 1, 31, 1, 1, 1, 1, 0, 15}, 15, {}, 2, 1);
    check(1, 2, 1, {12, 12, 0, 0, 2, 4, 1, 1, 2, 1, 1, 2}, 2, {Activation::kRelu}, 1, 1);
    check(1, 1, 1, {2, 2, 0, 0, 3, 3, 1, 1, 1, 1, 2, 2}, 2, {}, 0, 1);
  });
}

TEST(Depthwise, BandsAndThreads) {
  for_each_level([](const char*) {
    for (int32_t slots : {1, 3}) {
      check(1, 5, 1, {112, 112, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1}, 1, {Activation::kClip, 0, 6}, 0, slots);
      check(2, 5, 1, {90, 113, 0, 0, 3, 3, 2, 2, 1, 1, 1, 1}, 1, {Activation::kRelu}, 1, slots);
      check(1, 2, 1, {20, 3000, 0, 0, 5, 5, 1, 1, 1, 1, 2, 2}, 2, {}, 0, slots);
      check(1, 40, 1, {25, 5, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1}, 1, {Activation::kRelu}, 0, slots);
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

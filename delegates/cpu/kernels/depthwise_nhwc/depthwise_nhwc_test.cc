#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t n, int64_t channels, Window w, int64_t pad_end, const Activate& act, int residual, int32_t slots) {
  w.out_h = (w.in_h + w.pad_top + pad_end - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1;
  w.out_w = (w.in_w + w.pad_left + pad_end - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
  const int64_t taps = w.kernel_h * w.kernel_w;
  const size_t count = static_cast<size_t>(n * w.out_h * w.out_w * channels);
  Floats x(static_cast<size_t>(n * w.in_h * w.in_w * channels)), weights(static_cast<size_t>(channels * taps));
  Floats bias(static_cast<size_t>(channels)), extra(count), y(count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(weights, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  DepthwiseF32 s;
  s.n = n;
  s.channels = channels;
  s.window = w;
  s.bias = bias.data();
  s.act = act;
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.residual_times = residual == 3;
  s.slope = act.kind == Activation::kLeakyRelu ? bias.data() : nullptr;  // any numbers
  testing::Scratch scratch(depthwise_nhwc_f32_scratch_bytes(s));
  testing::Threads threads(slots);
  depthwise_nhwc_f32(s, x.data(), weights.data(), y.data(), threads.parallel(), scratch.data());
  for (size_t i = 0; i < count; ++i) {
    const int64_t at = static_cast<int64_t>(i), c = at % channels, ox = at / channels % w.out_w;
    const int64_t oy = at / channels / w.out_w % w.out_h, image = at / channels / w.out_w / w.out_h;
    double sum = bias[static_cast<size_t>(c)], magnitude = 3;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t iy = oy * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
      const int64_t ix = ox * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
      if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
      const double product = double{x[static_cast<size_t>(((image * w.in_h + iy) * w.in_w + ix) * channels + c)]} *
                             weights[static_cast<size_t>(c * taps + t)];
      sum += product;
      magnitude += std::abs(product);
    }
    if (residual == 1) sum += extra[i];
    if (act.kind == Activation::kRelu) sum = std::max(sum, 0.0);
    if (act.kind == Activation::kClip) sum = std::min(std::max(sum, double{act.a}), double{act.b});
    if (act.kind == Activation::kHardSwish) sum *= std::min(std::max(sum / 6 + 0.5, 0.0), 1.0);
    if (s.slope != nullptr && sum < 0) sum *= bias[static_cast<size_t>(c)];
    if (residual == 2) sum += extra[i];
    if (residual == 3) sum *= extra[i];
    // Hard-swish has slope at most 1.5 and adds three roundings of its own value.
    const double bound = testing::sum_bound(taps + 3, magnitude) * (act.kind == Activation::kHardSwish ? 4 : 1);
    ASSERT_NEAR(y[i], sum, bound) << "element " << i << " of " << channels;
  }
}

// In bfloat16: the bits of the float32 kernel's result for the same numbers, rounded.
void check_bf16(int64_t n, int64_t channels, Window w, int64_t pad_end, const Activate& act, int32_t slots) {
  w.out_h = (w.in_h + w.pad_top + pad_end - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1;
  w.out_w = (w.in_w + w.pad_left + pad_end - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
  const int64_t taps = w.kernel_h * w.kernel_w;
  const size_t count = static_cast<size_t>(n * w.out_h * w.out_w * channels);
  Floats x(static_cast<size_t>(n * w.in_h * w.in_w * channels)), weights(static_cast<size_t>(channels * taps));
  Floats bias(static_cast<size_t>(channels)), want(count);
  testing::Guarded<uint16_t> half_x(x.size()), half_weights(weights.size()), y(count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(weights, 2);
  testing::fill_uniform(bias, 3);
  const auto narrow = [](Floats& from, testing::Guarded<uint16_t>& to) {
    for (size_t i = 0; i < from.size(); ++i) {
      to[i] = f32_to_bf16(from[i]);
      from[i] = bf16_to_f32(to[i]);
    }
  };
  narrow(x, half_x);
  narrow(weights, half_weights);
  DepthwiseF32 s;
  s.n = n;
  s.channels = channels;
  s.window = w;
  s.bias = bias.data();
  s.act = act;
  testing::Scratch scratch(depthwise_nhwc_f32_scratch_bytes(s));
  testing::Threads threads(slots);
  depthwise_nhwc_f32(s, x.data(), weights.data(), want.data(), {}, scratch.data());
  for (uint16_t& v : y) v = 777;
  depthwise_nhwc_bf16(s, half_x.data(), half_weights.data(), y.data(), threads.parallel(), scratch.data());
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], f32_to_bf16(want[i])) << "element " << i << " of " << channels;
}

TEST(DepthwiseNhwc, Bfloat16) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 3, 7, 16, 19, 100}) {
      for (int64_t kernel : {2, 3, 5}) {
        for (int64_t stride : {1, 2, 3}) {
          for (int64_t width : {1, 6, 15}) {
            const int64_t pad = kernel / 2;
            const Window w{9, width, 0, 0, kernel, kernel, stride, stride, 1, 1, pad, pad};
            check_bf16(1, channels, w, kernel - 1 - pad, {Activation::kClip, -0.5f, 0.75f}, 1);
          }
        }
      }
      const Window w{9, 9, 0, 0, 3, 3, 1, 1, 2, 2, 2, 2};
      check_bf16(2, channels, w, 2, {Activation::kHardSwish}, 3);
      check_bf16(3, channels, w, 2, {Activation::kRelu}, 1);
      check_bf16(0, channels, w, 2, {}, 1);
    }
  });
}

TEST(DepthwiseNhwc, Windows) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 3, 4, 7, 16, 19, 64, 100}) {
      for (int64_t kernel : {1, 2, 3, 5}) {
        for (int64_t stride : {1, 2, 3}) {
          for (int64_t dilation : {1, 2}) {
            const int64_t pad = kernel / 2 * dilation;
            const Window w{9, 6, 0, 0, kernel, kernel, stride, stride, dilation, dilation, pad, pad};
            check(1, channels, w, pad, {Activation::kClip, -0.5f, 0.75f}, 0, 1);
          }
        }
      }
    }
  });
}

// Lines of one strip, of several, and of unequal ones; windows that reach over both edges at once; channels in several
// blocks, with a last one of less than a vector.
TEST(DepthwiseNhwc, Strips) {
  for_each_level([](const char*) {
    for (int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 22}) {
      for (int64_t kernel : {3, 5}) {
        for (int64_t stride : {1, 2}) {
          for (int64_t channels : {5, 33, 150}) {
            for (int64_t pad : {kernel / 2, kernel - 1}) {
              const Window w{5, width, 0, 0, kernel, kernel, stride, stride, 1, 1, pad, pad};
              check(1, channels, w, pad, {Activation::kHardSwish}, 0, 1);
            }
          }
          check(1, 20, {6, width, 0, 0, 1, kernel, stride, stride, 1, 1, 0, kernel / 2}, kernel / 2, {}, 1, 3);
          check(2, 20, {6, width, 0, 0, 4, kernel, 3, stride, 2, 1, 3, kernel / 2}, kernel / 2, {}, 0, 3);
        }
      }
    }
  });
}

TEST(DepthwiseNhwc, EpiloguesAndThreads) {
  for_each_level([](const char*) {
    const Window w{7, 7, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1};
    for (int32_t slots : {1, 3}) {
      for (int residual : {0, 1, 2}) {
        check(3, 24, w, 1, {Activation::kRelu}, residual, slots);
        check(2, 200, w, 1, {}, residual, slots);
        check(1, 24, w, 1, {Activation::kHardSwish}, residual, slots);
      }
      check(2, 40, w, 1, {Activation::kLeakyRelu}, 0, slots);
      check(2, 40, w, 1, {Activation::kLeakyRelu}, 3, slots);
    }
    check(0, 8, w, 1, {}, 0, 1);
    check(1, 8, {1, 1, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1}, 1, {}, 0, 1);
  });
}

}  // namespace
}  // namespace vireo::cpu

#include "delegates/cpu/kernels/conv_image/conv_image.h"

#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

ConvF32 shape(int64_t n, int64_t c, int64_t o, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t stride,
              int64_t pad) {
  ConvF32 s;
  s.n = n;
  s.in_channels = c;
  s.out_channels = o;
  const int64_t in[2] = {h, w}, kernel[2] = {kh, kw};
  for (int i = 0; i < 2; ++i) {
    s.in[i + 1] = in[i];
    s.kernel[i + 1] = kernel[i];
    s.stride[i + 1] = stride;
    s.pad[i + 1] = pad;
    s.out[i + 1] = (in[i] + 2 * pad - kernel[i]) / stride + 1;
  }
  return s;
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

void check(ConvF32 s, int32_t slots, const Activate& act = {}, int residual = 0) {
  SCOPED_TRACE(::testing::Message() << "n " << s.n << " c " << s.in_channels << " o " << s.out_channels << " in "
                                    << s.in[1] << "x" << s.in[2] << " k " << s.kernel[1] << "x" << s.kernel[2] << " s "
                                    << s.stride[2] << " p " << s.pad[2] << " slots " << slots);
  ASSERT_TRUE(conv_image_f32_serves(s));
  const int64_t taps = s.kernel[1] * s.kernel[2], k = taps * s.in_channels, count = s.n * s.out[1] * s.out[2];
  Floats x(at(s.n * s.in[1] * s.in[2] * s.in_channels)), w(at(s.out_channels * k)), bias(at(s.out_channels));
  Floats extra(at(count * s.out_channels)), y(extra.size()), again(extra.size());
  testing::fill_uniform(x, 1);
  testing::fill_uniform(w, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  s.bias = act.kind == Activation::kRelu ? nullptr : bias.data();
  s.act = act;
  s.slope = act.kind == Activation::kLeakyRelu ? bias.data() : nullptr;  // any numbers
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.residual_times = residual == 3;
  testing::Threads threads(slots), one(1);
  Floats packed(at(conv_nhwc_f32_packed_floats(s)));
  pack_conv_nhwc_f32(s, w.data(), threads.parallel(), packed.data());
  const size_t room = at(conv_image_f32_slot_floats(s, Sizes::kFixed)) * sizeof(float);
  ASSERT_LE(conv_image_f32_slot_floats(s, Sizes::kFixed), conv_image_f32_slot_floats(s, Sizes::kUpperBounds));
  testing::Scratch scratch(room * at(slots)), single(room);
  conv_image_f32(s, x.data(), packed.data(), y.data(), threads.parallel(), static_cast<float*>(scratch.data()));
  conv_image_f32(s, x.data(), packed.data(), again.data(), one.parallel(), static_cast<float*>(single.data()));
  ASSERT_EQ(0, memcmp(y.data(), again.data(), y.size() * sizeof(float)));
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t o = static_cast<int64_t>(i) % s.out_channels, pixel = static_cast<int64_t>(i) / s.out_channels;
    const int64_t ox = pixel % s.out[2], oy = pixel / s.out[2] % s.out[1], image = pixel / s.out[2] / s.out[1];
    double sum = s.bias != nullptr ? double{bias[at(o)]} : 0, magnitude = 3;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t iy = oy * s.stride[1] - s.pad[1] + t / s.kernel[2];
      const int64_t ix = ox * s.stride[2] - s.pad[2] + t % s.kernel[2];
      if (iy < 0 || iy >= s.in[1] || ix < 0 || ix >= s.in[2]) continue;
      for (int64_t c = 0; c < s.in_channels; ++c) {
        const double product = double{x[at(((image * s.in[1] + iy) * s.in[2] + ix) * s.in_channels + c)]} *
                               w[at((o * s.in_channels + c) * taps + t)];
        sum += product;
        magnitude += std::abs(product);
      }
    }
    if (residual == 1) sum += extra[i];
    if (act.kind == Activation::kRelu) sum = std::max(sum, 0.0);
    if (act.kind == Activation::kClip) sum = std::min(std::max(sum, double{act.a}), double{act.b});
    if (act.kind == Activation::kHardSwish) sum *= std::min(std::max(sum / 6 + 0.5, 0.0), 1.0);
    if (s.slope != nullptr && sum < 0) sum *= bias[at(o)];
    if (residual == 2) sum += extra[i];
    if (residual == 3) sum *= extra[i];
    // Hard-swish has slope at most 1.5 and adds three roundings of its own value.
    const double bound = testing::sum_bound(k + 3, magnitude) * (act.kind == Activation::kHardSwish ? 4 : 1);
    ASSERT_NEAR(y[i], sum, bound) << "element " << i;
  }
}

TEST(ConvImage, Windows) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 3}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t width : {28, 29, 35, 44, 61}) {
          for (int64_t kernel : {2, 3, 7}) {
            for (int64_t pad : {int64_t{0}, kernel / 2, kernel - 1})
              check(shape(1, channels, 5, 9, width + 6, kernel, kernel, stride, pad), 1, {Activation::kClip, 0, 1});
          }
        }
      }
    }
  });
}

// Tiles over several lines; the last lines are up to twice as many.
TEST(ConvImage, ShortLines) {
  for_each_level([](const char*) {
    for (int64_t channels : {1, 3}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t width : {1, 2, 5, 8, 13}) {
          for (int64_t height : {0, 1, 7, 30, 61}) {
            const int64_t lines = (56 + width - 1) / width + height;
            check(shape(2, channels, 20, lines * stride + 8, width * stride + 2, 10, 4, stride, 1), 3,
                  {Activation::kHardSwish}, 1);
          }
        }
      }
    }
  });
}

TEST(ConvImage, FiltersAndEpilogues) {
  for_each_level([](const char*) {
    for (int64_t filters : {1, 3, 4, 8, 15, 16, 17, 24, 31, 32, 33, 48, 64, 70}) {
      for (int32_t slots : {1, 3}) {
        check(shape(1, 3, filters, 7, 40, 3, 3, 2, 1), slots, {Activation::kHardSwish});
        check(shape(2, 1, filters, 12, 30, 10, 4, 1, 2), slots, {Activation::kRelu});
      }
    }
    for (int residual : {0, 1, 2, 3}) {
      check(shape(2, 3, 20, 6, 33, 3, 3, 1, 1), 3, {}, residual);
      check(shape(1, 3, 20, 6, 33, 3, 3, 1, 1), 1, {Activation::kLeakyRelu}, residual == 1 ? 0 : residual);
      check(shape(1, 3, 20, 6, 33, 3, 3, 1, 1), 3, {Activation::kClip, -0.5f, 0.5f}, residual);
    }
  });
}

TEST(ConvImage, WhatItServes) {
  EXPECT_FALSE(conv_image_f32_serves(shape(1, 2, 8, 9, 40, 3, 3, 1, 1)));     // two channels
  EXPECT_FALSE(conv_image_f32_serves(shape(1, 3, 8, 4, 13, 3, 3, 1, 1)));     // few short lines
  EXPECT_FALSE(conv_image_f32_serves(shape(1, 3, 8, 9, 99, 3, 3, 3, 1)));     // windows far apart
  EXPECT_FALSE(conv_image_f32_serves(shape(1, 3, 8, 40, 99, 16, 16, 2, 1)));  // many taps
  EXPECT_TRUE(conv_image_f32_serves(shape(1, 3, 8, 9, 14, 3, 3, 1, 1)));
}

}  // namespace
}  // namespace vireo::cpu

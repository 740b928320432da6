#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

struct Setup {
  int64_t n, c, o, groups;
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3];
};

int64_t area(const int64_t (&v)[3]) { return v[0] * v[1] * v[2]; }

void check(const Setup& z, int32_t slots, const Activate& act = {}, int residual = 0) {
  ConvF32 s;
  s.n = z.n;
  s.in_channels = z.c;
  s.out_channels = z.o;
  s.groups = z.groups;
  for (int i = 0; i < 3; ++i) {
    s.in[i] = z.in[i];
    s.kernel[i] = z.kernel[i];
    s.stride[i] = z.stride[i];
    s.dilation[i] = z.dilation[i];
    s.pad[i] = z.pad[i];
    s.out[i] = (z.in[i] + 2 * z.pad[i] - (z.kernel[i] - 1) * z.dilation[i] - 1) / z.stride[i] + 1;
  }
  SCOPED_TRACE(::testing::Message() << "n " << z.n << " c " << z.c << " o " << z.o << " g " << z.groups << " in "
                                    << z.in[0] << "x" << z.in[1] << "x" << z.in[2] << " k " << z.kernel[0] << "x"
                                    << z.kernel[1] << "x" << z.kernel[2] << " s " << z.stride[1] << "," << z.stride[2]
                                    << " p " << z.pad[1] << "," << z.pad[2] << " slots " << slots);
  const int64_t channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  const size_t out_count = static_cast<size_t>(s.n * s.out_channels * area(s.out));
  Floats x(static_cast<size_t>(s.n * s.in_channels * area(s.in)));
  Floats w(static_cast<size_t>(s.out_channels * channels * area(s.kernel)));
  Floats bias(static_cast<size_t>(s.out_channels)), extra(out_count), y(out_count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(w, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  s.bias = bias.data();
  s.act = act;
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.residual_times = residual == 3;
  s.slope = act.kind == Activation::kLeakyRelu ? bias.data() : nullptr;  // any numbers
  testing::Threads threads(slots);
  const auto run = [&](const float* weights, Floats& to) {
    const bool packed = s.packed != nullptr;
    const size_t bytes = conv_nhwc_f32_scratch_bytes(s, slots, Sizes::kFixed, packed);
    ASSERT_LE(bytes, conv_nhwc_f32_scratch_bytes(s, slots, Sizes::kUpperBounds, packed));
    testing::Scratch scratch(bytes);
    conv_nhwc_f32(s, x.data(), weights, to.data(), threads.parallel(), scratch.data());
  };
  run(w.data(), y);
  Floats packed(static_cast<size_t>(conv_nhwc_f32_packed_floats(s))), again(out_count);
  const bool packs = packed.size() != 0;
  if (packs) {
    pack_conv_nhwc_f32(s, w.data(), threads.parallel(), packed.data());
    s.packed = packed.data();
    run(nullptr, again);
  }
  for (size_t i = 0; i < out_count; ++i) {
    const int64_t at = static_cast<int64_t>(i), o = at % s.out_channels, pixel = at / s.out_channels % area(s.out);
    const int64_t image = at / s.out_channels / area(s.out);
    double sum = bias[static_cast<size_t>(o)], magnitude = 3;
    for (int64_t t = 0; t < area(s.kernel); ++t) {
      const int64_t k[3] = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
      const int64_t q[3] = {pixel / (s.out[1] * s.out[2]), pixel / s.out[2] % s.out[1], pixel % s.out[2]};
      int64_t from = 0;
      bool inside = true;
      for (int a = 0; a < 3; ++a) {
        const int64_t b = q[a] * s.stride[a] - s.pad[a] + k[a] * s.dilation[a];
        inside = inside && b >= 0 && b < s.in[a];
        from = from * s.in[a] + b;
      }
      for (int64_t c = 0; inside && c < channels; ++c) {
        const int64_t channel = o / outputs * channels + c;
        const int64_t element = (image * area(s.in) + from) * s.in_channels + channel;
        const double product =
            double{x[static_cast<size_t>(element)]} * w[static_cast<size_t>((o * channels + c) * area(s.kernel) + t)];
        sum += product;
        magnitude += std::abs(product);
      }
    }
    if (residual == 1) sum += extra[i];
    if (act.kind == Activation::kRelu) sum = std::max(sum, 0.0);
    if (act.kind == Activation::kClip) sum = std::min(std::max(sum, double{act.a}), double{act.b});
    if (act.kind == Activation::kHardSwish) sum *= std::min(std::max(sum / 6 + 0.5, 0.0), 1.0);
    if (s.slope != nullptr && sum < 0) sum *= bias[static_cast<size_t>(o)];
    if (residual == 2) sum += extra[i];
    if (residual == 3) sum *= extra[i];
    // Hard-swish has slope at most 1.5 and adds three roundings of its own value.
    const double bound =
        testing::sum_bound(channels * area(s.kernel) + 4, magnitude) * (act.kind == Activation::kHardSwish ? 4 : 1);
    ASSERT_NEAR(y[i], sum, bound) << "element " << i;
    if (packs) {
      ASSERT_NEAR(again[i], sum, bound) << "element " << i << ", filters packed";
    }
  }
}

Setup flat(int64_t n, int64_t c, int64_t o, int64_t g, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t s,
           int64_t d, int64_t p) {
  return {n, c, o, g, {1, h, w}, {1, kh, kw}, {1, s, s}, {1, d, d}, {0, p, p}};
}

TEST(ConvNhwc, Pointwise) {
  for_each_level([](const char*) {
    for (int32_t slots : {1, 3}) {
      check(flat(1, 16, 24, 1, 9, 11, 1, 1, 1, 1, 0), slots, {Activation::kClip, 0, 6}, 0);
      check(flat(2, 70, 130, 1, 7, 7, 1, 1, 1, 1, 0), slots, {Activation::kRelu}, 1);
      check(flat(1, 33, 100, 1, 14, 14, 1, 1, 1, 1, 0), slots, {}, 2);
      check(flat(1, 600, 70, 1, 5, 5, 1, 1, 1, 1, 0), slots, {Activation::kHardSwish}, 1);
      check(flat(1, 12, 6, 3, 6, 5, 1, 1, 1, 1, 0), slots, {}, 0);
      check(flat(1, 8, 40, 1, 15, 13, 1, 1, 2, 1, 0), slots, {Activation::kHardSwish}, 0);
      check(flat(1, 8, 40, 1, 5, 130, 1, 1, 2, 1, 0), slots, {Activation::kHardSwish}, 0);
      check(flat(2, 5, 7, 1, 1, 1, 1, 1, 1, 1, 0), slots);
      check(flat(1, 40, 24, 1, 9, 11, 1, 1, 1, 1, 0), slots, {Activation::kLeakyRelu}, 0);
      check(flat(6, 40, 24, 1, 1, 1, 1, 1, 1, 1, 0), slots, {Activation::kLeakyRelu}, 3);
      check(flat(1, 12, 40, 2, 9, 11, 3, 3, 1, 1, 1), slots, {Activation::kLeakyRelu}, 3);
    }
  });
}

TEST(ConvNhwc, Windows) {
  for_each_level([](const char*) {
    for (int64_t width : {1, 2, 5, 7, 16, 33}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t pad : {0, 1, 2}) {
          if (width + 2 * pad < 3) continue;
          check(flat(1, 3, 5, 1, 6, width, 3, 3, stride, 1, pad), 1);
        }
        if (width >= 5) check(flat(1, 4, 6, 2, 8, width, 3, 3, stride, 2, 1), 3);
      }
    }
    for (int32_t slots : {1, 3}) {
      check(flat(1, 3, 32, 1, 40, 40, 3, 3, 2, 1, 1), slots, {Activation::kRelu});
      check(flat(1, 64, 70, 1, 14, 14, 3, 3, 1, 1, 1), slots, {}, 1);
      check(flat(1, 8, 33, 1, 20, 24, 5, 5, 1, 1, 2), slots, {Activation::kHardSwish}, 2);
    }
    // One channel along a line: patches overlap in memory and are read where they are.
    check({1, 1, 36, 1, {1, 1, 700}, {1, 1, 64}, {1, 1, 16}, {1, 1, 1}, {0, 0, 0}}, 1);
    check({2, 2, 9, 1, {1, 3, 50}, {1, 1, 7}, {1, 1, 3}, {1, 1, 1}, {0, 0, 0}}, 3);
    check({1, 3, 4, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}}, 1);
  });
}

TEST(ConvNhwc, Depthwise) {
  for_each_level([](const char*) {
    for (int64_t c : {2, 3, 8, 16, 17, 72}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t kernel : {1, 3, 5}) {
          check(flat(2, c, c, c, 9, 8, kernel, kernel, stride, 1, kernel / 2), 3, {Activation::kClip, -1, 1});
          check(flat(1, c, c, c, 7, 11, kernel, kernel, stride, 2, kernel - 1), 1, {}, 1);
        }
      }
      check(flat(1, c, c, c, 1, 1, 3, 3, 1, 1, 1), 1, {Activation::kHardSwish}, 2);
      check(flat(1, c, 2 * c, c, 5, 5, 3, 3, 1, 1, 1), 1);  // two outputs a channel: a product each
    }
  });
}

// Pixels that threads cut may leave one over.
TEST(ConvNhwc, ThreadsChangeNoBit) {
  for_each_level([](const char*) {
    for (const auto& z : {flat(1, 192, 112, 1, 15, 15, 1, 1, 1, 1, 0), flat(2, 70, 40, 1, 15, 15, 3, 3, 1, 1, 1),
                          flat(1, 300, 130, 1, 5, 57, 1, 1, 1, 1, 0), flat(1, 900, 130, 1, 29, 1, 1, 1, 1, 1, 0)}) {
      ConvF32 s;
      s.n = z.n;
      s.in_channels = z.c;
      s.out_channels = z.o;
      for (int i = 0; i < 3; ++i) {
        s.in[i] = s.out[i] = z.in[i];
        s.kernel[i] = z.kernel[i];
        s.pad[i] = z.pad[i];
      }
      Floats x(static_cast<size_t>(s.n * area(s.in) * z.c)), w(static_cast<size_t>(z.o * z.c * area(s.kernel))),
          want(static_cast<size_t>(s.n * area(s.out) * z.o)), y(want.size());
      Floats packed(static_cast<size_t>(conv_nhwc_f32_packed_floats(s)));
      testing::fill_uniform(x, 1);
      testing::fill_uniform(w, 2);
      pack_conv_nhwc_f32(s, w.data(), {}, packed.data());
      s.packed = packed.data();
      for (const int32_t slots : {1, 2, 3, 4}) {
        testing::Threads threads(slots);
        testing::Scratch scratch(conv_nhwc_f32_scratch_bytes(s, slots, Sizes::kFixed, true));
        conv_nhwc_f32(s, x.data(), nullptr, (slots == 1 ? want : y).data(), threads.parallel(), scratch.data());
        if (slots > 1) {
          ASSERT_EQ(memcmp(want.data(), y.data(), y.size() * sizeof(float)), 0)
              << z.c << " to " << z.o << " slots " << slots;
        }
      }
    }
  });
}

TEST(ConvNhwc, NothingToDo) {
  check(flat(0, 4, 4, 1, 5, 5, 3, 3, 1, 1, 1), 1);
  for (const int64_t kernel : {1, 3})  // bias alone
    check(flat(1, 0, 4, 1, 5, 5, kernel, kernel, 1, 1, 0), 1, {Activation::kRelu});
}

// A plan made for several planes, or for more channels a filter, serves one.
TEST(ConvNhwc, BoundCoversDepthwise) {
  const auto deep = [](int64_t depth, int64_t channels, int64_t of_filter = 1) {
    ConvF32 s;
    s.in_channels = channels * of_filter;
    s.out_channels = s.groups = channels;
    s.in[0] = s.out[0] = depth;
    s.in[1] = s.in[2] = s.kernel[1] = s.kernel[2] = 7;
    return s;
  };
  for (const int32_t slots : {1, 4}) {
    for (const bool packed : {false, true}) {
      for (const int64_t channels : {8, 1000, 20000}) {
        if (!packed) {
          ASSERT_GE(conv_nhwc_f32_scratch_bytes(deep(1, channels, 2), slots, Sizes::kUpperBounds, packed),
                    conv_nhwc_f32_scratch_bytes(deep(1, channels), slots, Sizes::kFixed, packed));
        }
        ASSERT_GE(conv_nhwc_f32_scratch_bytes(deep(2, channels), slots, Sizes::kUpperBounds, packed),
                  conv_nhwc_f32_scratch_bytes(deep(1, channels), slots, Sizes::kFixed, false));
      }
    }
  }
}

// Filters that were packed as those of several planes.
TEST(ConvNhwc, DepthwiseFromPanels) {
  for_each_level([](const char*) {
    ConvF32 s;
    s.in_channels = s.out_channels = s.groups = 20;
    s.in[0] = s.out[0] = 2;
    for (int i = 1; i < 3; ++i) {
      s.in[i] = s.out[i] = 6;
      s.kernel[i] = 3;
      s.pad[i] = 1;
    }
    const size_t bytes = conv_nhwc_f32_scratch_bytes(s, 1, Sizes::kUpperBounds, true);
    Floats w(20 * 9), packed(static_cast<size_t>(conv_nhwc_f32_packed_floats(s)));
    Floats x(36 * 20), y(36 * 20), want(36 * 20);
    testing::fill_uniform(x, 1);
    testing::fill_uniform(w, 2);
    pack_conv_nhwc_f32(s, w.data(), {}, packed.data());
    s.in[0] = s.out[0] = 1;
    testing::Scratch scratch(bytes), more(conv_nhwc_f32_scratch_bytes(s, 1, Sizes::kFixed, false));
    conv_nhwc_f32(s, x.data(), w.data(), want.data(), {}, more.data());
    s.packed = packed.data();
    conv_nhwc_f32(s, x.data(), nullptr, y.data(), {}, scratch.data());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], testing::sum_bound(9, 9)) << "element " << i;
  });
}

}  // namespace
}  // namespace vireo::cpu

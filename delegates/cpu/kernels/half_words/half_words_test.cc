#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/half_words/half_words.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu::half_words_test {
namespace {

using testing::for_each_level;
using testing::Scratch;
using testing::Threads;

struct Layer {
  ConvF32 shape;
  bool last = true;
  CodeType x_type;
  int32_t x_zero = 0;
  CodesOut out;
  bool large = false;  // weights and codes at the ends of their types: sums leave int32
};

int64_t area(const int64_t (&s)[3]) { return s[0] * s[1] * s[2]; }

int32_t code_at(const std::vector<uint8_t>& bytes, CodeType t, int64_t i) {
  const auto* const p = bytes.data();
  if (!t.wide) return t.is_signed ? int32_t{reinterpret_cast<const int8_t*>(p)[i]} : int32_t{p[i]};
  return t.is_signed ? int32_t{reinterpret_cast<const int16_t*>(p)[i]}
                     : int32_t{reinterpret_cast<const uint16_t*>(p)[i]};
}

// The formula, element by element.
std::vector<int32_t> expected(const Layer& l, const std::vector<uint8_t>& x, const std::vector<int8_t>& w,
                              const std::vector<float>& m, const std::vector<int32_t>& bias) {
  const ConvF32& s = l.shape;
  const int64_t pixels = area(s.out), in = area(s.in), taps = area(s.kernel), depth = s.in_channels / s.groups;
  std::vector<int32_t> y(static_cast<size_t>(s.n * s.out_channels * pixels));
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      for (int64_t p = 0; p < pixels; ++p) {
        int64_t sum = bias[static_cast<size_t>(o)];
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t at[3] = {
              p / (s.out[1] * s.out[2]) * s.stride[0] - s.pad[0] + t / (s.kernel[1] * s.kernel[2]) * s.dilation[0],
              p / s.out[2] % s.out[1] * s.stride[1] - s.pad[1] + t / s.kernel[2] % s.kernel[1] * s.dilation[1],
              p % s.out[2] * s.stride[2] - s.pad[2] + t % s.kernel[2] * s.dilation[2]};
          if (at[0] < 0 || at[0] >= s.in[0] || at[1] < 0 || at[1] >= s.in[1] || at[2] < 0 || at[2] >= s.in[2]) continue;
          const int64_t place = (at[0] * s.in[1] + at[1]) * s.in[2] + at[2];
          for (int64_t c = 0; c < depth; ++c) {
            const int64_t channel = o / (s.out_channels / s.groups) * depth + c;
            const int64_t from =
                l.last ? (n * in + place) * s.in_channels + channel : (n * s.in_channels + channel) * in + place;
            sum += int64_t{code_at(x, l.x_type, from) - l.x_zero} * w[static_cast<size_t>((o * depth + c) * taps + t)];
          }
        }
        const int64_t to = l.last ? (n * pixels + p) * s.out_channels + o : (n * s.out_channels + o) * pixels + p;
        y[static_cast<size_t>(to)] =
            round_and_clamp(static_cast<float>(sum) * m[static_cast<size_t>(o)], l.out.zero, l.out.low, l.out.high);
      }
    }
  }
  return y;
}

void check(const Layer& l, uint32_t seed) {
  const ConvF32& s = l.shape;
  std::mt19937 rng(seed);
  const int64_t depth = s.in_channels / s.groups * area(s.kernel);
  std::vector<uint8_t> x(static_cast<size_t>(s.n * s.in_channels * area(s.in)) * (l.x_type.wide ? 2 : 1));
  for (uint8_t& b : x) b = static_cast<uint8_t>(rng());
  std::vector<int8_t> w(static_cast<size_t>(s.out_channels * depth));
  for (int8_t& v : w) v = static_cast<int8_t>(rng());
  if (l.large) {
    std::fill(w.begin(), w.end(), int8_t{-128});
    for (size_t i = 0; i < x.size(); i += 2) {
      x[i] = static_cast<uint8_t>(rng() & 3);
      x[i + 1] = 0x80;  // -32768 to -32765
    }
  }
  std::vector<float> m(static_cast<size_t>(s.out_channels));
  for (float& v : m) {
    v = std::ldexp(1.0f + static_cast<float>(rng() % 1024) / 1024, l.out.type.wide ? -8 : -16) /
        std::sqrt(static_cast<float>(depth));
    if (l.large) v = std::ldexp(1.0f, -17) * static_cast<float>(1 + rng() % 3);
    if (!l.x_type.wide) v *= 256;
  }
  std::vector<int32_t> bias(static_cast<size_t>(s.out_channels));
  for (int32_t& v : bias) v = static_cast<int32_t>(rng() % 2000000) - 1000000;
  const std::vector<int32_t> wanted = expected(l, x, w, m, bias);

  WeightsI16 weights;
  weights.data = w.data();
  weights.o_step = depth;
  weights.i_step = area(s.kernel);
  weights.t_step = 1;
  ProductI16 p;
  p.shape = s;
  p.last = l.last;
  p.x_type = l.x_type;
  p.x_zero = l.x_zero;
  p.multiplier = m.data();
  p.multiplier_per_channel = true;
  p.bias = bias.data();
  p.out = l.out;
  Scratch packed(pack_product_i16_bytes(s));
  pack_product_i16(s, weights, {}, packed.data());
  for (const int32_t slots : {1, 3}) {
    Threads threads(slots);
    Scratch scratch(product_i16_scratch_bytes(s, slots));
    testing::Guarded<uint8_t> y(wanted.size() * (l.out.type.wide ? 2 : 1));
    product_i16(p, x.data(), packed.data(), y.data(), threads.parallel(), scratch.data());
    const std::vector<uint8_t> bytes(y.data(), y.data() + y.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(code_at(bytes, l.out.type, static_cast<int64_t>(i)), wanted[i]) << "element " << i << ", " << slots;
  }
}

Layer layer(int64_t in_channels, int64_t out_channels, int64_t groups, int64_t extent, int64_t kernel, int64_t stride) {
  Layer l;
  ConvF32& s = l.shape;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.groups = groups;
  for (int d = 1; d < 3; ++d) {
    s.in[d] = extent + d;
    s.kernel[d] = kernel;
    s.stride[d] = stride;
    s.pad[d] = kernel / 2;
    s.out[d] = (s.in[d] + 2 * s.pad[d] - kernel) / stride + 1;
  }
  return l;
}

TEST(HalfWords, ProductsAreTheFormulas) {
  for_each_level([](const char*) {
    uint32_t seed = 1;
    for (const bool last : {true, false}) {
      for (const int64_t out_channels : {1, 6, 16, 35}) {
        for (const int64_t kernel : {1, 3}) {
          Layer l = layer(6 + out_channels % 2, out_channels, 1, 6, kernel, 1 + out_channels % 2);
          l.last = last;
          check(l, seed++);
          l.x_type = {true, false};  // uint16
          l.x_zero = 40000;
          l.out.type = {true, false};
          l.out.zero = 65535;
          l.out.low = 100;
          l.out.high = 65535;
          check(l, seed++);
          l.x_type = {false, false};
          l.x_zero = 131;
          check(l, seed++);
          l.x_type = {true, true};
          l.x_zero = 0;
          l.out = {{false, true}, -3, -100, 127};
          check(l, seed++);
        }
      }
    }
  });
}

TEST(HalfWords, GroupsAndDepthwise) {
  for_each_level([](const char*) {
    uint32_t seed = 100;
    for (const bool last : {true, false}) {
      for (const int64_t channels : {2, 8, 19, 40}) {
        for (const int64_t stride : {1, 2}) {
          Layer l = layer(channels, channels, channels, 7, 3, stride);
          l.last = last;
          check(l, seed++);
          l.x_type = {true, false};
          l.x_zero = 7;
          l.out = {{false, false}, 0, 0, 255};
          check(l, seed++);
          l.x_type = {false, true};
          l.x_zero = -128;
          l.out = {};
          check(l, seed++);
        }
      }
      Layer l = layer(12, 18, 3, 5, 3, 1);
      l.last = last;
      check(l, seed++);
      l = layer(20, 20, 20, 9, 7, 1);  // more taps than filters of a turn hold
      l.last = last;
      check(l, seed++);
    }
  });
}

TEST(HalfWords, SumsThatLeaveInt32) {
  for_each_level([](const char*) {
    uint32_t seed = 200;
    for (const int64_t depth : {500, 512, 1600}) {
      Layer l = layer(depth, 17, 1, 1, 1, 1);
      l.large = true;
      check(l, seed++);
      l.last = false;
      check(l, seed++);
    }
  });
}

TEST(HalfWords, NaNAndInfiniteMultipliers) {
  for_each_level([](const char*) {
    Layer l = layer(2, 3, 1, 1, 1, 1);
    const std::vector<int16_t> x(12, 1);
    const std::vector<int8_t> w = {1, 1, 1, 1, -1, -1};
    const std::vector<float> m = {NAN, INFINITY, INFINITY};
    ProductI16 p;
    p.shape = l.shape;
    p.multiplier = m.data();
    p.multiplier_per_channel = true;
    p.out.low = -100;
    WeightsI16 weights;
    weights.data = w.data();
    weights.o_step = 2;
    weights.i_step = 1;
    Scratch packed(pack_product_i16_bytes(p.shape)), scratch(product_i16_scratch_bytes(p.shape, 1));
    pack_product_i16(p.shape, weights, {}, packed.data());
    std::vector<int16_t> y(static_cast<size_t>(area(p.shape.out)) * 3);
    product_i16(p, x.data(), packed.data(), y.data(), {}, scratch.data());
    EXPECT_EQ(std::vector<int16_t>(y.begin(), y.begin() + 3), (std::vector<int16_t>{-100, 32767, -100}));
  });
}

}  // namespace
}  // namespace vireo::cpu::half_words_test

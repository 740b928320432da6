#include "delegates/cpu/kernels/conv_f16/conv_f16.h"

#include "delegates/cpu/kernels/product_testing.h"

namespace vireo::cpu {
namespace {

using testing::Expected;
using testing::expected_once;
using testing::fill_half;
using testing::Floats;
using testing::for_each_level;
using testing::Halves;
using testing::key_of;
using testing::Scratch;
using testing::Threads;
using testing::widen_half;

int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

ConvF32 shape(int64_t c, int64_t o, int64_t h, int64_t w, int64_t kernel, int64_t stride, int64_t pad,
              int64_t groups = 1, int64_t n = 1) {
  ConvF32 s;
  s.n = n;
  s.in_channels = c;
  s.out_channels = o;
  s.groups = groups;
  s.in[1] = h;
  s.in[2] = w;
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = kernel;
    s.stride[i] = stride;
    s.pad[i] = pad;
    s.out[i] = (s.in[i] + 2 * pad - kernel) / stride + 1;
  }
  return s;
}

// Every element against a sum in double of the same numbers: off by what float32 sums round, and in float16 by half a
// unit of the result.
void check(const ConvF32& in, bool last, int residual, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << "c " << in.in_channels << " o " << in.out_channels << " in " << in.in[1] << " x "
                                    << in.in[2] << " kernel " << in.kernel[1] << " stride " << in.stride[1]
                                    << " groups " << in.groups << " last " << last << " residual " << residual
                                    << " slots " << slots);
  ConvF16 c;
  c.shape = in;
  c.last = last;
  c.shape.act = {Activation::kRelu, 0, 0};
  c.shape.residual_last = residual == 2;
  c.shape.residual_times = residual == 3;
  const ConvF32& s = c.shape;
  const int64_t channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups, taps = area(s.kernel);
  Halves x(static_cast<size_t>(s.n * area(s.in) * s.in_channels)),
      w(static_cast<size_t>(s.out_channels * channels * taps));
  Halves bias(static_cast<size_t>(s.out_channels)), added(static_cast<size_t>(s.n * area(s.out) * s.out_channels));
  fill_half(x, 1);
  fill_half(w, 2);
  fill_half(bias, 3);
  fill_half(added, 4);
  const auto xf = widen_half(x), wf = widen_half(w), biasf = widen_half(bias), addedf = widen_half(added);
  const auto& [want, bound] = expected_once(
      key_of(s.n, s.in_channels, s.out_channels, s.groups, s.in, s.out, s.kernel, s.stride, s.dilation, s.pad, last,
             residual),
      [&](Expected* e) {
        e->want.resize(added.size());
        e->bound.resize(added.size(), -1);
        const auto place = [&](const int64_t(&size)[3], int64_t all, int64_t n, int64_t channel, int64_t z, int64_t y,
                               int64_t at) {
          const int64_t pixel = (z * size[1] + y) * size[2] + at;
          return static_cast<size_t>(last ? (n * area(size) + pixel) * all + channel
                                          : (n * all + channel) * area(size) + pixel);
        };
        for (int64_t n = 0; n < s.n; ++n) {
          for (int64_t o = 0; o < s.out_channels; ++o) {
            for (int64_t p = 0; p < area(s.out); ++p) {
              const int64_t oz = p / (s.out[1] * s.out[2]), oy = p / s.out[2] % s.out[1], ox = p % s.out[2];
              double sum = biasf->data()[o], magnitude = 2 + std::abs(sum);
              for (int64_t t = 0; t < taps; ++t) {
                const int64_t z = oz * s.stride[0] - s.pad[0] + t / (s.kernel[1] * s.kernel[2]) * s.dilation[0];
                const int64_t y = oy * s.stride[1] - s.pad[1] + t / s.kernel[2] % s.kernel[1] * s.dilation[1];
                const int64_t at = ox * s.stride[2] - s.pad[2] + t % s.kernel[2] * s.dilation[2];
                if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1] || at < 0 || at >= s.in[2]) continue;
                const int64_t step = last ? 1 : area(s.in);
                const float* const values =
                    xf->data() + place(s.in, s.in_channels, n, o / outputs * channels, z, y, at);
                const float* const weights = wf->data() + o * channels * taps + t;
                for (int64_t i = 0; i < channels; ++i) {
                  const double product = double{values[i * step]} * double{weights[i * taps]};
                  sum += product;
                  magnitude += std::abs(product);
                }
              }
              const size_t to = place(s.out, s.out_channels, n, o, oz, oy, ox);
              const double extra = addedf->data()[to];
              if (residual == 1) sum += extra;
              sum = std::max(sum, 0.0);
              e->want[to] = residual == 2 ? sum + extra : residual == 3 ? sum * extra : sum;
              e->bound[to] = testing::sum_bound(channels * taps + 4, magnitude);
            }
          }
        }
      });
  Threads threads(slots);
  Halves packed(static_cast<size_t>(conv_f16_packed_elements(c)));
  if (packed.size() > 0) pack_conv_f16(c, w.data(), threads.parallel(), packed.data());
  for (const bool packs : {false, true}) {
    SCOPED_TRACE(packs ? "packed" : "as they lie");
    c.packed = packs && packed.size() > 0 ? packed.data() : nullptr;
    c.shape.bias = biasf->data();
    c.shape.residual = residual != 0 ? addedf->data() : nullptr;
    Floats wide(added.size());
    Scratch scratch(conv_f16_scratch_bytes(c, slots, c.packed != nullptr, false));
    conv_f16(c, xf->data(), w.data(), wide.data(), threads.parallel(), scratch.data());
    c.shape.bias = c.shape.residual = nullptr;
    c.tail.col_bias = bias.data();
    c.tail.residual = residual != 0 ? added.data() : nullptr;
    Halves narrow(added.size()), one(added.size());
    Scratch more(conv_f16_scratch_bytes(c, slots, c.packed != nullptr, true));
    conv_f16(c, x.data(), w.data(), narrow.data(), threads.parallel(), more.data());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(wide[i], want[i], bound[i]) << "at " << i;
      const double unit = std::max(std::abs(want[i]) * 0x1p-11, 0x1p-25);
      ASSERT_NEAR(f16_to_f32(narrow[i]), want[i], (bound[i] + unit) * 1.001) << "at " << i;
    }
    conv_f16(c, x.data(), w.data(), one.data(), {}, more.data());
    ASSERT_EQ(memcmp(one.data(), narrow.data(), one.size() * sizeof(uint16_t)), 0) << "threads change bits";
  }
}

TEST(ConvF16, ShapesInBothLayouts) {
  for_each_level([](const char* level) {
    printf("%s\n", level);
    for (const bool last : {false, true}) {
      for (const int32_t slots : {1, 3}) {
        check(shape(5, 7, 9, 8, 3, 1, 1), last, 0, slots);
        check(shape(3, 33, 20, 19, 3, 2, 1), last, 1, slots);
        check(shape(16, 40, 7, 7, 1, 1, 0), last, 2, slots);
        check(shape(16, 40, 9, 9, 1, 2, 0), last, 3, slots);
        check(shape(12, 12, 11, 10, 3, 1, 1, 12), last, 1, slots);
        check(shape(12, 18, 11, 10, 3, 2, 1, 3, 2), last, 0, slots);
        check(shape(6, 4, 1, 1, 1, 1, 0), last, 1, slots);
        check(shape(1, 8, 40, 11, 5, 2, 2), last, 0, slots);
      }
    }
  });
}

// Of several bands, with borders between them; and windows that some lines have beyond the image.
TEST(ConvF16, Bands) {
  for_each_level([](const char*) {
    for (const bool last : {false, true}) {
      check(shape(24, 8, 70, 72, 3, 1, 1), last, 1, 3);
      check(shape(24, 8, 91, 90, 3, 2, 1), last, 0, 2);
      check(shape(40, 40, 50, 50, 5, 1, 2, 40), last, 2, 3);
      check(shape(40, 24, 60, 64, 1, 1, 0), last, 1, 3);
      check(shape(4, 4, 5, 5, 3, 1, 4), last, 1, 3);
      ConvF32 below =
          shape(16, 16, 128, 128, 3, 1, 1);  // four lines of padding below, the windows of two in nothing else
      below.out[1] += 3;
      check(below, last, 0, 1);
      ConvF32 dilated = shape(24, 6, 70, 80, 3, 1, 2);
      dilated.dilation[1] = dilated.dilation[2] = 2;
      check(dilated, last, 0, 2);
      ConvF32 deep = shape(4, 6, 9, 8, 3, 1, 1);
      deep.in[0] = deep.out[0] = 5;
      deep.kernel[0] = 3;
      deep.pad[0] = 1;
      check(deep, last, 1, 2);
    }
  });
}

TEST(ConvF16, NothingToSum) {
  for_each_level([](const char*) {
    for (const bool last : {false, true}) {
      for (const int64_t kernel : {1, 3}) check(shape(0, 6, 5, 5, kernel, 1, 0), last, 1, 1);
    }
  });
}

// Filters that were packed as those of several planes, and a plan for them, serve one plane.
TEST(ConvF16, DepthThatVaries) {
  for_each_level([](const char*) {
    ConvF16 c;
    c.last = true;
    c.shape = shape(40, 40, 9, 8, 3, 1, 1, 40);
    ConvF16 most = c;
    most.shape.in[0] = most.shape.out[0] = 2;
    const size_t pixels = 9 * 8 * 40;
    Halves x(pixels), w(40 * 9), y(pixels), want(pixels);
    fill_half(x, 1);
    fill_half(w, 2);
    Halves packed(static_cast<size_t>(conv_f16_packed_elements(most)));
    pack_conv_f16(most, w.data(), {}, packed.data());
    Scratch own(conv_f16_scratch_bytes(c, 1, false, true));
    conv_f16(c, x.data(), w.data(), want.data(), {}, own.data());
    for (const bool packs : {false, true}) {
      for (const int32_t slots : {1, 3}) {
        Threads threads(slots);
        Scratch scratch(conv_f16_scratch_bytes(most, slots, packs, true));
        c.packed = packs ? packed.data() : nullptr;
        conv_f16(c, x.data(), packs ? nullptr : w.data(), y.data(), threads.parallel(), scratch.data());
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_NEAR(f16_to_f32(y[i]), f16_to_f32(want[i]), 9 * 0x1p-11) << "at " << i << " packed " << packs;
      }
    }
  });
}

// A plan made for the largest image serves smaller ones.
TEST(ConvF16, ScratchGrowsWithTheImage) {
  for (const bool last : {false, true}) {
    for (const int64_t channels : {3, 24}) {
      ConvF16 most;
      most.last = last;
      most.shape = shape(channels, 16, 90, 90, 3, 1, 1);
      for (const bool packed : {false, true}) {
        const size_t bytes = conv_f16_scratch_bytes(most, 3, packed, true);
        for (int64_t h = 1; h <= 90; h += 3) {
          for (int64_t w = 1; w <= 90; w += 7) {
            ConvF16 less = most;
            less.shape = shape(channels, 16, h, w, 3, 1, 1);
            ASSERT_LE(conv_f16_scratch_bytes(less, 3, packed, true), bytes) << h << " x " << w;
          }
        }
        // With more padding below than the window reaches, and strides that leave lines over.
        for (const int64_t stride : {1, 2, 3}) {
          for (const int64_t below : {0, 1, 2, 3, 5}) {
            const auto tall = [&](int64_t h) {
              ConvF16 c = most;
              c.shape = shape(channels, 16, h, 200, 3, stride, 1);
              c.shape.out[1] = (h + 1 + below - 3) / stride + 1;
              return c;
            };
            for (int64_t h = 2; h <= 200; h += 3) {
              ASSERT_LE(conv_f16_scratch_bytes(tall(h), 3, packed, true, Sizes::kFixed),
                        conv_f16_scratch_bytes(tall(200), 3, packed, true))
                  << h << " stride " << stride << " below " << below;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::cpu

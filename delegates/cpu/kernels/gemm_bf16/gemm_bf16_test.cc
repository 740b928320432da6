#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"

#include <stdio.h>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"
#include "delegates/cpu/kernels/sme/sme.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/product_testing.h"

namespace vireo::cpu {
namespace {

using testing::curve;
using testing::Expected;
using testing::expected_once;
using testing::Floats;
using testing::for_each_level;
using testing::Guarded;
using testing::Halves;
using testing::in_sample;
using testing::key_of;
using testing::Scratch;
using testing::Tail;
using testing::TailOperands;
using testing::thread_counts;
using testing::Threads;

std::vector<double> rounded_all(Floats& values) {
  std::vector<double> out;
  for (const float v : values) out.push_back(bf16_to_f32(f32_to_bf16(v)));
  return out;
}

std::vector<double> widened(Halves& values) {
  std::vector<double> out;
  for (const uint16_t v : values) out.push_back(bf16_to_f32(v));
  return out;
}

void fill_bf16(Halves& out, uint32_t seed) {
  Floats wide(out.size());
  testing::fill_uniform(wide, seed);
  for (size_t i = 0; i < out.size(); ++i) out[i] = f32_to_bf16(wide[i]);
}

struct Case {
  int64_t m, n, k;
  bool transposed = false;
  int64_t pad = 0;  // elements between rows beyond their length
};
enum class How { kAsItLies, kPacked, kPlainTiles };

// The rounding of float32 sums: at most one for each product and for each step of the tail, however cores pair them,
// and numbers below 2^-126 that are lost. SME rounds to odd, which loses up to a whole unit where others lose half.
double bound_of(int64_t k, double magnitude) { return testing::sum_bound(k + 4, magnitude) * (has_sme_bf16() ? 2 : 1); }

constexpr double kSteepest = 1.5;  // of the curves

// All other choices of what is bfloat16 in memory give the bits of `out`, which float32 operands gave, rounded where
// the result is: sums are the same. A curve may come short of the last bit of bfloat16 (SiLU's is less exact, and plain
// tiles multiply and add in two steps). `run(operands, scratch)` runs the same way again; x and extra are rounded
// already. `slow`: with x and the result in bfloat16 only. `number`: of the case, for the sample of the choices.
template <class X, class ScratchBytes, class Run>
void check_halves(const X& x, const Floats& extra, bool adds, bool slow, const Activate& act, const Floats& out,
                  int64_t number, const ScratchBytes& bytes, const Run& run) {
  Halves half_x(x.size()), half_extra(extra.size()), half_out(out.size());
  Floats wide(out.size());
  for (size_t i = 0; i < x.size(); ++i) half_x[i] = f32_to_bf16(x[i]);
  for (size_t i = 0; i < extra.size(); ++i) half_extra[i] = f32_to_bf16(extra[i]);
  const bool curved = act.kind == Activation::kSilu || act.kind == Activation::kHardSwish;
  for (int which = slow ? 3 : 1; which < 8; which += slow ? 4 : 1) {
    if (!in_sample(number + which)) continue;
    SCOPED_TRACE(::testing::Message() << "bfloat16: x " << (which & 1) << " result " << (which & 2) << " added "
                                      << (which & 4));
    Bf16Operands o;
    o.a_half = (which & 1) != 0;
    o.a = o.a_half ? static_cast<const void*>(half_x.data()) : x.data();
    o.c_half = (which & 2) != 0;
    o.c = o.c_half ? static_cast<void*>(half_out.data()) : wide.data();
    if ((which & 4) != 0 && !adds) continue;
    if (which != 1 && has_sme_bf16()) continue;  // its engine sums in C: these run on vectors, in another order
    o.residual = (which & 4) != 0 ? half_extra.data() : nullptr;
    for (uint16_t& v : half_out) v = f32_to_bf16(777);
    for (float& v : wide) v = 777;
    Scratch scratch(bytes(o.c_half || o.residual != nullptr));
    run(o, scratch.data());
    for (size_t i = 0; i < out.size(); ++i) {
      if (o.c_half && curved) {
        ASSERT_NEAR(bf16_to_f32(half_out[i]), out[i], std::abs(out[i]) * (0x1p-8f + 0x1p-12f) + 0x1p-120f)
            << "at " << i;
      } else if (o.c_half) {
        const bool lost = std::abs(out[i]) < 0x1p-126f;
        ASSERT_EQ(half_out[i] & (lost ? 0 : 0xFFFF), f32_to_bf16(out[i]) & (lost ? 0 : 0xFFFF)) << "at " << i;
      } else {
        ASSERT_EQ(wide[i], out[i]) << "at " << i;
      }
    }
  }
}

Bf16Operands plain(const float* a, float* c) {
  Bf16Operands o;
  o.a = a;
  o.c = c;
  return o;
}

void round_all(Floats& values) {
  for (float& v : values) v = bf16_to_f32(f32_to_bf16(v));
}

// Every element against a sum in double of the rounded operands.
void check(const Case& c, const Tail& tail, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << "m " << c.m << " n " << c.n << " k " << c.k << " transposed " << c.transposed
                                    << " slots " << slots << " residual " << tail.residual);
  GemmBf16 s;
  s.m = c.m;
  s.n = c.n;
  s.k = c.k;
  s.lda = c.k + c.pad;
  s.ldc = c.n + c.pad;
  Floats a(static_cast<size_t>(c.m * s.lda)), extra(static_cast<size_t>(c.m * s.ldc)), out(extra.size());
  Floats bias(static_cast<size_t>(c.n)), slope(bias.size());
  Halves b(static_cast<size_t>(c.k * c.n));
  testing::fill_uniform(a, 1);
  fill_bf16(b, 2);
  testing::fill_uniform(extra, 3);
  round_all(extra);
  testing::fill_uniform(bias, 4);
  testing::fill_uniform(slope, 5);
  const TailOperands with{bias.data(), slope.data(), extra.data()};
  s.epilogue = epilogue_of(tail, with, s.ldc);
  s.b = Columns16::matrix(b.data(), c.n, c.k, c.transposed);
  const auto& [want, bound] =
      expected_once(with_tail(key_of(c.m, c.n, c.k, c.transposed, c.pad), tail), [&](Expected* e) {
        const std::vector<double> x = rounded_all(a), y = widened(b);
        expect_product(
            {c.m, c.n, c.k, s.ldc}, [&](int64_t i, int64_t p) { return x[static_cast<size_t>(i * s.lda + p)]; },
            [&](int64_t p, int64_t j) { return y[static_cast<size_t>(c.transposed ? j * c.k + p : p * c.n + j)]; },
            tail, with, [&](double magnitude) { return kSteepest * bound_of(c.k, magnitude); }, e);
      });
  Threads threads(slots);
  Halves packed(static_cast<size_t>(bf16_packed_elements(c.n, c.k)));
  pack_bf16(s.b, c.n, c.k, threads.parallel(), packed.data());
  for (const How how : {How::kAsItLies, How::kPacked, How::kPlainTiles}) {
    if (how == How::kPlainTiles && (!testing::on_best_level() || c.m < kFewestTileRows || c.m * c.n * c.k > 300000))
      continue;
    SCOPED_TRACE(how == How::kAsItLies ? "as it lies" : how == How::kPacked ? "packed" : "plain tiles");
    for (float& v : out) v = 777;
    s.packed = how == How::kAsItLies ? nullptr : packed.data();
    Scratch scratch(gemm_bf16_scratch_bytes(c.m, c.n, c.k, slots, s.packed != nullptr));
    const auto run = [&](const GemmBf16& g, const Bf16Operands& o, void* room) {
      if (how == How::kPlainTiles) return gemm_bf16_plain_tiles(g, o, room);
      gemm_bf16(g, o, threads.parallel(), room);
    };
    run(s, plain(a.data(), out.data()), scratch.data());
    for (size_t i = 0; i < out.size(); ++i) {
      if (bound[i] < 0) {
        ASSERT_EQ(out[i], 777) << "between rows, at " << i;
      } else {
        ASSERT_NEAR(out[i], want[i], bound[i]) << "at " << i;
      }
    }
    check_halves(
        a, extra, tail.residual != 0, how == How::kPlainTiles, tail.act, out, c.m + c.n + c.k + tail.residual,
        [&](bool half) { return gemm_bf16_scratch_bytes(c.m, c.n, c.k, slots, s.packed != nullptr, half); },
        [&](const Bf16Operands& o, void* room) {
          GemmBf16 g = s;
          if (o.residual != nullptr) g.epilogue.residual = nullptr;
          run(g, o, room);
        });
  }
}

TEST(GemmBf16, SizesAroundTheTile) {
  printf("amx-bf16: %s\n", has_amx_bf16() ? "yes" : "no");
  for_each_level([](const char* level) {
    printf("%s\n", level);
    for (int64_t m : {1, 2, 5, 7, 8, 13, 15, 16, 17, 29, 33, 47}) {
      for (int64_t n : {1, 4, 15, 16, 17, 31, 32, 33, 65}) {
        for (int64_t k : {1, 2, 3, 31, 32, 33, 70}) {
          if (!in_sample(m + n + k)) continue;
          check({m, n, k}, {}, 1);
          check({m, n, k, true, m % 3}, {}, 1);
        }
      }
    }
  });
}

TEST(GemmBf16, DeepAndWideBlocks) {
  for_each_level([](const char*) {
    for (const int32_t slots : thread_counts()) {
      check({33, 70, 1100}, {{}, true, 1}, slots);
      check({90, 1300, 530}, {{Activation::kRelu}, true, 0}, slots);
      check({900, 49, 1030, true}, {{Activation::kSigmoid}, true, 1}, slots);
      check({300, 49, 1030, true}, {{Activation::kSilu, 1}, true, 1}, slots);
      check({20, 333, 700, false, 3}, {{}, true, 1}, slots);
      check({600, 100, 64}, {}, slots);
      check({1, 3000, 70}, {{Activation::kRelu}, true, 0}, slots);
      check({3, 300, 1700, true}, {{Activation::kRelu}, true, 0}, slots);
      check({40, 40, 11000}, {}, slots);
    }
  });
}

TEST(GemmBf16, Tails) {
  for_each_level([](const char*) {
    for (const Activate& act :
         {Activate{}, Activate{Activation::kRelu}, Activate{Activation::kClip, -0.3f, 1.2f},
          Activate{Activation::kSigmoid}, Activate{Activation::kSilu, 1.7f}, Activate{Activation::kHardSwish}}) {
      for (int residual : {0, 1, 2, 3}) {
        for (float alpha : {1.0f, 0.5f}) {
          check({15, 40, 20}, {act, true, residual, alpha}, 1);
          check({2, 33, 20, true}, {act, true, residual, alpha}, 1);
          check({35, 81, 600}, {act, false, residual, alpha}, 2);
        }
        check({18, 50, 33}, {{}, true, residual, 1, true}, 1);
      }
    }
  });
}

TEST(GemmBf16, NothingToSum) {
  for_each_level([](const char*) {
    check({3, 40, 0}, {{Activation::kRelu}, true, 1}, 1);
    check({40, 40, 0, true}, {{}, true, 1}, 3);
    check({0, 40, 7}, {}, 1);
    check({40, 0, 7}, {}, 1);
  });
}

TEST(GemmBf16, ThreadsDoNotChangeABit) {
  for_each_level([](const char*) {
    for (const Case& c : {Case{500, 96, 700}, Case{20, 700, 700}, Case{1, 3000, 900}}) {
      GemmBf16 s;
      s.m = c.m;
      s.n = s.ldc = c.n;
      s.k = s.lda = c.k;
      Floats a(static_cast<size_t>(c.m * c.k)), one(static_cast<size_t>(c.m * c.n)), three(one.size());
      Halves b(static_cast<size_t>(c.k * c.n)), packed(static_cast<size_t>(bf16_packed_elements(c.n, c.k)));
      testing::fill_uniform(a, 1);
      fill_bf16(b, 2);
      s.b = Columns16::matrix(b.data(), c.n, c.k, false);
      pack_bf16(s.b, c.n, c.k, {}, packed.data());
      s.packed = packed.data();
      Threads threads(3);
      Scratch scratch(gemm_bf16_scratch_bytes(c.m, c.n, c.k, 3, true));
      gemm_bf16(s, plain(a.data(), one.data()), {}, scratch.data());
      gemm_bf16(s, plain(a.data(), three.data()), threads.parallel(), scratch.data());
      ASSERT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
      s.packed = nullptr;
      Scratch more(gemm_bf16_scratch_bytes(c.m, c.n, c.k, 3, false));
      gemm_bf16(s, plain(a.data(), three.data()), threads.parallel(), more.data());
      ASSERT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
    }
  });
}

TEST(GemmBf16, RoundsToNearestEven) {
  for_each_level([](const char* level) {
    for (const int64_t m : {1, 20}) {
      // 1 + 2^-8 lies between 1 and 1 + 2^-7: to even, 1. 1 + 3 * 2^-8 goes up to 1 + 2^-6. Numbers behind decide ties.
      const float x[] = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-20f, -1 - 0x1p-8f, NAN, INFINITY, 3.4e38f};
      const float want[] = {1, 1 + 0x1p-6f, 1 + 0x1p-7f, -1, NAN, INFINITY, INFINITY};
      for (size_t i = 0; i < std::size(x); ++i) {
        std::vector<float> a(static_cast<size_t>(m), x[i]), c(static_cast<size_t>(m) * 3);
        const uint16_t b[3] = {0x3F80, 0x4000, 0xBF80};  // 1, 2, -1
        GemmBf16 s;
        s.m = m;
        s.n = s.ldc = 3;
        s.k = s.lda = 1;
        s.b = Columns16::matrix(b, 3, 1, false);
        Scratch scratch(gemm_bf16_scratch_bytes(m, 3, 1, 1, false));
        gemm_bf16(s, plain(a.data(), c.data()), {}, scratch.data());
        for (size_t r = 0; r < a.size(); ++r) {
          if (std::isnan(want[i])) {
            ASSERT_TRUE(std::isnan(c[3 * r]));
          } else {
            ASSERT_EQ(c[3 * r], want[i]) << level << " " << i;
            ASSERT_EQ(c[3 * r + 1], 2 * want[i]);
            ASSERT_EQ(c[3 * r + 2], -want[i]);
          }
        }
      }
    }
  });
}

TEST(GemmBf16, BoundCoversAllSmallerSizes) {
  std::mt19937 rng(1);
  const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
  for (int i = 0; i < 20000; ++i) {
    const int64_t m = up_to(i % 2 ? 900 : 20), n = up_to(i % 3 ? 3000 : 40), k = up_to(i % 5 ? 900 : 20000);
    const int32_t slots = static_cast<int32_t>(up_to(5));
    for (const bool packed : {false, true}) {
      for (const bool half : {false, true}) {
        const size_t bound = gemm_bf16_scratch_bytes(m, n, k, slots, packed, half);
        for (int j = 0; j < 5; ++j) {
          ASSERT_GE(bound, gemm_bf16_scratch_bytes(up_to(m), up_to(n), up_to(k), slots, packed, half))
              << m << " " << n << " " << k;
        }
      }
    }
    const int64_t rows = m < kFewestTileRows ? m : bf16_block_rows(m, k);
    ASSERT_GE(gemm_bf16_scratch_bytes(m, n, k, 1, true), static_cast<size_t>(rows * bf16_row(k)) * sizeof(float));
  }
}

void check_conv(const ConvF32& shape, int residual, int32_t slots, const Activate& act = {Activation::kRelu}) {
  ConvF32 s = shape;
  SCOPED_TRACE(::testing::Message() << s.in_channels << " -> " << s.out_channels << ", " << s.in[1] << " x " << s.in[2]
                                    << ", kernel " << s.kernel[1] << " x " << s.kernel[2] << ", slots " << slots);
  for (int i = 0; i < 3; ++i) {
    s.out[i] = (s.in[i] + 2 * s.pad[i] - (s.kernel[i] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
  }
  const auto area = [](const int64_t(&e)[3]) { return e[0] * e[1] * e[2]; };
  Floats x(static_cast<size_t>(s.n * area(s.in) * s.in_channels));
  Floats y(static_cast<size_t>(s.n * area(s.out) * s.out_channels)), extra(y.size());
  Floats bias(static_cast<size_t>(s.out_channels));
  const int64_t k = s.in_channels * area(s.kernel);
  Halves w(static_cast<size_t>(s.out_channels * k));
  testing::fill_uniform(x, 1);
  fill_bf16(w, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  round_all(extra);
  s.bias = bias.data();
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.act = act;
  const auto& [want, bound] = expected_once(
      key_of(s.n, s.in_channels, s.out_channels, s.groups, s.in, s.out, s.kernel, s.stride, s.dilation, s.pad, residual,
             act.kind, act.a, act.b),
      [&](Expected* e) {
        e->want.resize(y.size());
        e->bound.resize(y.size(), -1);
        const std::vector<double> xs = rounded_all(x), ws = widened(w);
        size_t at = 0;
        for (int64_t n = 0; n < s.n; ++n) {
          for (int64_t p = 0; p < area(s.out); ++p) {
            for (int64_t o = 0; o < s.out_channels; ++o, ++at) {
              double sum = bias[static_cast<size_t>(o)] + (residual == 1 ? extra[at] : 0), magnitude = 2;
              for (int64_t t = 0; t < area(s.kernel); ++t) {
                const int64_t from[3] = {p / (s.out[1] * s.out[2]), p / s.out[2] % s.out[1], p % s.out[2]};
                const int64_t tap[3] = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1],
                                        t % s.kernel[2]};
                int64_t pixel = 0;
                bool inside = true;
                for (int i = 0; i < 3; ++i) {
                  const int64_t place = from[i] * s.stride[i] - s.pad[i] + tap[i] * s.dilation[i];
                  inside = inside && place >= 0 && place < s.in[i];
                  pixel = pixel * s.in[i] + place;
                }
                if (!inside) continue;
                for (int64_t c = 0; c < s.in_channels; ++c) {
                  const double product = xs[static_cast<size_t>((n * area(s.in) + pixel) * s.in_channels + c)] *
                                         ws[static_cast<size_t>((o * s.in_channels + c) * area(s.kernel) + t)];
                  sum += product;
                  magnitude += std::abs(product);
                }
              }
              e->want[at] = curve(act, sum);
              if (residual == 2) e->want[at] += extra[at];
              e->bound[at] = kSteepest * bound_of(k, magnitude);
            }
          }
        }
      });
  Halves packed(static_cast<size_t>(bf16_packed_elements(s.out_channels, k)));
  pack_bf16(Columns16::filters(w.data(), s.in_channels, area(s.kernel)), s.out_channels, k, {}, packed.data());
  Threads threads(slots);
  for (const int way : {0, 1, 2}) {
    if (way == 2 && !testing::on_best_level()) continue;
    const bool ahead = way != 0;
    SCOPED_TRACE(way == 0 ? "as they lie" : way == 1 ? "packed" : "plain tiles");
    for (float& v : y) v = 777;
    Scratch scratch(conv_bf16_scratch_bytes(s, slots, ahead));
    const auto conv = way == 2 ? conv_bf16_plain_tiles : conv_bf16;
    const uint16_t* const panels = ahead ? packed.data() : nullptr;
    conv(s, plain(x.data(), y.data()), w.data(), panels, threads.parallel(), scratch.data());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], bound[i]) << "at " << i;
    check_halves(
        x, extra, residual != 0, way == 2, act, y, s.out_channels + s.in[1] + s.in[2] + residual,
        [&](bool half) { return conv_bf16_scratch_bytes(s, slots, ahead, half); },
        [&](const Bf16Operands& o, void* room) {
          ConvF32 one = s;
          if (o.residual != nullptr) one.residual = nullptr;
          conv(one, o, w.data(), panels, threads.parallel(), room);
        });
  }
}

ConvF32 conv(int64_t n, int64_t c, int64_t o, int64_t h, int64_t w, int64_t kernel, int64_t stride, int64_t pad,
             int64_t dilation = 1) {
  ConvF32 s;
  s.n = n;
  s.in_channels = c;
  s.out_channels = o;
  s.in[1] = h;
  s.in[2] = w;
  for (int i = 1; i < 3; ++i) {
    s.kernel[i] = kernel;
    s.stride[i] = stride;
    s.pad[i] = pad;
    s.dilation[i] = dilation;
  }
  return s;
}

TEST(ConvBf16, WindowsAndBorders) {
  for_each_level([](const char*) {
    for (const int32_t slots : thread_counts()) {
      for (int residual : {0, 1, 2}) {
        for (const int64_t kernel : {1, 3}) check_conv(conv(1, 0, 33, 5, 6, kernel, 1, 0), residual, slots);
        check_conv(conv(1, 16, 33, 9, 7, 1, 1, 0), residual, slots);
        check_conv(conv(2, 5, 17, 9, 7, 3, 1, 1), residual, slots);
      }
      check_conv(conv(1, 3, 32, 30, 31, 3, 2, 1), 0, slots);
      check_conv(conv(2, 3, 20, 23, 23, 7, 2, 3), 0, slots);
      check_conv(conv(1, 40, 40, 14, 14, 1, 2, 0), 1, slots);
      check_conv(conv(1, 6, 9, 12, 12, 3, 1, 2, 2), 0, slots);
      check_conv(conv(1, 6, 9, 3, 3, 5, 1, 4), 0, slots);
      check_conv(conv(1, 64, 40, 1, 1, 1, 1, 0), 0, slots);
      check_conv(conv(3, 150, 70, 20, 20, 3, 1, 1), 1, slots);
      for (int residual : {0, 1, 2}) check_conv(conv(2, 32, 40, 12, 17, 3, 1, 1), residual, slots);  // lines
      check_conv(conv(1, 64, 33, 7, 7, 3, 1, 1), 1, slots);
      check_conv(conv(1, 32, 20, 5, 18, 5, 1, 4), 0, slots);
      check_conv(conv(1, 96, 70, 40, 9, 3, 1, 0), 2, slots);
    }
  });
}

// Windows that are read from lines where a core multiplies bfloat16 in vectors: filters that fill whole vectors, one or
// part of one, steps and taps that differ by axis, and more lines than have room at a time.
TEST(ConvBf16, Lines) {
  for_each_level([](const char*) {
    for (const int64_t filters : {16, 33, 80}) {
      for (const int residual : {0, 1, 2}) check_conv(conv(2, 16, filters, 9, 31, 3, 1, 1), residual, 1);
      check_conv(conv(1, 16, filters, 21, 20, 3, 2, 1), 1, 3);
    }
    ConvF32 s = conv(1, 8, 17, 25, 19, 3, 1, 1);
    s.kernel[1] = 5;
    s.dilation[1] = 2;
    s.stride[2] = 2;
    check_conv(s, 0, 2);
    check_conv(conv(1, 128, 10, 66, 40, 3, 1, 1), 1, 1);
    check_conv(conv(1, 16, 48, 6, 7, 3, 1, 1), 1, 1, {Activation::kSigmoid});
    for (const Activation act : {Activation::kSilu, Activation::kHardSwish})
      check_conv(conv(1, 16, 24, 6, 30, 3, 1, 1), 1, 1, {act, 1});
  });
}

// Patches that are put together from lines: steps and taps that differ by axis, several blocks of rows, and a line that
// has no room beside them.
TEST(ConvBf16, PatchesOfLines) {
  for_each_level([](const char*) {
    ConvF32 s = conv(2, 3, 17, 41, 30, 3, 1, 1);
    s.stride[1] = 3;
    s.dilation[1] = 2;
    s.kernel[2] = 5;
    check_conv(s, 2, 1);
    check_conv(conv(1, 16, 16, 30, 31, 3, 1, 1), 2, 3, {Activation::kSigmoid});
    check_conv(conv(1, 32, 40, 12, 37, 3, 1, 1), 1, 1, {Activation::kSigmoid});
    for (const Activation act : {Activation::kSilu, Activation::kHardSwish}) {
      for (int residual : {0, 1, 2}) check_conv(conv(2, 32, 70, 12, 17, 3, 1, 1), residual, 1, {act, 1});
    }
    check_conv(conv(1, 3, 4, 3, 3700, 3, 1, 1), 0, 1);
  });
}

}  // namespace
}  // namespace vireo::cpu

#include "delegates/cpu/kernels/conv/conv.h"

#include <string.h>

#include "delegates/cpu/kernels/conv/direct.h"
#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

struct Case {
  int64_t n, c, o, groups;
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
};

ConvF32 shape_of(const Case& z, bool transpose) {
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
    const int64_t reach = (z.kernel[i] - 1) * z.dilation[i] + 1;
    s.out[i] = transpose ? (z.in[i] - 1) * z.stride[i] + reach - z.pad[i] - z.pad_end[i]
                         : (z.in[i] + z.pad[i] + z.pad_end[i] - reach) / z.stride[i] + 1;
  }
  return s;
}

int64_t area(const int64_t (&v)[3]) { return v[0] * v[1] * v[2]; }

// Both directions visit the same triples (input, tap, output); `sum` and `magnitude` are indexed like y.
void plain(const ConvF32& s, bool transpose, const Floats& x, const Floats& w, std::vector<double>* sum,
           std::vector<double>* magnitude) {
  const int64_t per_in = s.in_channels / s.groups, per_out = s.out_channels / s.groups, taps = area(s.kernel);
  const auto& big = transpose ? s.out : s.in;
  const auto& small = transpose ? s.in : s.out;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t o = 0; o < per_out; ++o) {
        for (int64_t i = 0; i < per_in; ++i) {
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t k[3] = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
            for (int64_t p = 0; p < area(small); ++p) {
              const int64_t q[3] = {p / (small[1] * small[2]), p / small[2] % small[1], p % small[2]};
              int64_t at = 0;
              bool inside = true;
              for (int a = 0; a < 3; ++a) {
                const int64_t b = q[a] * s.stride[a] - s.pad[a] + k[a] * s.dilation[a];
                inside = inside && b >= 0 && b < big[a];
                at = at * big[a] + b;
              }
              if (!inside) continue;
              const int64_t in_plane = n * s.in_channels + g * per_in + i;
              const int64_t out_plane = n * s.out_channels + g * per_out + o;
              const size_t from = static_cast<size_t>(in_plane * area(s.in) + (transpose ? p : at));
              const size_t to = static_cast<size_t>(out_plane * area(s.out) + (transpose ? at : p));
              const size_t weight = static_cast<size_t>(transpose ? ((g * per_in + i) * per_out + o) * taps + t
                                                                  : ((g * per_out + o) * per_in + i) * taps + t);
              const double product = static_cast<double>(x[from]) * w[weight];
              (*sum)[to] += product;
              (*magnitude)[to] += std::abs(product);
            }
          }
        }
      }
    }
  }
}

// `residual`: 0 none, 1 added, 2 added last, 3 multiplied last. `slopes`: a PRelu in place of `act`.
void check(const Case& z, bool transpose, int32_t slots, const Activate& act = {}, int residual = 0,
           bool slopes = false) {
  const ConvF32 base = shape_of(z, transpose);
  SCOPED_TRACE(::testing::Message() << (transpose ? "transpose " : "") << "n " << z.n << " c " << z.c << " o " << z.o
                                    << " g " << z.groups << " in " << z.in[0] << "x" << z.in[1] << "x" << z.in[2]
                                    << " k " << z.kernel[0] << "x" << z.kernel[1] << "x" << z.kernel[2] << " s "
                                    << z.stride[1] << "," << z.stride[2] << " d " << z.dilation[2] << " p " << z.pad[1]
                                    << "," << z.pad[2] << " slots " << slots);
  const size_t out_count = static_cast<size_t>(base.n * base.out_channels * area(base.out));
  Floats x(static_cast<size_t>(base.n * base.in_channels * area(base.in)));
  Floats w(static_cast<size_t>(base.in_channels * base.out_channels / base.groups * area(base.kernel)));
  Floats bias(static_cast<size_t>(base.out_channels)), extra(out_count), y(out_count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(w, 2);
  testing::fill_uniform(bias, 3);
  testing::fill_uniform(extra, 4);
  const auto& [sum, magnitude] =
      testing::expected_once(testing::key_of(base.n, base.in_channels, base.out_channels, base.groups, base.in,
                                             base.out, base.kernel, base.stride, base.dilation, base.pad, transpose),
                             [&](testing::Expected* e) {
                               e->want.resize(out_count);
                               e->bound.resize(out_count, 3.0);
                               plain(base, transpose, x, w, &e->want, &e->bound);
                             });
  ConvF32 s = base;
  s.bias = bias.data();
  s.act = act;
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.residual_times = residual == 3;
  s.slope = slopes ? bias.data() : nullptr;
  testing::Scratch scratch(transpose ? conv_transpose_f32_scratch_bytes(s, slots, Sizes::kFixed)
                                     : conv_f32_scratch_bytes(s, slots, Sizes::kFixed));
  testing::Threads threads(slots);
  (transpose ? conv_transpose_f32 : conv_f32)(s, x.data(), w.data(), y.data(), threads.parallel(), scratch.data());
  // Packed filters: the same sums.
  const size_t packed_floats = transpose ? transposed_f32_packed_floats(s) : 0;
  if (packed_floats != 0) {
    Floats packed(packed_floats), again(out_count);
    ASSERT_EQ(packed.size(), w.size());
    const int64_t rows = s.out_channels / s.groups * area(s.kernel), depth = s.in_channels / s.groups;
    for (int64_t i = 0; i < s.in_channels * rows; ++i)
      packed[static_cast<size_t>((i / rows / depth * rows + i % rows) * depth + i / rows % depth)] =
          w[static_cast<size_t>(i)];
    s.packed = packed.data();
    testing::Scratch room(conv_transpose_f32_scratch_bytes(s, slots, Sizes::kFixed, true));
    conv_transpose_f32(s, x.data(), w.data(), again.data(), threads.parallel(), room.data());
    ASSERT_EQ(memcmp(y.data(), again.data(), out_count * sizeof(float)), 0);
  }
  const int64_t terms = base.in_channels / base.groups * area(base.kernel) + 4;
  for (size_t i = 0; i < out_count; ++i) {
    const size_t channel = i / static_cast<size_t>(area(base.out)) % static_cast<size_t>(base.out_channels);
    double want = sum[i] + bias[channel] + (residual == 1 ? extra[i] : 0);
    if (act.kind == Activation::kRelu) want = std::max(want, 0.0);
    if (act.kind == Activation::kClip) want = std::min(std::max(want, double{act.a}), double{act.b});
    if (act.kind == Activation::kHardSwish) want *= std::min(std::max(want / 6 + 0.5, 0.0), 1.0);
    if (slopes && want < 0) want *= bias[channel];
    if (residual == 2) want += extra[i];
    if (residual == 3) want *= extra[i];
    // Hard-swish has slope at most 1.5 and adds three roundings of its own value.
    const double bound = testing::sum_bound(terms, magnitude[i]) * (act.kind == Activation::kHardSwish ? 4 : 1);
    ASSERT_NEAR(y[i], want, bound) << "element " << i;
  }
}

Case flat(int64_t n, int64_t c, int64_t o, int64_t g, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t s,
          int64_t d, int64_t p) {
  return {n, c, o, g, {1, h, w}, {1, kh, kw}, {1, s, s}, {1, d, d}, {0, p, p}, {0, p, p}};
}

TEST(Conv, Pointwise) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check(flat(1, 16, 24, 1, 9, 11, 1, 1, 1, 1, 0), false, slots, {Activation::kClip, 0, 6}, 0);
      check(flat(2, 70, 130, 1, 7, 7, 1, 1, 1, 1, 0), false, slots, {Activation::kRelu}, 1);
      check(flat(1, 70, 33, 1, 1, 1, 1, 1, 1, 1, 0), false, slots, {Activation::kHardSwish}, 1);
      check(flat(6, 35, 40, 1, 1, 1, 1, 1, 1, 1, 0), false, slots, {Activation::kRelu}, 2);
      check(flat(1, 33, 100, 1, 14, 14, 1, 1, 1, 1, 0), false, slots, {}, 2);
      check(flat(1, 8, 40, 1, 15, 13, 1, 1, 2, 1, 0), false, slots, {Activation::kHardSwish}, 0);
      check(flat(1, 600, 70, 1, 5, 5, 1, 1, 1, 1, 0), false, slots, {Activation::kHardSwish}, 1);
    }
  });
}

TEST(Conv, Windows) {
  for_each_level([](const char*) {
    for (int64_t width : {1, 2, 5, 7, 14, 16, 17, 31, 33, 40}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t pad : {0, 1, 2}) {
          if (width + 2 * pad < 3) continue;
          check(flat(1, 3, 5, 1, 6, width, 3, 3, stride, 1, pad), false, 1);
        }
        if (width >= 5) check(flat(1, 2, 3, 1, 8, width, 3, 3, stride, 2, 1), false, 1);
      }
    }
  });
}

TEST(Conv, ModelLayers) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check(flat(1, 3, 32, 1, 40, 40, 3, 3, 2, 1, 1), false, slots, {Activation::kRelu});
      check(flat(1, 3, 16, 1, 30, 30, 7, 7, 2, 1, 3), false, slots, {Activation::kRelu});
      check(flat(1, 64, 64, 1, 7, 7, 3, 3, 1, 1, 1), false, slots, {Activation::kRelu}, 1);
      check(flat(1, 70, 96, 1, 14, 14, 3, 3, 1, 1, 1), false, slots);
      check(flat(2, 8, 12, 4, 9, 9, 3, 3, 1, 1, 1), false, slots);
      check(flat(1, 1, 64, 1, 49, 10, 10, 4, 2, 1, 3), false, slots, {Activation::kRelu});
      check(flat(3, 4, 1, 1, 20, 20, 3, 3, 1, 1, 1), false, slots);
    }
  });
}

TEST(Conv, OtherRanksAndPads) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({1, 4, 6, 1, {1, 1, 50}, {1, 1, 5}, {1, 1, 2}, {1, 1, 1}, {0, 0, 2}, {0, 0, 1}}, false, slots);
      check({2, 4, 6, 2, {1, 1, 50}, {1, 1, 7}, {1, 1, 1}, {1, 1, 3}, {0, 0, 0}, {0, 0, 9}}, false, slots);
      check({1, 2, 5, 1, {5, 6, 7}, {3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}}, false, slots);
      check({1, 4, 4, 4, {5, 6, 7}, {3, 2, 3}, {2, 1, 1}, {1, 1, 2}, {1, 0, 2}, {0, 1, 2}}, false, slots);
      check({1, 2, 3, 1, {1, 6, 7}, {1, 3, 2}, {1, 1, 3}, {1, 2, 1}, {0, 2, 0}, {0, 1, 1}}, false, slots);
      check({1, 2, 3, 1, {1, 2, 2}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 4, 4}, {0, 3, 3}}, false, slots);
    }
  });
}

// Every cut of filters and of a line's vectors, on any instruction set.
TEST(Conv, FewFilters) {
  for_each_level([](const char*) {
    for (int64_t filters : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}) {
      for (int64_t width : {16, 31, 48, 64, 79, 96, 112, 128, 144}) {
        const auto z = flat(1, 2, filters, 1, 3, width, 2, 3, 1, 1, 1);
        ASSERT_TRUE(conv_direct_f32_serves(shape_of(z, false)));
        check(z, false, 1, {Activation::kClip, -0.5f, 0.5f});
      }
    }
  });
}

TEST(Conv, FewFiltersAnyWindow) {
  for_each_level([](const char*) {
    std::mt19937 rng(7);
    const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
    for (int i = 0, served = 0; served < 150; ++i) {
      ASSERT_LT(i, 2000);
      Case z{up_to(2),
             0,
             0,
             up_to(3),
             {1, up_to(9), up_to(70)},
             {1, up_to(5), up_to(7)},
             {1, up_to(3), up_to(5)},
             {1, up_to(3), up_to(3)},
             {0, up_to(7) - 1, up_to(9) - 1},
             {0, up_to(7) - 1, up_to(9) - 1}};
      z.c = z.groups * (up_to(3) + 1);
      z.o = z.groups * up_to(6);
      const ConvF32 s = shape_of(z, false);
      if (s.out[1] < 1 || s.out[2] < 1 || !conv_direct_f32_serves(s)) continue;
      ++served;
      check(z, false, i % 2 == 0 ? 1 : 3, {}, i % 4, i % 3 == 0);
    }
  });
}

// Short lines go as one; pieces of them where channels are many.
TEST(Conv, FewFiltersShortLines) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      for (int residual : {0, 1, 2, 3}) {
        for (const Case& z : {flat(1, 256, 6, 1, 4, 5, 3, 3, 1, 1, 1), flat(1, 5, 16, 1, 40, 40, 8, 8, 4, 1, 0),
                              flat(2, 24, 12, 2, 19, 21, 3, 3, 2, 1, 1), flat(1, 40, 3, 1, 60, 9, 5, 3, 1, 2, 2),
                              flat(1, 700, 2, 1, 30, 7, 3, 3, 1, 1, 1), flat(1, 3, 9, 1, 30, 33, 7, 5, 3, 1, 2)}) {
          ASSERT_TRUE(conv_direct_f32_serves(shape_of(z, false))) << z.c << " of " << z.in[2];
          check(z, false, slots, residual == 0 ? Activate{Activation::kRelu} : Activate{}, residual, residual == 2);
        }
      }
    }
  });
}

// Lines that are cut into pieces, by columns and by what a core's cache holds of all channels.
TEST(Conv, FewFiltersLongLines) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      for (int64_t stride : {1, 2, 3, 4}) {
        const Case line{1,         1,          1,        1, {1, 1, 1100 * stride}, {1, 1, 40}, {1, 1, stride},
                        {1, 1, 1}, {0, 0, 21}, {0, 0, 3}};
        ASSERT_TRUE(conv_direct_f32_serves(shape_of(line, false)));
        check(line, false, slots, {Activation::kRelu});
      }
      check(flat(1, 40, 2, 1, 30, 130, 3, 3, 1, 2, 2), false, slots, {Activation::kHardSwish}, 1);
      check(flat(2, 30, 6, 2, 40, 150, 5, 3, 2, 1, 1), false, slots, {}, 3, true);
    }
  });
}

// Planes with a depth: what lies in front of the first plane and behind the last one, tiles at lines' ends.
TEST(Conv, FewFiltersDepth) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      for (const Case& z : {Case{1, 5, 5, 1, {9, 12, 40}, {3, 3, 3}, {1, 1, 1}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}},
                            Case{2, 4, 6, 2, {7, 9, 23}, {2, 3, 5}, {2, 1, 2}, {1, 2, 1}, {3, 0, 4}, {0, 1, 2}},
                            Case{1, 3, 9, 1, {6, 5, 66}, {4, 1, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}, {2, 0, 0}},
                            Case{1, 2, 3, 1, {3, 20, 33}, {3, 3, 3}, {3, 2, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}}) {
        ASSERT_TRUE(conv_direct_f32_serves(shape_of(z, false))) << z.c << " of " << z.in[2];
        for (int residual : {0, 1}) check(z, false, slots, {Activation::kRelu}, residual);
      }
    }
  });
}

// Patches of every kind of run: zeros at either end, lines that go on in memory, columns apart, channels that a block
// of k cuts.
TEST(Conv, ManyFiltersAnyWindow) {
  for_each_level([](const char*) {
    std::mt19937 rng(11);
    const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
    for (int i = 0, served = 0; served < 60; ++i) {
      ASSERT_LT(i, 2000);
      Case z{up_to(2),
             up_to(i % 5 == 0 ? 90 : 9),
             64 + up_to(9),
             1,
             {i % 3 == 0 ? up_to(3) : 1, up_to(9), up_to(20)},
             {i % 3 == 0 ? up_to(2) : 1, up_to(7), up_to(4)},
             {1, up_to(3), up_to(3)},
             {1, up_to(2), up_to(3)},
             {0, up_to(4) - 1, up_to(4) - 1},
             {0, up_to(4) - 1, up_to(4) - 1}};
      const ConvF32 s = shape_of(z, false);
      if (s.out[0] < 1 || s.out[1] < 1 || s.out[2] < 1 || area(s.kernel) < 2) continue;
      ++served;
      check(z, false, i % 2 == 0 ? 1 : 3, {}, i % 4, i % 3 == 0);
    }
    check(flat(1, 256, 68, 1, 16, 18, 13, 1, 1, 1, 0), false, 1, {Activation::kRelu});
  });
}

// Lines of one element.
TEST(Conv, Columns) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check({1, 20, 70, 1, {1, 60, 1}, {1, 5, 1}, {1, 1, 1}, {1, 1, 1}, {0, 2, 0}, {0, 1, 0}}, false, slots, {}, 1);
      check({2, 6, 4, 2, {1, 60, 1}, {1, 3, 1}, {1, 2, 1}, {1, 2, 1}, {0, 2, 0}, {0, 2, 0}}, false, slots, {}, 0, true);
      check({1, 6, 6, 6, {1, 60, 1}, {1, 3, 1}, {1, 1, 3}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}}, false, slots);
      check({1, 3, 5, 1, {9, 8, 1}, {3, 2, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 0}}, false, slots);
      check({1, 7, 9, 1, {4, 8, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, false, slots);
    }
  });
}

TEST(Conv, Transpose) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      check(flat(1, 5, 7, 1, 6, 9, 3, 3, 2, 1, 1), true, slots, {Activation::kRelu});
      check(flat(2, 8, 6, 2, 5, 7, 2, 2, 2, 1, 0), true, slots, {}, 1);
      check(flat(1, 40, 33, 1, 20, 30, 4, 4, 2, 1, 1), true, slots, {Activation::kHardSwish});
      check(flat(1, 3, 2, 1, 4, 5, 3, 3, 1, 2, 2), true, slots, {}, 2);
      check({1, 3, 4, 1, {1, 1, 17}, {1, 1, 5}, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}, {0, 0, 2}}, true, slots);
      check({1, 2, 3, 1, {3, 4, 3}, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {0, 1, 1}, {1, 0, 0}}, true, slots);
    }
  });
}

TEST(Conv, SlopesAndFactors) {
  for_each_level([](const char*) {
    for (const int32_t slots : testing::thread_counts()) {
      for (int residual : {0, 1, 2, 3}) {
        for (bool slopes : {false, true}) {
          check(flat(1, 16, 24, 1, 9, 11, 1, 1, 1, 1, 0), false, slots, {}, residual, slopes);
          check(flat(2, 8, 12, 4, 9, 9, 3, 3, 1, 1, 1), false, slots, {}, residual, slopes);
          check(flat(2, 6, 6, 6, 20, 9, 3, 3, 1, 1, 1), false, slots, {}, residual, slopes);
          check(flat(2, 8, 6, 2, 5, 7, 2, 2, 2, 1, 0), true, slots, {}, residual, slopes);
        }
        check(flat(1, 3, 32, 1, 20, 20, 3, 3, 2, 1, 1), false, slots, {Activation::kRelu}, residual);
        check(flat(1, 6, 6, 6, 20, 9, 3, 3, 1, 1, 1), false, slots, {Activation::kClip, 0, 6}, residual);
        check(flat(1, 5, 7, 1, 6, 9, 3, 3, 2, 1, 1), true, slots, {Activation::kRelu}, residual);
      }
    }
  });
}

// Strips of a large image keep what their neighbours meet; strides that are joined and not; channels so few that
// nothing is multiplied, and pixels so few that they are rows.
TEST(ConvTranspose, StripsStridesAndEdges) {
  const Activate relu{Activation::kRelu};
  for_each_level([&](const char*) {
    for (const int32_t slots : {1, 9}) {
      for (const int64_t stride : {1, 2, 3, 4, 5, 8}) {
        check(flat(1, 3, 20, 1, 40, 20, 5, 5, stride, 1, 2), true, slots, relu, slots % 2);
        check({1, 5, 24, 1, {1, 1, 700}, {1, 1, 7}, {1, 1, stride}, {1, 1, 2}, {0, 0, 3}, {0, 0, 1}}, true, slots, relu,
              1);
        check({1, 4, 24, 1, {1, 300, 1}, {1, 7, 1}, {1, stride, 1}, {1, 1, 1}, {0, 3, 0}, {0, 1, 0}}, true, slots);
        check(flat(1, 4, 4, 4, 9, 21, 4, 4, stride, 1, 1), true, slots, relu);     // one channel a filter
        check(flat(1, 12, 3, 1, 1, 1, 4, 4, stride, 1, 0), true, slots, relu, 1);  // one pixel
        check(flat(2, 12, 3, 1, 2, 3, 4, 4, stride, 2, 1), true, slots);           // few
        check(flat(1, 4, 9, 1, 20, 3, 3, 4, stride, 1, 1), true, slots, relu, 1);  // short lines
        check(flat(1, 2, 3, 1, 7, 300, 3, 3, stride, 1, 1), true, slots, {}, 2);   // lines in pieces
      }
      check(flat(1, 9, 2, 1, 96, 64, 9, 9, 3, 1, 4), true, slots, relu, 3);
      check({1, 4, 3, 1, {1, 1, 40}, {1, 5, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}}, true, slots, relu, 1);
      check({1, 6, 4, 1, {3, 4, 3}, {2, 3, 3}, {2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}}, true, slots, relu, 1);
      check({2, 6, 4, 2, {3, 4, 5}, {2, 3, 3}, {2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}}, true, slots, relu, 1);
    }
  });
}

TEST(Conv, BoundCoversAllSmallerImages) {
  std::mt19937 rng(1);
  const auto up_to = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)) + 1; };
  for (int i = 0; i < 5000; ++i) {
    const bool transpose = i % 3 == 0;
    const int64_t groups = i % 4 == 0 ? 8 : 1, kernel = up_to(5), stride = up_to(3);
    const int64_t channels = groups * (i % 8 == 0 ? 1 : up_to(60)), outputs = groups * up_to(i % 5 == 0 ? 9 : 80);
    const bool narrow = i % 7 == 0;
    const int32_t slots = static_cast<int32_t>(up_to(4));
    auto z = flat(1, channels, outputs, groups, 1, 1, kernel, kernel, stride, 1, transpose ? 0 : kernel / 2);
    if (narrow) {
      z.kernel[2] = 1;
      z.pad[2] = z.pad_end[2] = 0;
    }
    const auto at = [&](int64_t n, int64_t h, int64_t w) {
      z.n = n;
      z.in[1] = h;
      z.in[2] = w;
      return shape_of(z, transpose);
    };
    const bool packed = i % 2 == 0;
    const auto bytes = [&](const ConvF32& of, int32_t threads, Sizes sizes) {
      return transpose ? conv_transpose_f32_scratch_bytes(of, threads, sizes, packed)
                       : conv_f32_scratch_bytes(of, threads, sizes);
    };
    // Windows of one column let lines shrink to one element.
    const int64_t n = up_to(4), h = up_to(200) + 4, w = up_to(400) + 4, least = narrow ? 0 : 4;
    const size_t bound = bytes(at(n, h, w), slots, Sizes::kUpperBounds);
    for (int j = 0; j < 10; ++j) {
      const int64_t n1 = up_to(n), h1 = up_to(h - 4) + 4, w1 = j == 0 ? least + 1 : up_to(w - least) + least;
      ASSERT_GE(bound, bytes(at(n1, h1, w1), slots, Sizes::kFixed))
          << "c " << channels << " o " << outputs << " g " << groups << " k " << kernel << " s " << stride << " slots "
          << slots << ": " << n << "x" << h << "x" << w << " and " << n1 << "x" << h1 << "x" << w1
          << (transpose ? " transpose" : "");
    }
  }
}

// Filters of two channels, or two planes, at their bounds, of one in a run.
TEST(Conv, BoundCoversDepthwise) {
  for (const int64_t stride : {1, 2}) {
    const ConvF32 less = shape_of(flat(1, 16, 16, 16, 600, 600, 3, 3, stride, 1, 1), false);
    ConvF32 wide = less, deep = less;
    wide.in_channels = 32;
    deep.in[0] = deep.kernel[0] = 2;
    for (const int32_t slots : {1, 4}) {
      const size_t bytes = conv_f32_scratch_bytes(less, slots);
      EXPECT_GE(conv_f32_scratch_bytes(wide, slots, Sizes::kUpperBounds), bytes);
      EXPECT_GE(conv_f32_scratch_bytes(deep, slots, Sizes::kUpperBounds), bytes);
    }
  }
}

TEST(Conv, NothingToSum) {
  for_each_level([](const char*) {
    for (const int64_t kernel : {1, 3}) {
      check(flat(2, 0, 4, 1, 5, 5, kernel, kernel, 1, 1, 0), false, 1, {Activation::kRelu});
      check(flat(1, 0, 4, 2, 5, 40, kernel, kernel, 1, 1, 1), false, 3);
      check(flat(3, 0, 130, 1, 1, 1, kernel, kernel, 1, 1, 1), false, 1);
      check(flat(1, 0, 4, 2, 5, 5, kernel, kernel, 2, 1, 0), true, 1, {Activation::kRelu});
    }
  });
}

TEST(Conv, Empty) {
  ConvF32 s = shape_of(flat(0, 3, 4, 1, 5, 5, 3, 3, 1, 1, 1), false);
  EXPECT_EQ(conv_f32_scratch_bytes(s, 2), 0u);
  conv_f32(s, nullptr, nullptr, nullptr, Parallel{}, nullptr);
  conv_transpose_f32(s, nullptr, nullptr, nullptr, Parallel{}, nullptr);
}

}  // namespace
}  // namespace vireo::cpu

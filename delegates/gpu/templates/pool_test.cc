// Pools and depthwise convolutions in both layouts, against plain loops.
#include "delegates/gpu/templates/pool.h"

#include <gtest/gtest.h>
#include <math.h>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::pool_test {
namespace {

Expression identity(DType type, const View& y) {
  Expression e;
  Input in;
  in.dtype = type;
  in.given = true;
  e.inputs = {in};
  e.outputs = {{0, y}};
  return e;
}

ImageView image(bool channels_last, int64_t channels, const std::array<int64_t, 3>& extent) {
  ImageView v;
  const int64_t all = extent[0] * extent[1] * extent[2], step = channels_last ? channels : 1;
  v.image = channels * all;
  v.channel = channels_last ? 1 : all;
  v.spatial = {extent[1] * extent[2] * step, extent[2] * step, step};
  return v;
}
View as_view(const ImageView& v) {
  View out;
  out.strides = {v.image, v.spatial[0], v.spatial[1], v.spatial[2], v.channel};
  return out;
}

Window windows(int which) {
  Window w;  // 3 x 2, padded, in [1, 8, 7]
  w.in = {1, 8, 7};
  w.kernel = {1, 3, 2};
  w.pad = {0, 1, 1};
  w.out = {1, 8, 8};
  if (which == 1) {  // strided and dilated; the last window hangs over the end
    w.stride = {1, 3, 2};
    w.dilation = {1, 1, 2};
    w.out = {1, 4, 4};
  } else if (which == 2) {  // three axes, whole
    w = Window();
    w.in = {3, 4, 5};
    w.kernel = {2, 2, 2};
    w.out = {2, 3, 4};
  }
  return w;
}

// f(index into x, tap) for every tap of output place `o` inside the input; counts taps that lie in it or its padding.
template <class F>
int for_taps_inside(const Window& w, const ImageView& x, int64_t o, const F& f) {
  const int64_t at[] = {o / (w.out[1] * w.out[2]), o / w.out[2] % w.out[1], o % w.out[2]};
  int padded = 0;
  for (int64_t t = 0; t < w.taps(); ++t) {
    const int64_t tap[] = {t / (w.kernel[1] * w.kernel[2]), t / w.kernel[2] % w.kernel[1], t % w.kernel[2]};
    int64_t index = 0;
    bool inside = true, counts = true;
    for (size_t a = 0; a < 3; ++a) {
      const int64_t z = at[a] * w.stride[a] + tap[a] * w.dilation[a] - w.pad[a];
      inside = inside && z >= 0 && z < w.in[a];
      counts = counts && z < w.in[a] + w.pad[a];  // the same padding behind
      index += z * x.spatial[a];
    }
    padded += counts ? 1 : 0;
    if (inside) f(index, t);
  }
  return padded;
}

TEST(Pool, MaximaAndAverages) {
  Trials trials;
  int turn = 0;
  for (int which = 0; which < 3; ++which) {
    for (const Pool kind : {Pool::kMax, Pool::kAverage, Pool::kAverageAll}) {
      const bool channels_last = turn++ % 2 == 0;
      PoolProblem p;
      p.pool = kind;
      p.images = 2;
      p.channels = 3;
      p.window = windows(which);
      p.pad_end = p.window.pad;
      p.x = image(channels_last, 3, p.window.in);
      const ImageView y = image(channels_last, 3, p.window.out);
      p.epilogue = identity(DType::kF32, as_view(y));
      const int64_t in = p.window.in[0] * p.window.in[1] * p.window.in[2], places = p.window.places();
      std::vector<float> x = random_floats(static_cast<size_t>(6 * in), 1);
      x[7] = NAN;
      x[11] = -INFINITY;
      const Target target = turn % 3 == 0 ? plain_target() : rich_target();
      trials.add("pool", make_pool(p, choose_pool(p, target), target), target,
                 {bytes_of(x), Bytes(static_cast<size_t>(6 * places * 4), 1)}, [=](const std::vector<Bytes>& out) {
                   const std::vector<float> got = as<float>(out[1]);
                   for (int64_t at = 0; at < 6 * places; ++at) {
                     const int64_t i = at / (3 * places), c = at / places % 3, o = at % places;
                     double most = -INFINITY, sum = 0;
                     int inside = 0;
                     const int padded = for_taps_inside(p.window, p.x, o, [&](int64_t index, int64_t) {
                       const double v =
                           static_cast<double>(x[static_cast<size_t>(i * p.x.image + c * p.x.channel + index)]);
                       most = v > most || isnan(v) ? v : most;
                       sum += v;
                       ++inside;
                     });
                     const double wanted = kind == Pool::kMax ? most : sum / (kind == Pool::kAverage ? inside : padded);
                     const int64_t where[] = {o / (p.window.out[1] * p.window.out[2]),
                                              o / p.window.out[2] % p.window.out[1], o % p.window.out[2]};
                     const size_t to = static_cast<size_t>(i * y.image + c * y.channel + where[0] * y.spatial[0] +
                                                           where[1] * y.spatial[1] + where[2] * y.spatial[2]);
                     ASSERT_LE(isinf(wanted) ? (static_cast<double>(got[to]) == wanted ? 0 : 1e9)
                                             : ulps_apart(got[to], wanted) * (fabs(wanted) < 1e-2 ? 0.01 : 1),
                               8)
                         << wanted;
                   }
                 });
    }
  }
}

TEST(Pool, MaximaOfCodes) {
  Trials trials;
  PoolProblem p;
  p.channels = 4;
  p.window.in = {1, 1, 9};
  p.window.kernel = {1, 1, 3};
  p.window.pad = {0, 0, 3};  // the first window sees nothing
  p.window.out = {1, 1, 10};
  p.x_dtype = DType::kI8;
  p.x = image(true, 4, p.window.in);
  p.epilogue = identity(DType::kI8, as_view(image(true, 4, p.window.out)));
  EXPECT_NE(make_pool(p, choose_pool(p, plain_target()), plain_target()).refusal, "");
  const Bytes x = random_bytes(36, 3);
  trials.add("codes", make_pool(p, choose_pool(p, rich_target()), rich_target()), rich_target(), {x, Bytes(40, 1)},
             [=](const std::vector<Bytes>& out) {
               const std::vector<int8_t> codes = as<int8_t>(x), got = as<int8_t>(out[1]);
               for (int64_t at = 0; at < 40; ++at) {
                 int8_t most = -128;
                 for_taps_inside(p.window, p.x, at / 4, [&](int64_t index, int64_t) {
                   most = std::max(most, codes[static_cast<size_t>(index + at % 4)]);
                 });
                 EXPECT_EQ(got[static_cast<size_t>(at)], most);
               }
             });
}

// Four channels of a lane: windows with and without padding, and one whose taps are a loop.
TEST(Pool, DepthwiseConvolutionsOfFours) {
  Trials trials;
  for (int which = 0; which < 3; ++which) {
    for (const int64_t side : {3, 5}) {
      DepthwiseProblem p;
      p.images = 2;
      p.channels = 12;
      p.window = windows(which);
      if (side == 5) {
        p.window.kernel = {1, 5, 5};
        p.window.pad = {0, 2, 2};
        p.window.stride = p.window.dilation = {1, 1, 1};
        p.window.out = p.window.in;
      }
      p.x = image(true, 12, p.window.in);
      p.w = image(true, 12, p.window.kernel);
      const ImageView y = image(true, 12, p.window.out);
      p.epilogue = identity(DType::kF32, as_view(y));
      const int64_t in = p.window.in[0] * p.window.in[1] * p.window.in[2], places = p.window.places();
      const std::vector<float> x = random_floats(static_cast<size_t>(24 * in), 1),
                               w = random_floats(static_cast<size_t>(12 * p.window.taps()), 2);
      const Target target = rich_target();
      const Dispatch d = make_depthwise(p, choose_depthwise(p, target), target);
      EXPECT_EQ(d.groups[0], static_cast<uint32_t>((2 * 12 * places / 4 + 63) / 64));
      trials.add("fours", d, target, {bytes_of(x), bytes_of(w), Bytes(static_cast<size_t>(24 * places * 4), 1)},
                 [=](const std::vector<Bytes>& out) {
                   const std::vector<float> got = as<float>(out[2]);
                   for (int64_t at = 0; at < 24 * places; ++at) {
                     const int64_t i = at / (12 * places), c = at / places % 12, o = at % places;
                     double sum = 0;
                     for_taps_inside(p.window, p.x, o, [&](int64_t index, int64_t t) {
                       sum += static_cast<double>(x[static_cast<size_t>(i * p.x.image + c + index)]) *
                              static_cast<double>(w[static_cast<size_t>(t * 12 + c)]);
                     });
                     ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>((i * places + o) * 12 + c)]), sum, 1e-5);
                   }
                 });
    }
  }
}

TEST(Pool, DepthwiseConvolutionsOfFloatsAndCodes) {
  Trials trials;
  int turn = 0;
  for (int which = 0; which < 3; ++which) {
    for (const bool floats : {true, false}) {
      const bool channels_last = turn++ % 4 < 2;
      DepthwiseProblem p;
      p.images = 2;
      p.channels = 3;
      p.multiplier = 2;
      p.window = windows(which);
      p.x = image(channels_last, 3, p.window.in);
      p.w = image(channels_last, 6, p.window.kernel);
      const ImageView y = image(channels_last, 6, p.window.out);
      p.sum = floats ? DType::kF32 : DType::kI32;
      if (!floats) {
        p.x_dtype = DType::kU8;
        p.w_dtype = DType::kI8;
        p.x_zero = 7;
        p.w_zero = -2;
      }
      p.epilogue = identity(p.sum, as_view(y));
      const int64_t in = p.window.in[0] * p.window.in[1] * p.window.in[2], places = p.window.places(),
                    taps = p.window.taps();
      std::vector<float> x = random_floats(static_cast<size_t>(6 * in), 1),
                         w = random_floats(static_cast<size_t>(6 * taps), 2);
      const Bytes xc = random_bytes(x.size(), 3), wc = random_bytes(w.size(), 4);
      if (!floats) {
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(xc[i]) - 7;
        for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int8_t>(wc[i])) + 2;
      }
      const Target target = turn % 2 == 0 ? plain_target() : rich_target();
      trials.add("depthwise", make_depthwise(p, choose_depthwise(p, target), target), target,
                 {floats ? bytes_of(x) : xc, floats ? bytes_of(w) : wc, Bytes(static_cast<size_t>(12 * places * 4), 1)},
                 [=](const std::vector<Bytes>& out) {
                   for (int64_t at = 0; at < 12 * places; ++at) {
                     const int64_t i = at / (6 * places), c = at / places % 6, o = at % places;
                     double sum = 0;
                     for_taps_inside(p.window, p.x, o, [&](int64_t index, int64_t t) {
                       const int64_t tap[] = {t / (p.window.kernel[1] * p.window.kernel[2]),
                                              t / p.window.kernel[2] % p.window.kernel[1], t % p.window.kernel[2]};
                       const int64_t w_at = c * p.w.channel + tap[0] * p.w.spatial[0] + tap[1] * p.w.spatial[1] +
                                            tap[2] * p.w.spatial[2];
                       sum += static_cast<double>(x[static_cast<size_t>(i * p.x.image + c / 2 * p.x.channel + index)]) *
                              static_cast<double>(w[static_cast<size_t>(w_at)]);
                     });
                     const int64_t where[] = {o / (p.window.out[1] * p.window.out[2]),
                                              o / p.window.out[2] % p.window.out[1], o % p.window.out[2]};
                     const size_t to = static_cast<size_t>(i * y.image + c * y.channel + where[0] * y.spatial[0] +
                                                           where[1] * y.spatial[1] + where[2] * y.spatial[2]);
                     if (floats) {
                       ASSERT_NEAR(static_cast<double>(as<float>(out[2])[to]), sum, 1e-5);
                     } else {
                       ASSERT_EQ(as<int32_t>(out[2])[to], static_cast<int32_t>(sum));
                     }
                   }
                 });
    }
  }
}

}  // namespace
}  // namespace vireo::gpu::pool_test

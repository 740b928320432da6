#include "delegates/cpu/kernels/norm/norm.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t rows, int64_t size, int64_t inner, int64_t period, bool rms, bool affine, float offset,
           int32_t slots) {
  SCOPED_TRACE(::testing::Message() << rows << " rows of " << size << " inner " << inner << " period " << period
                                    << " rms " << rms);
  const size_t count = static_cast<size_t>(rows * size);
  Floats x(count), y(count), scale(static_cast<size_t>(period)), shift(static_cast<size_t>(period));
  Floats mean(static_cast<size_t>(rows)), inverse(static_cast<size_t>(rows));
  testing::fill_uniform(x, 1, offset - 1, offset + 1);
  testing::fill_uniform(scale, 2);
  testing::fill_uniform(shift, 3);
  NormF32 s;
  s.rows = rows;
  s.size = size;
  s.inner = inner;
  s.period = period;
  s.rms = rms;
  s.epsilon = 1e-3f;
  s.scale = affine ? scale.data() : nullptr;
  s.shift = affine ? shift.data() : nullptr;
  s.mean = mean.data();
  s.inverse = inverse.data();
  testing::Threads threads(slots);
  norm_f32(s, x.data(), y.data(), threads.parallel());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < size; ++i) sum += x[static_cast<size_t>(r * size + i)];
    const double m = rms ? 0 : sum / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) {
      const double centred = x[static_cast<size_t>(r * size + i)] - m;
      squares += centred * centred;
    }
    const double inv = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-3f);
    // The mean is off by at most (size + 1) u (|offset| + 1); it enters each element times inv and scale <= 1.
    const double u = 0x1p-24, bound = (static_cast<double>(size) + 8) * u * (std::abs(offset) + 2) * (inv + 1) * 2;
    ASSERT_NEAR(mean[static_cast<size_t>(r)], m, bound);
    ASSERT_NEAR(inverse[static_cast<size_t>(r)], inv, inv * bound);
    for (int64_t i = 0; i < size; ++i) {
      const size_t at = static_cast<size_t>(r * size + i),
                   c = at / static_cast<size_t>(inner) % static_cast<size_t>(period);
      const double want = (x[at] - m) * inv * (affine ? scale[c] : 1) + (affine ? shift[c] : 0);
      ASSERT_NEAR(y[at], want, bound * (1 + std::abs(want))) << "row " << r << " at " << i;
    }
  }
  if (inner == 1 && period == size) {
    testing::Guarded<uint16_t> half(count);
    NormF32 narrow = s;
    narrow.mean = narrow.inverse = nullptr;
    norm_bf16(narrow, x.data(), half.data(), threads.parallel());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(half[i], f32_to_bf16(y[i])) << "in bfloat16, element " << i;
  }
  norm_f32(s, x.data(), x.data(), Parallel{});
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(x[i], y[i]) << "in place";
}

TEST(Norm, LayerAndRms) {
  for_each_level([](const char*) {
    for (bool rms : {false, true}) {
      for (bool affine : {false, true}) {
        for (int64_t size : {1, 3, 15, 16, 17, 64, 65, 200}) check(3, size, 1, size, rms, affine, 0, 1);
        check(200, 384, 1, 384, rms, affine, 0, 3);
        check(4, 384, 1, 384, rms, affine, 100, 1);
      }
    }
  });
}

// The bits of an addition, then of a normalisation up to the order of a sum; in every place where results may lie.
TEST(Norm, OfNothing) {
  for (const bool rms : {false, true}) {
    float mean[3] = {7, 7, 7}, inverse[3] = {7, 7, 7};
    NormF32 s;
    s.rows = 3;
    s.rms = rms;
    s.mean = mean;
    s.inverse = inverse;
    norm_f32(s, nullptr, nullptr, {});
    for (const float v : inverse) EXPECT_TRUE(std::isnan(v));
    for (const float v : mean) EXPECT_TRUE(rms ? v == 0 : std::isnan(v));
  }
}

TEST(Norm, OfASum) {
  for_each_level([](const char*) {
    for (bool rms : {false, true}) {
      for (int64_t size : {1, 3, 16, 31, 32, 65, 384}) {
        const size_t count = static_cast<size_t>(5 * size);
        Floats x(count), r(count), s(count), y(count), want(count), sum(count), scale(static_cast<size_t>(size));
        testing::fill_uniform(x, 1);
        testing::fill_uniform(r, 2);
        testing::fill_uniform(scale, 3);
        for (size_t i = 0; i < count; ++i) s[i] = x[i] + r[i];
        NormF32 shape;
        shape.rows = 5;
        shape.size = shape.period = size;
        shape.rms = rms;
        shape.scale = scale.data();
        norm_f32(shape, s.data(), want.data(), Parallel{});
        shape.residual = r.data();
        shape.sum = sum.data();
        testing::Threads threads(2);
        norm_f32(shape, x.data(), y.data(), threads.parallel());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(sum[i], s[i]) << "sum " << i;
          // Mean and square sum of `size` terms, each of at most 2 and 4, in another order.
          ASSERT_NEAR(y[i], want[i], static_cast<double>(size + 8) * 0x1p-22 * (1 + std::abs(want[i]))) << i;
        }
        shape.sum = nullptr;
        norm_f32(shape, x.data(), sum.data(), Parallel{});
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], y[i]) << "without the sum " << i;
        shape.sum = r.data();
        norm_f32(shape, x.data(), x.data(), Parallel{});
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(x[i], y[i]) << "in place " << i;
          ASSERT_EQ(r[i], s[i]) << "sum in place " << i;
        }
      }
    }
  });
}

TEST(Norm, InstanceAndGroup) {
  for_each_level([](const char*) {
    for (int64_t area : {1, 7, 16, 35}) {
      check(2 * 3, area, area, 3, false, true, 0.5f, 1);
      check(2 * 3, 4 * area, area, 12, false, true, 0.5f, 3);
    }
  });
}

// Elements that all equal their mean give the shift, to the bit: nothing is left for 1 / sqrt(epsilon) to multiply. So
// do single elements, whatever they are. The sums of 1, 4 and 16 elements of 13 / 4 are exact.
TEST(Norm, WithoutVarianceTheShiftIsLeft) {
  for_each_level([](const char*) {
    for (int64_t area : {1, 4, 16}) {
      const int64_t channels = 3;
      const std::vector<float> x(static_cast<size_t>(2 * channels * area), 3.25f);
      const std::vector<float> scale = {0, 2.5f, -3.75f}, shift = {1.5f, -0.25f, 3};
      Floats y(x.size());
      NormF32 s;
      s.rows = 2 * channels;
      s.size = s.inner = area;
      s.period = channels;
      s.scale = scale.data();
      s.shift = shift.data();
      norm_f32(s, x.data(), y.data(), Parallel{});
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i], shift[i / static_cast<size_t>(area) % static_cast<size_t>(channels)]) << area << " at " << i;
    }
  });
}

TEST(Norm, ChannelAffine) {
  for_each_level([](const char*) {
    for (int64_t inner : {1, 5, 16, 33}) {
      for (bool shifted : {false, true}) {
        const int64_t outer = 3, channels = 37;
        const size_t count = static_cast<size_t>(outer * channels * inner);
        Floats x(count), y(count), scale(static_cast<size_t>(channels)), shift(static_cast<size_t>(channels));
        testing::fill_uniform(x, 1);
        testing::fill_uniform(scale, 2);
        testing::fill_uniform(shift, 3);
        testing::Threads threads(3);
        channel_affine_f32(x.data(), y.data(), outer, channels, inner, scale.data(), shifted ? shift.data() : nullptr,
                           threads.parallel());
        for (size_t i = 0; i < count; ++i) {
          const size_t c = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
          ASSERT_NEAR(y[i], double{x[i]} * scale[c] + (shifted ? shift[c] : 0), 0x1p-22);
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

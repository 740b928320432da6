#include "delegates/cpu/kernels/resample/resample.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

struct Taps {
  std::vector<int64_t> first;
  std::vector<double> weights;
  Axis axis;
  Taps(int64_t in, int64_t out, int64_t taps, uint32_t seed) {
    std::mt19937 rng(seed);
    for (int64_t i = 0; i < out; ++i)
      first.push_back(taps == 1 ? static_cast<int64_t>(rng()) % in : i * in / out - taps / 2);
    for (int64_t i = 0; i < out * taps; ++i)
      weights.push_back(rng() % 4 == 0 ? 0 : static_cast<double>(rng() % 100) / 64 - 0.5);
    axis = {in, out, taps, first.data(), taps == 1 ? nullptr : weights.data()};
  }
};

// Bits of the plain double loops, on any number of threads, operands against unreadable pages.
TEST(Resample, SameBitsAsTheLoops) {
  for_each_level([](const char*) {
    for (const int64_t taps_y : {1, 2, 4}) {
      for (const int64_t taps_x : {1, 2, 4}) {
        for (const int64_t out_w : {1, 4, 9, 40}) {
          for (const int32_t slots : {1, 3}) {
            const int64_t count = 3, in_h = 5, in_w = 7, out_h = 11;
            const Taps y(in_h, out_h, taps_y, 1), x(in_w, out_w, taps_x, 2);
            Floats from(static_cast<size_t>(count * in_h * in_w)), to(static_cast<size_t>(count * out_h * out_w));
            testing::fill_uniform(from, 5);
            from[8] = INFINITY;  // behind a weight of 0 it must not show
            testing::Scratch scratch(resample_scratch_bytes(taps_y, in_w, out_w, 1, slots));
            testing::Threads threads(slots);
            resample({count, y.axis, x.axis}, Elements::kF32, from.data(), to.data(), threads.parallel(),
                     scratch.data());
            const auto row_sum = [&](int64_t row, int64_t c) {
              if (taps_x == 1)
                return static_cast<double>(from[static_cast<size_t>(row * in_w + x.first[static_cast<size_t>(c)])]);
              double sum = 0;
              for (int64_t t = 0; t < taps_x; ++t) {
                const double w = x.weights[static_cast<size_t>(c * taps_x + t)];
                const int64_t at = std::min(std::max<int64_t>(x.first[static_cast<size_t>(c)] + t, 0), in_w - 1);
                if (w != 0) sum += w * static_cast<double>(from[static_cast<size_t>(row * in_w + at)]);
              }
              return sum;
            };
            for (int64_t r = 0; r < count * out_h; ++r) {
              for (int64_t c = 0; c < out_w; ++c) {
                double sum = 0;
                for (int64_t t = 0; t < taps_y; ++t) {
                  const double w = taps_y == 1 ? 1 : y.weights[static_cast<size_t>(r % out_h * taps_y + t)];
                  const int64_t at =
                      std::min(std::max<int64_t>(y.first[static_cast<size_t>(r % out_h)] + t, 0), in_h - 1);
                  if (w != 0) sum += w * row_sum(r / out_h * in_h + at, c);
                }
                const float want = static_cast<float>(sum), got = to[static_cast<size_t>(r * out_w + c)];
                ASSERT_TRUE(want == got || (std::isnan(want) && std::isnan(got))) << want << " " << got;
              }
            }
          }
        }
      }
    }
  });
}

// Pixels: each of their elements by itself is a plane, whose bits the test above holds to the loops. Depths below, at
// and above a vector of any instruction set, and such that a row of sums is cut into blocks of 4, of 1 column.
TEST(Resample, PixelsAsPlanes) {
  for_each_level([](const char*) {
    for (const int64_t taps_y : {1, 2, 4}) {
      for (const int64_t taps_x : {1, 2, 4}) {
        for (const int64_t depth : {2, 3, 4, 7, 8, 9, 33, 450, 2100}) {
          for (const int32_t slots : {1, 3}) {
            const int64_t count = 2, in_h = 5, in_w = 6, out_h = 7, out_w = 9;
            const Taps y(in_h, out_h, taps_y, 1), x(in_w, out_w, taps_x, 2);
            Floats from(static_cast<size_t>(count * in_h * in_w * depth));
            Floats to(static_cast<size_t>(count * out_h * out_w * depth));
            testing::fill_uniform(from, 5);
            from[8] = INFINITY;
            testing::Scratch scratch(resample_scratch_bytes(taps_y, in_w, out_w, depth, slots));
            testing::Scratch other(resample_scratch_bytes(taps_y, in_w, out_w, 1, 1));
            testing::Threads threads(slots);
            resample({count, y.axis, x.axis, depth}, Elements::kF32, from.data(), to.data(), threads.parallel(),
                     scratch.data());
            std::vector<float> plane(static_cast<size_t>(count * in_h * in_w));
            std::vector<float> wanted(static_cast<size_t>(count * out_h * out_w));
            const auto pixels = static_cast<size_t>(depth);
            for (size_t c = 0; c < pixels; ++c) {
              for (size_t i = 0; i < plane.size(); ++i) plane[i] = from[i * pixels + c];
              resample({count, y.axis, x.axis}, Elements::kF32, plane.data(), wanted.data(), Parallel{}, other.data());
              for (size_t i = 0; i < wanted.size(); ++i) {
                const float want = wanted[i], got = to[i * pixels + c];
                ASSERT_TRUE(want == got || (std::isnan(want) && std::isnan(got)))
                    << want << " " << got << " at " << i << " of " << c << ", depth " << depth;
              }
            }
          }
        }
      }
    }
  });
}

TEST(Pick, Pixels) {
  for (const int64_t bytes : {1, 2, 4, 8}) {
    for (const int64_t depth : {2, 5, 16, 40}) {
      const int64_t out_w = 11, size = bytes * depth;
      const Taps y(4, 9, 1, 3), x(5, out_w, 1, 4);
      testing::Guarded<uint8_t> from(static_cast<size_t>(2 * 4 * 5 * size));
      testing::Guarded<uint8_t> to(static_cast<size_t>(2 * 9 * out_w * size));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
      testing::Threads threads(3);
      pick_elements({2, y.axis, x.axis, depth}, from.data(), to.data(), bytes, threads.parallel());
      for (int64_t r = 0; r < 18; ++r) {
        for (int64_t c = 0; c < out_w; ++c) {
          const int64_t row = r / 9 * 4 + y.first[static_cast<size_t>(r % 9)];
          const int64_t at = (row * 5 + x.first[static_cast<size_t>(c)]) * size;
          ASSERT_EQ(memcmp(to.data() + (r * out_w + c) * size, from.data() + at, static_cast<size_t>(size)), 0);
        }
      }
    }
  }
}

TEST(Pick, EveryElementSize) {
  for (const int64_t bytes : {1, 2, 4, 8}) {
    for (const int64_t out_w : {1, 6, 33}) {
      const Taps y(4, 9, 1, 3), x(5, out_w, 1, 4);
      testing::Guarded<uint8_t> from(static_cast<size_t>(2 * 4 * 5 * bytes)),
          to(static_cast<size_t>(2 * 9 * out_w * bytes));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7);
      testing::Threads threads(3);
      pick_elements({2, y.axis, x.axis}, from.data(), to.data(), bytes, threads.parallel());
      for (int64_t r = 0; r < 18; ++r) {
        for (int64_t c = 0; c < out_w; ++c) {
          const int64_t at =
              ((r / 9 * 4 + y.first[static_cast<size_t>(r % 9)]) * 5 + x.first[static_cast<size_t>(c)]) * bytes;
          ASSERT_EQ(memcmp(to.data() + (r * out_w + c) * bytes, from.data() + at, static_cast<size_t>(bytes)), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::cpu

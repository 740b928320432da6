#include "delegates/cpu/kernels/resize_i8/resize_i8.h"

#include <deque>

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;
using Bytes = testing::Guarded<uint8_t>;
using Words = testing::Guarded<int32_t>;

// The sum of one element of y, tap by tap.
uint32_t sum_at(const ResizeI8& s, const Bytes& x, int axis, int64_t row, int64_t at, uint32_t weight) {
  if (axis == s.rank) {
    const uint8_t v = x[static_cast<size_t>(at)];
    return weight * static_cast<uint32_t>((s.x_signed ? static_cast<int8_t>(v) : v) - s.x_zero);
  }
  const ResizeAxis& a = s.axes[axis];
  int64_t inner = 1;
  for (int k = axis + 1; k < s.rank; ++k) inner *= s.axes[k].out;
  const int64_t i = row / inner, left = row % inner;
  if (a.taps == 0) return sum_at(s, x, axis + 1, left, at * a.in + i, weight);
  uint32_t sum = 0;
  for (int64_t j = 0; j < a.taps; ++j) {
    const auto w = static_cast<uint32_t>(a.weights[i * a.taps + j]);
    sum += sum_at(s, x, axis + 1, left, at * a.in + a.places[i * a.taps + j], weight * w);
  }
  return sum;
}

struct Extent {
  int64_t in, out, taps;
};

void check(const std::vector<Extent>& extents, bool x_signed, bool y_signed, bool wild, int32_t slots, uint32_t seed) {
  std::mt19937 rng(seed);
  ResizeI8 s;
  s.rank = static_cast<int>(extents.size());
  std::deque<Words> tables;
  int64_t in = 1, out = 1;
  for (size_t k = 0; k < extents.size(); ++k) {
    const Extent& e = extents[k];
    s.axes[k] = {e.in, e.out, e.taps, nullptr, nullptr};
    in *= e.in;
    out *= e.out;
    if (e.taps == 0) continue;
    for (int t = 0; t < 2; ++t) tables.emplace_back(static_cast<size_t>(e.out * e.taps));
    Words &places = *(tables.end() - 2), &weights = tables.back();
    for (int32_t& p : places) p = static_cast<int32_t>(rng() % static_cast<uint32_t>(e.in));
    for (int32_t& w : weights) w = wild ? static_cast<int32_t>(rng()) : static_cast<int32_t>(rng() % 257) - 40;
    s.axes[k].places = places.data();
    s.axes[k].weights = weights.data();
  }
  s.x_signed = x_signed;
  s.x_zero = x_signed ? -7 : 131;
  s.multiplier = wild ? 1e-7f : 1.0f / (1 << 14);
  s.finish.is_signed = y_signed;
  s.finish.zero_point = y_signed ? 3 : 120;
  s.finish.low = y_signed ? -100 : 4;
  s.finish.high = y_signed ? 127 : 250;
  Bytes x(static_cast<size_t>(in)), y(static_cast<size_t>(out));
  for (uint8_t& v : x) v = static_cast<uint8_t>(rng());
  testing::Threads threads(slots);
  const Extent& last = extents.back();
  testing::Guarded<char> scratch(resize_i8_scratch_bytes(last.in, last.out, last.taps, slots));
  resize_i8(s, x.data(), y.data(), threads.parallel(), scratch.data());
  for (int64_t i = 0; i < out; ++i) {
    const auto sum = static_cast<int32_t>(sum_at(s, x, 0, i, 0, 1));
    const int32_t want =
        round_and_clamp(static_cast<float>(sum) * s.multiplier, s.finish.zero_point, s.finish.low, s.finish.high);
    ASSERT_EQ(y[static_cast<size_t>(i)], static_cast<uint8_t>(want)) << "element " << i;
  }
}

TEST(ResizeI8, AsTapByTap) {
  for_each_level([](const char*) {
    uint32_t seed = 0;
    for (const int64_t in : {1, 5, 16, 33}) {
      for (const int64_t out : {1, 16, 31, 66}) {
        for (const int64_t taps : {1, 2, 4}) {
          const bool a = (++seed & 1) != 0, b = (seed & 2) != 0, wild = seed % 5 == 0;
          check({{in, out, taps}}, a, b, wild, 1, seed);
          check({{2, 2, 0}, {3, 5, taps}, {in, out, 2}}, b, a, wild, 3, seed);
          check({{4, 3, taps}, {5, 7, 2}, {in, in, 0}}, a, !b, wild, 2, seed);
          check({{2, 3, 2}, {3, 2, 2}, {2, 4, taps}, {in, out, taps}}, a, b, wild, 1, seed);
        }
      }
    }
  });
}

TEST(ResizeI8, NothingToDo) {
  ResizeI8 s;
  s.axes[0] = {3, 0, 0, nullptr, nullptr};
  resize_i8(s, nullptr, nullptr, Parallel{}, nullptr);
}

}  // namespace
}  // namespace vireo::cpu

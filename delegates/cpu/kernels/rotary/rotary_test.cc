#include "delegates/cpu/kernels/rotary/rotary.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

void check(int64_t batch, int64_t heads, int64_t tokens, int64_t head, int64_t half, bool packed, bool positions,
           bool in_place, int32_t slots, bool neighbours = false) {
  SCOPED_TRACE(::testing::Message() << batch << "x" << heads << "x" << tokens << "x" << head << " half " << half
                                    << " packed " << packed << " positions " << positions << " in place " << in_place
                                    << " neighbours " << neighbours);
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t rows = positions ? 7 : batch * tokens;
  Floats x(count(batch * heads * tokens * head)), y(x.size()), c(count(rows * half)), s(count(rows * half));
  testing::fill_uniform(x, 1, -2, 2);
  testing::fill_uniform(c, 2, -1, 1);
  testing::fill_uniform(s, 3, -1, 1);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < batch * tokens; ++i) at.push_back(i * 5 % 7);
  RotaryF32 r;
  r.batch = batch;
  r.heads = heads;
  r.tokens = tokens;
  r.head = head;
  r.half = half;
  r.packed = packed;
  r.neighbours = neighbours;
  r.positions = positions ? at.data() : nullptr;
  const std::vector<float> from(x.data(), x.data() + x.size());
  float* const out = in_place ? x.data() : y.data();
  testing::Threads threads(slots);
  rotary_f32(r, x.data(), c.data(), s.data(), out, threads.parallel());
  for (int64_t i = 0; i < batch * heads * tokens; ++i) {
    const int64_t token = packed ? i / heads : i / (heads * tokens) * tokens + i % tokens;
    const int64_t row = (positions ? at[count(token)] : token) * half;
    for (int64_t k = 0; k < head; ++k) {
      const float got = out[i * head + k];
      if (k >= 2 * half) {
        ASSERT_EQ(got, from[count(i * head + k)]) << i << " " << k;
        continue;
      }
      const int64_t pair = neighbours ? k / 2 : k % half;
      const bool first = neighbours ? k % 2 == 0 : k < half;
      const int64_t at_1 = neighbours ? 2 * pair : pair, at_2 = neighbours ? 2 * pair + 1 : half + pair;
      const double x1 = from[count(i * head + at_1)], x2 = from[count(i * head + at_2)];
      const double cosine = c.data()[row + pair], sine = s.data()[row + pair];
      // Two products of at most 2 and their sum, each rounded once: 3 half units of 4.
      ASSERT_NEAR(got, first ? cosine * x1 - sine * x2 : sine * x1 + cosine * x2, 3 * 4 * 0x1p-25) << i << " " << k;
    }
  }
}

TEST(Rotary, SizesLayoutsAndPositions) {
  for_each_level([](const char*) {
    for (const bool packed : {false, true}) {
      for (const bool positions : {false, true}) {
        for (const bool in_place : {false, true}) {
          for (const bool neighbours : {false, true}) {
            check(1, 1, 1, 2, 1, packed, positions, in_place, 1, neighbours);
            check(2, 3, 5, 24, 12, packed, positions, in_place, 1, neighbours);
            check(1, 2, 9, 70, 16, packed, positions, in_place, 2, neighbours);
            check(1, 2, 9, 74, 37, packed, positions, in_place, 2, neighbours);
            check(1, 4, 300, 64, 32, packed, positions, in_place, 3, neighbours);
          }
        }
      }
    }
  });
}

TEST(Rotary, NothingToDo) {
  check(1, 2, 0, 8, 4, false, false, false, 1);
  check(1, 2, 3, 5, 0, false, false, false, 1);
}

}  // namespace
}  // namespace vireo::cpu

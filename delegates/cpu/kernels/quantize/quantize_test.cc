#include "delegates/cpu/kernels/quantize/quantize.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;
using testing::Guarded;

// Every parameter layout against the formula, operands against unreadable pages. The comparison with the reference
// kernels is in ops_test.cc.
TEST(Quantize, ThereAndBackByTheFormula) {
  for_each_level([](const char*) {
    for (const bool is_signed : {false, true}) {
      for (const int64_t inner : {1, 3, 16, 37}) {
        for (const int64_t extent : {1, 5, 33}) {
          Codes s;
          s.outer = 2;
          s.extent = extent;
          s.inner = inner;
          s.code = is_signed ? Code::kI8 : Code::kU8;
          const auto count = static_cast<size_t>(2 * extent * inner);
          Floats x(count), scale(static_cast<size_t>(extent)), back(count);
          Guarded<uint8_t> zero(static_cast<size_t>(extent)), y(count);
          testing::fill_uniform(x, 1, -70, 70);
          testing::fill_uniform(scale, 2, 0.1f, 0.6f);
          for (size_t i = 0; i < zero.size(); ++i) zero[i] = static_cast<uint8_t>(100 + 37 * i);
          s.scale = scale.data();
          s.zero_point = zero.data();
          quantize_f32(s, x.data(), y.data(), Parallel{});
          dequantize_f32(s, y.data(), back.data(), Parallel{});
          for (size_t i = 0; i < count; ++i) {
            const size_t p = i / static_cast<size_t>(inner) % static_cast<size_t>(extent);
            const int32_t z = is_signed ? static_cast<int8_t>(zero[p]) : zero[p];
            const int32_t want = round_and_clamp(x[i] / scale[p], z, is_signed ? -128 : 0, is_signed ? 127 : 255);
            const int32_t got = is_signed ? static_cast<int8_t>(y[i]) : y[i];
            ASSERT_EQ(got, want) << x[i] << " / " << scale[p];
            ASSERT_EQ(back[i], static_cast<float>(want - z) * scale[p]);
          }
        }
      }
    }
  });
}

TEST(Range, HoldsZeroAndLeavesNaNOut) {
  for_each_level([](const char*) {
    for (const size_t count : {size_t{1}, size_t{15}, size_t{16}, size_t{33}, size_t{40000}}) {
      for (const int32_t slots : {1, 3}) {
        Floats x(count);
        testing::fill_uniform(x, 3, 1, 5);
        if (count > 2) x[count / 2] = NAN;
        if (count > 15) x[count - 1] = -7.5f;
        testing::Scratch scratch(range_f32_scratch_bytes(slots));
        testing::Threads threads(slots);
        float low = 1, high = 0, most = 0;
        for (const float v : x) most = v > most ? v : most;
        range_f32(x.data(), static_cast<int64_t>(count), &low, &high, threads.parallel(), scratch.data());
        EXPECT_EQ(low, count > 15 ? -7.5f : 0.0f);
        EXPECT_EQ(high, most);
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

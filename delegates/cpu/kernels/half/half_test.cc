#include "delegates/cpu/kernels/half/half.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;
using testing::Guarded;

TEST(Half, EveryCodeThereAndBack) {
  for_each_level([](const char*) {
    Guarded<uint16_t> codes(65536), back(65536);
    Floats wide(65536);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
    f32_from_f16(codes.data(), wide.data(), 65536, Parallel{});
    f16_from_f32(wide.data(), back.data(), 65536, Parallel{});
    for (size_t i = 0; i < codes.size(); ++i) {
      const float want = f16_to_f32(codes[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(f16_to_f32(back[i])));
        continue;
      }
      ASSERT_EQ(wide[i], want);
      ASSERT_EQ(back[i], codes[i]);
    }
  });
}

// Ties, subnormals, what is too large or too small, at lengths around a vector.
TEST(Half, RoundsToNearestEven) {
  for_each_level([](const char*) {
    for (const size_t count : {1, 7, 8, 15, 16, 33, 4000}) {
      Floats x(count);
      Guarded<uint16_t> y(count);
      std::mt19937 rng(static_cast<uint32_t>(count));
      for (float& v : x) {
        const uint32_t exponent = 95 + rng() % 55,
                       fraction = rng() % 2 ? rng() & 0x7FE000u : (rng() & 0x7FE000u) | 0x1000u;
        v = float_from_bits((rng() % 2) << 31 | exponent << 23 | fraction);
      }
      f16_from_f32(x.data(), y.data(), static_cast<int64_t>(count), Parallel{});
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], f32_to_f16(x[i])) << x[i];
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

#include "delegates/cpu/kernels/requantize/requantize.h"

#include "delegates/cpu/kernels/bytes_testing.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::for_each_level;
using testing::value;

TEST(Requantize, SameBitsAsTheFormula) {
  for_each_level([](const char*) {
    constexpr size_t kRows = 5, kColumns = 37;
    std::mt19937 rng(1);
    std::vector<int32_t> acc(kRows * kColumns), bias(kColumns);
    for (int32_t& v : acc) v = static_cast<int32_t>(rng()) >> (rng() % 31);
    for (int32_t& v : bias) v = static_cast<int32_t>(rng() % 2001) - 1000;
    acc[3] = 2147480000;
    acc[4] = -2147480000;
    std::vector<float> multiplier(kColumns);
    for (float& v : multiplier)
      v = std::ldexp(1.0f + static_cast<float>(rng() % 1000) / 1000, -static_cast<int>(rng() % 20));
    multiplier[5] = 0.5f;  // ties
    for (bool is_signed : {false, true}) {
      for (bool wild : {false, true}) {
        multiplier[7] = wild ? 3e30f : 0.25f;  // products beyond int32, and inf * 0
        multiplier[8] = wild ? INFINITY : -0.25f;
        multiplier[9] = wild ? NAN : 0.5f;
        for (bool bias_column : {false, true}) {
          for (int per : {0, 1, 2}) {
            RequantizeI32 s;
            s.rows = kRows;
            s.columns = kColumns;
            s.bias = bias.data();
            s.bias_per_column = bias_column;
            s.multiplier = multiplier.data();
            s.multiplier_per_row = per == 1;
            s.multiplier_per_column = per == 2;
            s.zero_point = is_signed ? -3 : 131;
            s.is_signed = is_signed;
            s.low = wild ? -20 : -128;
            s.high = wild ? 90 : 255;
            Bytes y(kRows * kColumns);
            requantize_i32(s, acc.data(), y.data(), Parallel{});
            for (size_t i = 0; i < acc.size(); ++i) {
              const size_t r = i / kColumns, c = i % kColumns;
              const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(acc[i]) +
                                                       static_cast<uint32_t>(bias[bias_column ? c : r]));
              const float product = static_cast<float>(sum) * multiplier[per == 0 ? 0 : per == 1 ? r : c];
              const double low = std::max(s.low, is_signed ? -128 : 0), high = std::min(s.high, is_signed ? 127 : 255);
              const double rounded = std::isnan(product) ? low : std::nearbyint(double{product}) + s.zero_point;
              const int want = static_cast<int>(std::min(std::max(rounded, low), high));
              ASSERT_EQ(value(y, is_signed, i), want) << acc[i];
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu

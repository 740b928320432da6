#include "delegates/cpu/kernels/amx/amx.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <random>
#include <vector>

namespace vireo::cpu {
namespace {

uint16_t bf16_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

// C of 16 x 12 = two steps over k; what the instructions promise, from the plain definition.
template <class Tiles>
void bf16_products(Tiles tiles) {
  constexpr int kM = 13, kN = 12, kK = 30;
  std::vector<uint16_t> a(kM * kK), b(kK / 2 * kN * 2);
  std::vector<float> c(kM * kN, -1);
  std::mt19937 rng(1);
  for (auto& v : a) v = bf16_of(static_cast<float>(static_cast<int>(rng() % 33) - 16));
  for (auto& v : b) v = bf16_of(static_cast<float>(static_cast<int>(rng() % 33) - 16));
  b[7] = 1;  // subnormal: counts as 0
  TileConfig config;
  config.set(0, kM, kN * 4);
  config.set(1, kM, kK * 2);
  config.set(2, kK / 2, kN * 4);
  tiles.configure(config);
  tiles.template zero<0>();
  tiles.template load<1>(a.data(), kK * 2);
  tiles.template load<2>(b.data(), kN * 4);
  tiles.template dot_bf16<0, 1, 2>();
  tiles.template dot_bf16<0, 1, 2>();
  tiles.template store<0>(c.data(), kN * 4);
  tiles.release();
  const auto value = [](uint16_t bits) {
    const uint32_t wide = uint32_t{bits} << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return x;
  };
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      float sum = 0;  // whole numbers below 2^24: exact in any order
      for (int k = 0; k < kK; ++k) {
        const uint16_t right = b[static_cast<size_t>(k / 2 * kN * 2 + 2 * n + k % 2)];
        sum += right == 1 ? 0 : value(a[static_cast<size_t>(m * kK + k)]) * value(right);
      }
      ASSERT_EQ(c[static_cast<size_t>(m * kN + n)], 2 * sum) << m << " " << n;
    }
  }
}

template <bool kASigned, bool kBSigned, class Tiles>
void byte_products(Tiles tiles) {
  constexpr int kM = 5, kN = 16, kK = 64;
  std::vector<uint8_t> a(kM * kK), b(kK * kN);
  std::vector<int32_t> c(kM * kN, 1000);
  std::mt19937 rng(2);
  for (auto& v : a) v = static_cast<uint8_t>(rng());
  for (auto& v : b) v = static_cast<uint8_t>(rng());
  TileConfig config;
  config.set(4, kM, kN * 4);
  config.set(6, kM, kK);
  config.set(7, kK / 4, kN * 4);
  tiles.configure(config);
  tiles.template load<4>(c.data(), kN * 4);
  tiles.template load<6>(a.data(), kK);
  tiles.template load<7>(b.data(), kN * 4);
  tiles.template dot_i8<4, 6, 7, kASigned, kBSigned>();
  tiles.template store<4>(c.data(), kN * 4);
  tiles.release();
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      int32_t sum = 1000;
      for (int k = 0; k < kK; ++k) {
        const uint8_t x = a[static_cast<size_t>(m * kK + k)],
                      y = b[static_cast<size_t>(k / 4 * kN * 4 + 4 * n + k % 4)];
        sum += (kASigned ? static_cast<int8_t>(x) : int32_t{x}) * (kBSigned ? static_cast<int8_t>(y) : int32_t{y});
      }
      ASSERT_EQ(c[static_cast<size_t>(m * kN + n)], sum) << m << " " << n;
    }
  }
}

TEST(Amx, PlainTiles) {
  bf16_products(PlainTiles());
  byte_products<true, true>(PlainTiles());
  byte_products<true, false>(PlainTiles());
  byte_products<false, true>(PlainTiles());
  byte_products<false, false>(PlainTiles());
}

TEST(Amx, TilesOfTheCore) {
  printf("amx-bf16 %s, amx-int8 %s\n", has_amx_bf16() ? "yes" : "no", has_amx_int8() ? "yes" : "no");
  if (!has_amx_bf16() && !has_amx_int8()) GTEST_SKIP() << "this core has no AMX, or the system does not lend it";
#if VIREO_AMX
  if (has_amx_bf16()) bf16_products(AmxTiles());
  if (has_amx_int8()) {
    byte_products<true, true>(AmxTiles());
    byte_products<true, false>(AmxTiles());
    byte_products<false, true>(AmxTiles());
    byte_products<false, false>(AmxTiles());
  }
#endif
}

}  // namespace
}  // namespace vireo::cpu

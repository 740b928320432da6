// The scale unit against the host's float32, bit for bit, and the weight decoder against its encoder.
#include "delegates/npu/machine/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "delegates/npu/compiler/pack.h"
#include "delegates/npu/machine/unpack.h"
#include "delegates/npu/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::npu {
namespace {

float real(uint32_t bits) {
  float f = 0;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}
uint32_t bits(float f) {
  uint32_t u = 0;
  std::memcpy(&u, &f, sizeof(u));
  return u;
}
// Equal, or both are no number: which one it is nobody looks at.
::testing::AssertionResult same(uint32_t mine, float host) {
  if (mine == bits(host) || (is_nan(mine) && host != host)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hex << mine << " for " << bits(host);
}

// Ends of every range: zeros, subnormals, the least and greatest normal numbers, halves, neighbours of powers of two.
const uint32_t kEdges[] = {0,          1,          2,          0x7fffff,   0x800000,   0x800001,   0x00ffffff,
                           0x33000000, 0x33800000, 0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000,
                           0x3f800001, 0x3fc00000, 0x40200000, 0x4b000000, 0x4b7fffff, 0x4b800000, 0x4b800001,
                           0x4f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000};

template <class F>
void for_pairs(const F& f) {
  for (const uint32_t a : kEdges) {
    for (const uint32_t b : kEdges) {
      for (const uint32_t signs : {0u, 1u, 2u, 3u}) f(a | signs << 31, b | (signs >> 1) << 31);
    }
  }
  Random random(1);
  for (int i = 0; i < 2000000; ++i) {
    const uint32_t a = random.next();
    uint32_t b = random.next();
    if (i % 2) b = (a + (b % 0x3000000) - 0x1800000) ^ (b & kSign);  // close together: sums that cancel
    f(a, b);
  }
}

TEST(NpuScale, Products) {
  for_pairs([](uint32_t a, uint32_t b) {
    ASSERT_TRUE(same(f32_mul(a, b), real(a) * real(b))) << std::hex << a << " * " << b;
  });
}
TEST(NpuScale, Sums) {
  for_pairs([](uint32_t a, uint32_t b) {
    ASSERT_TRUE(same(f32_add(a, b), real(a) + real(b))) << std::hex << a << " + " << b;
  });
}
TEST(NpuScale, Quotients) {
  for_pairs([](uint32_t a, uint32_t b) {
    ASSERT_TRUE(same(f32_div(a, b), real(a) / real(b))) << std::hex << a << " / " << b;
  });
}

TEST(NpuScale, Integers) {
  Random random(2);
  for (int i = 0; i < 64; ++i) {
    for (int64_t d = -3; d <= 3; ++d) {
      const auto v = static_cast<int64_t>((uint64_t{1} << i) + static_cast<uint64_t>(d));
      ASSERT_TRUE(same(f32_of(v), static_cast<float>(v))) << v;
    }
  }
  for (int i = 0; i < 1000000; ++i) {
    const auto v = static_cast<int64_t>((uint64_t{random.next()} << 32 | random.next()) >> (random.next() % 64));
    ASSERT_TRUE(same(f32_of(v), static_cast<float>(v))) << v;
    ASSERT_TRUE(same(f32_of(-v), static_cast<float>(-v))) << v;
  }
}

TEST(NpuScale, RoundsAndClampsAsTheSdk) {
  const int32_t ends[][3] = {{0, -128, 127}, {-128, -128, 127},  {255, 0, 255},
                             {7, 7, 7},      {0, -32768, 32767}, {-5, -100, -90}};
  const auto check = [&](uint32_t v) {
    for (const auto& [zero, low, high] : ends) {
      ASSERT_EQ(round_and_clamp_bits(v, zero, low, high), round_and_clamp(real(v), zero, low, high)) << std::hex << v;
    }
  };
  for (int32_t q = -1000; q <= 1000; ++q) check(bits(static_cast<float>(q) / 4));  // halves and quarters
  for (const uint32_t e : kEdges) {
    check(e);
    check(e | kSign);
  }
  Random random(3);
  for (int i = 0; i < 1000000; ++i) check(random.next());
  for (int i = 0; i < 1000000; ++i) check(bits(random.factor(-40000, 40000)));
}

TEST(NpuScale, WholeRequantization) {
  Random random(4);
  const int32_t sums[] = {0,        1,         -1,        2,         16777215,      16777216,     16777217,
                          16777219, -16777217, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1};
  const auto check = [&](int32_t acc, uint32_t m) {
    ASSERT_EQ(scale(acc, m, 3, -128, 127), requantize(acc, real(m), 3, -128, 127)) << acc << " " << std::hex << m;
    ASSERT_EQ(scale(acc, m, 0, -32768, 32767), requantize(acc, real(m), 0, -32768, 32767))
        << acc << " " << std::hex << m;
  };
  for (const int32_t acc : sums) {
    for (const uint32_t m : kEdges) check(acc, m);
    for (int i = 0; i < 1000; ++i) check(acc, bits(random.factor(0, 1e-5f)));
  }
  for (int e = 1; e <= 30; ++e) {  // exact halves
    for (int32_t k = -4001; k <= 4001; k += 2) check(k * (e > 18 ? 1 : 2), bits(std::ldexp(1.0f, -e)));
  }
  for (int i = 0; i < 3000000; ++i) {
    check(static_cast<int32_t>(random.next()) >> (random.next() % 31),
          bits(std::ldexp(random.factor(0.5f, 1), -static_cast<int>(random.next() % 32))));
  }
}

TEST(NpuUnpack, GivesBackWhatWasPacked) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> in(static_cast<size_t>(random.between(0, 300)));
    const int64_t spread = random.between(0, 128), sparse = random.between(1, 8);
    for (uint8_t& b : in)
      b = static_cast<uint8_t>(random.between(1, 8) <= sparse ? random.between(-spread, spread) : 0);
    const std::vector<uint8_t> packed = pack(in);
    EXPECT_LE(packed.size(), in.size() + (in.size() / kPackBlock + 2) / 2 + 1);
    std::vector<uint8_t> out(in.size(), 0xee);
    ASSERT_TRUE(unpack(packed.data(), packed.size(), out.data(), out.size()));
    ASSERT_EQ(in, out);
    if (in.size() < 2) continue;
    EXPECT_FALSE(unpack(packed.data(), packed.size() - 1, out.data(), out.size()));  // cut short
    std::vector<uint8_t> longer = packed;
    longer.push_back(0);
    EXPECT_FALSE(unpack(longer.data(), longer.size(), out.data(), out.size()));  // more than there is
  }
}

TEST(NpuUnpack, SparseAndNarrowWeightsShrink) {
  std::vector<uint8_t> zeros(6400, 0), narrow(6400), noise(6400);
  Random random(6);
  for (uint8_t& b : narrow) b = static_cast<uint8_t>(random.between(-3, 3));
  for (uint8_t& b : noise) b = static_cast<uint8_t>(random.next());
  EXPECT_EQ(pack(zeros).size(), 50u);  // 100 blocks of 4 bits
  EXPECT_LT(pack(narrow).size(), 2800u);
  EXPECT_LE(pack(noise).size(), 6450u);
}

TEST(NpuUnpack, AnyBytesAreReadSafely) {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> in(static_cast<size_t>(random.between(1, 60)));
    for (uint8_t& b : in) b = static_cast<uint8_t>(random.next());
    std::vector<uint8_t> out(static_cast<size_t>(random.between(1, 200)));
    unpack(in.data(), in.size(), out.data(), out.size());  // the sanitizers judge
  }
}

}  // namespace
}  // namespace vireo::npu

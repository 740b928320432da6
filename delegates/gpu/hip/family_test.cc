#include "delegates/gpu/hip/family.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/ir/builder.h"

namespace vireo::gpu::family_test {
namespace {

TEST(HipFamily, NamesAreFoundByTheirBegin) {
  for (const char* name : kHipFamilies) ASSERT_NE(hip_family(name), nullptr) << name;
  EXPECT_EQ(hip_family("gfx90a:sramecc+:xnack-"), hip_family("gfx90a"));
  EXPECT_EQ(hip_family("gfx1102"), hip_family("gfx1100"));
  for (const char* other : {"gfx803", "gfx1300", "", "navi31"}) EXPECT_EQ(hip_family(other), nullptr) << other;
  EXPECT_EQ(hip_family("gfx906")->unit, nullptr);
  EXPECT_EQ(hip_family("gfx1030")->unit, nullptr);
  EXPECT_TRUE(hip_family("gfx90a")->flushes);
  EXPECT_FALSE(hip_family("gfx942")->flushes);
}

TEST(HipFamily, TargetsFindTheirUnitAgain) {
  for (const char* name : kHipFamilies) {
    const HipFamily& family = *hip_family(name);
    EXPECT_EQ(hip_unit(hip_target(family)), family.unit) << name;
    EXPECT_EQ(hip_target(family).subgroup, family.lanes);
    EXPECT_TRUE(family.unit == nullptr || family.unit->lanes == family.lanes) << name;
  }
}

// Where an element of a sum lies: {lane, element}.
std::pair<uint32_t, uint32_t> place_of(const HipUnit& u, uint32_t row, uint32_t column) {
  for (uint32_t lane = 0; lane < u.lanes; ++lane) {
    for (uint32_t e = 0; e < u.floats && lane % 16 == column; ++e) {
      if (lane / 16 * u.row_step + e * u.element_step == row) return {lane, e};
    }
  }
  return {~0u, ~0u};
}

// Every element once, and some of them where AMD's documents have them: 4 (lane / 16) + e for MFMA, 2 e + lane / 16 for
// RDNA3, 8 (lane / 16) + e for RDNA4.
TEST(HipFamily, SumsLieWhereDocumentsHaveThem) {
  for (const char* name : {"gfx942", "gfx1100", "gfx1201"}) {
    const HipUnit& u = *hip_family(name)->unit;
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (uint32_t row = 0; row < 16; ++row) {
      for (uint32_t column = 0; column < 16; ++column) places.insert(place_of(u, row, column));
    }
    EXPECT_EQ(places.size(), 256u) << name;
    EXPECT_EQ(places.count({~0u, ~0u}), 0u) << name;
  }
  using Place = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(place_of(*hip_family("gfx942")->unit, 9, 4), Place(36, 1));
  EXPECT_EQ(place_of(*hip_family("gfx90a")->unit, 15, 15), Place(63, 3));
  EXPECT_EQ(place_of(*hip_family("gfx1100")->unit, 9, 4), Place(20, 4));
  EXPECT_EQ(place_of(*hip_family("gfx1151")->unit, 14, 0), Place(0, 7));
  EXPECT_EQ(place_of(*hip_family("gfx1201")->unit, 9, 4), Place(20, 1));
  EXPECT_EQ(place_of(*hip_family("gfx1201")->unit, 7, 2), Place(2, 7));
}

// Operands: every depth of a line once, or once in each half of the wave.
TEST(HipFamily, OperandsHaveEachDepth) {
  for (const char* name : {"gfx942", "gfx1100", "gfx1201"}) {
    const HipUnit& u = *hip_family(name)->unit;
    std::multiset<uint32_t> depths;
    for (uint32_t group = 0; group < u.lanes / 16; ++group) {
      for (uint32_t e = 0; e < u.halves; ++e) depths.insert(group * u.depth_step + e);
    }
    const size_t times = u.depth_step == 0 ? u.lanes / 16 : 1;
    for (uint32_t depth = 0; depth < 16; ++depth) EXPECT_EQ(depths.count(depth), times) << name << ", " << depth;
    EXPECT_EQ(depths.size(), 16 * times) << name;
  }
}

TEST(HipPrint, SaysWhatTheProgramSays) {
  Builder b;
  const uint32_t x = b.buffer(0, Element::kWord, false), y = b.buffer(1, Element::kHalfWord, true);
  const Value at = b.group(0) * 64 + b.lane();
  b.when(at < b.push(0), [&] { b.store(y, at, b.pack_halves(b.load(Type::kF32, x, at) + b.f32(1), b.f32(0))); });
  Program& p = b.program();
  p.size = {64, 1, 1};
  p.bindings = 2;
  p.push_words = 1;
  EXPECT_EQ(print_hip(p).rfind(kHipBegin, 0), 0u);
  const std::string text = hip_text(print_hip(p), hip_target(*hip_family("gfx1030")));
  EXPECT_NE(text.find("#pragma clang fp contract(off)"), std::string::npos);
  EXPECT_NE(text.find("constexpr vu32 kWave = 32;"), std::string::npos);
  EXPECT_EQ(text.find("struct operand"), std::string::npos);
  const size_t entry = text.find("VIREO_ENTRY(kernel, 64, VIREO_MEMORY b0, VIREO_MEMORY b1, vu32 w0) {\n");
  ASSERT_NE(entry, std::string::npos);
  EXPECT_NE(text.find("store_half(b1, ", entry), std::string::npos);
}

}  // namespace
}  // namespace vireo::gpu::family_test

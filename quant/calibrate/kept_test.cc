#include "quant/calibrate/kept.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quant/calibrate/statistics.h"
#include "quant/int8/testing.h"
#include "quant/observers/rows.h"

namespace vireo::quant::kept_test {
namespace {

std::vector<uint8_t> file_of(const Kept& kept) {
  std::vector<uint8_t> file;
  kept.write([&](const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    file.insert(file.end(), p, p + size);
  });
  return file;
}

TEST(Kept, EntriesComeBackAndDamageIsSeen) {
  Kept kept("vireo 1", "sha256:ab");
  const KeptKey a = joined_key("a", {}, {1}), b = joined_key("a", {}, {2}), data = joined_key("data", {});
  ASSERT_TRUE(kept.is_of(data));
  kept.put(a, {1, 2, 3});
  kept.put(b, {});
  EXPECT_TRUE(kept.changed());
  const std::vector<uint8_t> file = file_of(kept);
  Kept again("vireo 1", "sha256:ab");
  std::string why;
  ASSERT_TRUE(again.read(file, &why)) << why;
  EXPECT_TRUE(again.is_of(data));
  EXPECT_FALSE(again.is_of(a));
  ASSERT_NE(again.find(a), nullptr);
  EXPECT_EQ(*again.find(a), std::vector<uint8_t>({1, 2, 3}));
  EXPECT_EQ(again.find(joined_key("b", {}, {1})), nullptr);
  EXPECT_EQ(file_of(again), file);
  EXPECT_FALSE(again.changed());
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<uint8_t> damaged = file;
    damaged[i] ^= 1;
    EXPECT_FALSE(Kept("vireo 1", "sha256:ab").read(damaged, &why)) << i;
    damaged.resize(i);
    EXPECT_FALSE(Kept("vireo 1", "sha256:ab").read(damaged, &why)) << i;
  }
  EXPECT_FALSE(Kept("vireo 2", "sha256:ab").read(file, &why));
  EXPECT_EQ(why, "was made by another version of vireo: vireo 1, this is vireo 2");
  EXPECT_FALSE(Kept("vireo 1", "sha256:cd").read(file, &why));
  EXPECT_EQ(why, "is of another model: it says sha256:ab, this one is sha256:cd");
}

// What no quantization asks for any more goes once it is most of the file.
TEST(Kept, WhatIsNotUsedGoes) {
  Kept kept("", "");
  kept.put(joined_key("large", {}), std::vector<uint8_t>(400));
  kept.put(joined_key("small", {}), std::vector<uint8_t>(50));
  std::string why;
  Kept again("", "");
  ASSERT_TRUE(again.read(file_of(kept), &why));
  ASSERT_NE(again.find(joined_key("small", {})), nullptr);
  EXPECT_TRUE(again.changed());
  Kept third("", "");
  ASSERT_TRUE(third.read(file_of(again), &why));
  EXPECT_EQ(third.find(joined_key("large", {})), nullptr);
  EXPECT_NE(third.find(joined_key("small", {})), nullptr);
}

TEST(Kept, StatisticsAndRowsComeBackBitForBit) {
  const std::vector<float> x = {1, -2, 3.5f, 0, 0.25f, 7, -1, 2};
  Statistics s, back;
  s.add({x.data(), 2, 2, 2});
  s.add({x.data(), 1, 2, 4});
  ASSERT_TRUE(bring_back(entry_of(&s), &back));
  EXPECT_EQ(back.range.lows(), s.range.lows());
  EXPECT_EQ(back.range.high(), s.range.high());
  EXPECT_EQ(back.range.count(), s.range.count());
  EXPECT_TRUE(back.histogram == s.histogram);
  EXPECT_TRUE(back.moments == s.moments);
  std::vector<uint8_t> entry = entry_of(&s);
  entry.pop_back();
  EXPECT_FALSE(bring_back(entry, &back));

  RowsObserver rows, rows_back;
  rows.add(3, {x.data(), 4, 2, 1});
  KeptWriter writer;
  rows.each_part([&](auto* part) { writer.put(*part); });
  const std::vector<uint8_t> kept = writer.take();
  KeptReader reader(kept);
  rows_back.each_part([&](auto* part) { reader.get(part); });
  EXPECT_TRUE(reader.done());
  EXPECT_TRUE(rows_back.whole(2));
  EXPECT_FALSE(rows_back.whole(3));
  EXPECT_TRUE(rows_back == rows);
}

// A value's key follows from what makes it, and from nothing else.
TEST(Kept, KeysFollowWhatMakesAValue) {
  const char* const text =
      "input %x f32[1,4]\n%a = Gemm(%x, f32[2,4]{1,2,3,4,5,6,7,8}) {trans_b:true}\n%b = Relu(%a)\n";
  const auto one = testing::parsed(std::string(text) + "output %b");
  const auto same = testing::parsed(std::string(text) + "%c = Relu(%x)\noutput %b\noutput %c");
  const auto other = testing::parsed(
      "input %x f32[1,4]\n%a = Gemm(%x, f32[2,4]{1,2,3,4,5,6,7,9}) {trans_b:true}\n%b = Relu(%a)\noutput %b");
  const auto key = [](const ir::Graph& g) { return ValueKeys(g).of(*g.outputs()[0]); };
  EXPECT_EQ(key(*one), key(*same));
  EXPECT_NE(key(*one), key(*other));
  EXPECT_EQ(ValueKeys(*one).of(*one->inputs()[0]), ValueKeys(*other).of(*other->inputs()[0]));
}

}  // namespace
}  // namespace vireo::quant::kept_test

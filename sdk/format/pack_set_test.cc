// A set of packed weights: what was written is found, and whatever a byte says, nothing outside the set is touched.
#include "sdk/format/pack_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace vireo::pack_set_test {
namespace {

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Bytes = std::unique_ptr<uint8_t[], AlignedFree>;
// Exactly as many bytes, so that a sanitizer sees a read behind them.
Bytes copy_of(const std::vector<uint8_t>& from) {
  Bytes b(static_cast<uint8_t*>(::operator new[](from.size(), std::align_val_t{64})));
  if (!from.empty()) std::memcpy(b.get(), from.data(), from.size());
  return b;
}

PackEntry named(uint64_t constant, uint32_t layout, int64_t size, uint64_t bytes) {
  PackEntry e = {};
  EXPECT_TRUE(pack_delegate("cpu", e.delegate));
  e.constant = constant;
  e.layout = layout;
  e.sizes[0] = size;
  e.bytes = bytes;
  return e;
}

uint8_t content(size_t entry, size_t at) { return static_cast<uint8_t>(17 * entry + 3 * at + at / 256); }

struct Written {
  std::vector<PackEntry> entries;
  std::vector<uint8_t> bytes;
};

Written write() {
  Written w;
  w.entries = {named(4096, 1, 8, 200), named(4096, 1, 9, 64), named(4096, 2, 8, 1), named(70000, 1, 8, 0),
               named(1u << 30, 5, -1, 999)};
  for (size_t i = 0; i < w.entries.size(); ++i) {
    std::vector<uint8_t> data;
    for (size_t at = 0; at < w.entries[i].bytes; ++at) data.push_back(content(i, at));
    w.entries[i].hash = pack_hash(data.data(), data.size());
  }
  w.bytes.resize(lay_out_packs({w.entries.data(), w.entries.size()}));
  const uint8_t model[32] = {1, 2, 3};
  const PackHeader header = pack_header({w.entries.data(), w.entries.size()}, w.bytes.size(), model, 7, 11);
  std::memcpy(w.bytes.data(), &header, sizeof(header));
  std::memcpy(w.bytes.data() + sizeof(header), w.entries.data(), w.entries.size() * sizeof(PackEntry));
  for (size_t i = 0; i < w.entries.size(); ++i) {
    for (size_t at = 0; at < w.entries[i].bytes; ++at) w.bytes[w.entries[i].offset + at] = content(i, at);
  }
  return w;
}

// What an open set offers is inside and can be read.
bool use(const std::vector<uint8_t>& bytes) {
  const Bytes held = copy_of(bytes);
  PackSet set;
  if (!set.open({held.get(), bytes.size()})) {
    EXPECT_TRUE(set.empty());
    return false;
  }
  unsigned sum = 0;
  for (uint32_t i = 0; i < set.count(); ++i) {
    PackEntry e;
    if (!set.entry(i, &e)) continue;
    const auto* p = static_cast<const uint8_t*>(set.contents(e));
    for (uint64_t at = 0; at < e.bytes; ++at) sum += p[at];
    EXPECT_EQ(set.find(e), p);
  }
  (void)set.contents_whole();
  return sum != 1;
}

TEST(PackSet, FindsWhatWasWritten) {
  const Written w = write();
  const Bytes held = copy_of(w.bytes);
  PackSet set;
  ASSERT_TRUE(set.open({held.get(), w.bytes.size()}));
  EXPECT_EQ(set.count(), w.entries.size());
  EXPECT_EQ(set.header().library, 7u);
  EXPECT_EQ(set.header().model[2], 3);
  EXPECT_TRUE(set.contents_whole());
  for (size_t i = 0; i < w.entries.size(); ++i) {
    const auto* p = static_cast<const uint8_t*>(set.find(w.entries[i]));
    ASSERT_NE(p, nullptr) << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    for (size_t at = 0; at < w.entries[i].bytes; ++at) ASSERT_EQ(p[at], content(i, at));
  }
  for (const PackEntry& absent : {named(4095, 1, 8, 200), named(4096, 1, 8, 201), named(4096, 3, 8, 200),
                                  named(4096, 1, 7, 200), named(UINT64_MAX, 1, 8, 200)}) {
    EXPECT_EQ(set.find(absent), nullptr);
  }
  PackEntry other = w.entries[0];
  ASSERT_TRUE(pack_delegate("npu", other.delegate));
  EXPECT_EQ(set.find(other), nullptr);
  char name[16];
  EXPECT_FALSE(pack_delegate("a name of sixteen", name));
}

TEST(PackSet, Empty) {
  PackSet set;
  EXPECT_EQ(set.find(named(0, 0, 0, 0)), nullptr);
  EXPECT_FALSE(set.open({}));
  std::vector<uint8_t> bytes(lay_out_packs({}));
  const PackHeader header = pack_header({}, bytes.size(), nullptr, 0, 0);
  std::memcpy(bytes.data(), &header, sizeof(header));
  const Bytes held = copy_of(bytes);
  ASSERT_TRUE(set.open({held.get(), bytes.size()}));
  EXPECT_EQ(set.count(), 0u);
  EXPECT_EQ(set.find(named(0, 0, 0, 0)), nullptr);
}

// A compiled part is found by its name alone, behind all constants; who looks knows no bytes.
TEST(PackSet, CompiledParts) {
  const auto part = [](uint64_t first, int64_t nodes, int64_t fingerprint, uint64_t bytes) {
    PackEntry e = named(first, 0, nodes, bytes);
    e.kind = kCompiledPart;
    e.sizes[2] = fingerprint;
    return e;
  };
  std::vector<PackEntry> entries = {named(4096, 1, 8, 64), part(0, 3, -5, sizeof(CompiledHead) + 9),
                                    part(0, 3, 7, sizeof(CompiledHead))};
  ASSERT_LT(compare_packs(entries[0], entries[1]), 0);
  ASSERT_LT(compare_packs(entries[1], entries[2]), 0);
  CompiledHead head = {};
  head.time_ns = 12.5;
  head.reason[199] = 'x';  // it does not end
  CompiledHead refused = {};
  refused.refused = 1;
  const std::vector<uint8_t> data(64, 3);
  entries[0].hash = contents_hash(nullptr, data.data(), 64);
  entries[1].hash = contents_hash(&head, data.data(), 9);
  entries[2].hash = contents_hash(&refused, nullptr, 0);
  std::vector<uint8_t> bytes(lay_out_packs({entries.data(), entries.size()}));
  const PackHeader header = pack_header({entries.data(), entries.size()}, bytes.size(), nullptr, 0, 0);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), entries.data(), entries.size() * sizeof(PackEntry));
  std::memcpy(bytes.data() + entries[0].offset, data.data(), 64);
  std::memcpy(bytes.data() + entries[1].offset, &head, sizeof(head));
  std::memcpy(bytes.data() + entries[1].offset + sizeof(head), data.data(), 9);
  std::memcpy(bytes.data() + entries[2].offset, &refused, sizeof(refused));
  const Bytes held = copy_of(bytes);
  PackSet set;
  ASSERT_TRUE(set.open({held.get(), bytes.size()}));
  EXPECT_TRUE(set.contents_whole());
  EXPECT_TRUE(set.holds(kPackedConstant));
  EXPECT_TRUE(set.holds(kCompiledPart));
  EXPECT_FALSE(set.holds(2));
  PackEntry found;
  const void* const contents = set.find(part(0, 3, -5, 0), &found);
  ASSERT_NE(contents, nullptr);
  EXPECT_EQ(found.bytes, sizeof(CompiledHead) + 9);
  EXPECT_TRUE(contents_whole(found, contents));
  CompiledHead read;
  ASSERT_TRUE(read_compiled_head(contents, found.bytes, &read));
  EXPECT_EQ(read.time_ns, 12.5);
  EXPECT_EQ(read.reason[199], 0);
  EXPECT_EQ(set.find(part(0, 3, 6, 0)), nullptr);
  EXPECT_EQ(set.find(part(1, 3, 7, 0)), nullptr);
  EXPECT_EQ(set.lower_bound(part(0, 3, INT64_MIN, 0)), 1u);
  held[static_cast<size_t>(found.offset) + sizeof(head) + 8] ^= 1;
  EXPECT_FALSE(contents_whole(found, contents));
  // What is no head.
  EXPECT_FALSE(read_compiled_head(&head, sizeof(head) - 1, &read));
  EXPECT_FALSE(read_compiled_head(&refused, sizeof(refused) + 1, &read));  // refused, and yet compiled
  for (size_t field :
       {offsetof(CompiledHead, refused), offsetof(CompiledHead, checked), offsetof(CompiledHead, reserved) + 23}) {
    uint8_t bad[sizeof(CompiledHead)] = {};
    bad[field] = 2;
    EXPECT_FALSE(read_compiled_head(bad, sizeof(bad), &read)) << field;
  }
  for (const double t : {-1.0, HUGE_VAL, std::nan("")}) {
    CompiledHead bad = {};
    bad.time_ns = t;
    EXPECT_FALSE(read_compiled_head(&bad, sizeof(bad), &read));
  }
}

TEST(PackSet, EveryBitOfHeaderAndEntriesIsSeen) {
  const Written w = write();
  const size_t end = sizeof(PackHeader) + w.entries.size() * sizeof(PackEntry);
  for (size_t i = 0; i < 8 * end; ++i) {
    std::vector<uint8_t> bad = w.bytes;
    bad[i / 8] ^= static_cast<uint8_t>(1u << (i % 8));
    EXPECT_FALSE(use(bad)) << "bit " << i;
  }
}

TEST(PackSet, EveryLengthButItsOwnIsRefused) {
  const Written w = write();
  for (size_t n = 0; n < w.bytes.size(); ++n)
    EXPECT_FALSE(use({w.bytes.begin(), w.bytes.begin() + static_cast<std::ptrdiff_t>(n)})) << n;
  std::vector<uint8_t> longer = w.bytes;
  longer.push_back(0);
  EXPECT_FALSE(use(longer));
  EXPECT_TRUE(use(w.bytes));
}

TEST(PackSet, DamagedContentsAreSeenByTheirChecksum) {
  const Written w = write();
  for (size_t i = 0; i < w.entries.size(); ++i) {
    for (size_t at = 0; at < w.entries[i].bytes; ++at) {
      std::vector<uint8_t> bad = w.bytes;
      bad[w.entries[i].offset + at] ^= static_cast<uint8_t>(1u << (at % 8));
      const Bytes held = copy_of(bad);
      PackSet set;
      ASSERT_TRUE(set.open({held.get(), bad.size()}));
      EXPECT_FALSE(set.contents_whole()) << "entry " << i << " byte " << at;
    }
  }
}

// One who means harm sets the checksums right; and bytes may change behind an open set.
TEST(PackSet, HostileEntriesLeadNowhere) {
  const Written w = write();
  std::mt19937_64 random(1);
  const uint64_t odd[] = {0,
                          1,
                          63,
                          64,
                          127,
                          128,
                          w.bytes.size() - 1,
                          w.bytes.size(),
                          w.bytes.size() + 64,
                          uint64_t{1} << 32,
                          uint64_t{1} << 63,
                          UINT64_MAX - 63,
                          UINT64_MAX};
  int opened = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = w.bytes;
    std::vector<PackEntry> entries = w.entries;
    PackEntry& e = entries[random() % entries.size()];
    uint64_t* const fields[] = {&e.constant, &e.bytes, &e.offset, &e.hash};
    *fields[random() % 4] = random() % 4 == 0 ? random() : odd[random() % (sizeof(odd) / sizeof(odd[0]))];
    PackHeader header = pack_header({entries.data(), entries.size()}, bad.size(), nullptr, 0, 0);
    if (random() % 8 == 0) {
      header.count = static_cast<uint32_t>(random());
      header.header_hash = 0;
      header.header_hash = pack_hash(&header, sizeof(header));
    }
    std::memcpy(bad.data(), &header, sizeof(header));
    std::memcpy(bad.data() + sizeof(header), entries.data(), entries.size() * sizeof(PackEntry));
    ++(use(bad) ? opened : refused);
    const Bytes held = copy_of(w.bytes);  // the same, after it was opened
    PackSet set;
    ASSERT_TRUE(set.open({held.get(), w.bytes.size()}));
    std::memcpy(held.get(), bad.data(), bad.size());
    for (uint32_t i = 0; i < set.count(); ++i) {
      PackEntry now;
      if (set.entry(i, &now)) {
        EXPECT_LE(now.bytes, w.bytes.size() - now.offset);
      }
      (void)set.find(w.entries[i]);
    }
    (void)set.contents_whole();
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(refused, 100);
}

TEST(PackHash, ALengthAndEachByteCount) {
  std::vector<uint8_t> data(300, 0);
  std::vector<uint64_t> seen;
  for (size_t n = 0; n <= data.size(); ++n) seen.push_back(pack_hash(data.data(), n));
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = 1;
    seen.push_back(pack_hash(data.data(), data.size()));
    data[i] = 0;
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace vireo::pack_set_test

#include "delegates/gpu/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

namespace vireo::gpu::schedule_test {
namespace {

Target device() {
  Target t;
  t.subgroup = 8;
  t.bindings = 8;
  t.int64 = true;
  return t;
}

// Two kernels, three steps, a constant of the graph and one of a body.
Schedule sample() {
  Schedule s;
  s.target = text_of(device());
  s.inputs = {1024, 12};
  s.outputs = {512};
  s.inner_bytes = 2048;
  s.weights = {{300, -1, 4}, {4, 1, 2}, {24, 0, 3, 3, 2, 4, true}};
  Kernel add{"add f32", {0x07230203, 0x10300, 0, 5, 0, 0x20011, 1, 0x30013, 2, 3}, {64, 1, 1}, 3, 0b100, 2};
  Kernel copy{"copy", {0x07230203, 0x10300, 0, 5, 0, 0x10000}, {8, 8, 2}, 2, 0b10, 0};
  s.kernels = {add, copy};
  s.steps = {{0,
              {{Where::kInput, 0, 256, 256}, {Where::kWeights, 0, 0, 300}, {Where::kInner, 0, 0, 256}},
              {1, 2},
              {4, 1, 1},
              false,
              0},
             {1, {{Where::kInner, 0, 0, 256}, {Where::kInner, 0, 1792, 256}}, {}, {1, 2, 3}, true, 1},
             {1, {{Where::kInner, 0, 1792, 256}, {Where::kOutput, 0, 256, 256}}, {}, {1, 1, 1}, true, 2}};
  return s;
}

// A copy that lies as a host's blob does.
struct Aligned {
  explicit Aligned(const std::vector<uint8_t>& from) : words(from.size() / 8 + 1), size(from.size()) {
    std::memcpy(words.data(), from.data(), size);
  }
  uint8_t* data() { return reinterpret_cast<uint8_t*>(words.data()); }
  std::vector<uint64_t> words;
  size_t size;
};

std::string why_not(const Schedule& s) {
  Aligned blob(write_schedule(s));
  Schedule read;
  return read_schedule(blob.data(), blob.size, device(), &read);
}

TEST(GpuSchedule, IsReadAsItWasWritten) {
  const Schedule s = sample();
  Aligned blob(write_schedule(s));
  Schedule read;
  ASSERT_STREQ(read_schedule(blob.data(), blob.size, device(), &read), "");
  EXPECT_EQ(read, s);
  EXPECT_EQ(write_schedule(read), write_schedule(s));
}

// Lists without elements end anywhere.
TEST(GpuSchedule, EmptyListsAreRead) {
  for (const size_t extra : {0, 1, 2, 3}) {
    Schedule s;
    s.target = text_of(device()) + std::string(extra, ' ');
    s.outputs = {4};
    Aligned blob(write_schedule(s));
    Schedule read;
    EXPECT_STREQ(read_schedule(blob.data(), blob.size, device(), &read),
                 extra == 0 ? "" : "compiled for another device");
  }
}

TEST(GpuSchedule, IsForItsDevice) {
  Target other = device();
  other.dot8 = true;
  Aligned blob(write_schedule(sample()));
  Schedule read;
  EXPECT_STREQ(read_schedule(blob.data(), blob.size, other, &read), "compiled for another device");
  EXPECT_EQ(read, Schedule());
}

TEST(GpuSchedule, WhatLeavesItsMemoryIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(Schedule*)>>> faults = {
      {"binding outside", [](Schedule* s) { s->steps[0].bindings[0].bytes = 1024; }},
      {"binding outside", [](Schedule* s) { s->steps[0].bindings[0].offset = UINT64_MAX - 255; }},
      {"binding outside", [](Schedule* s) { s->steps[0].bindings[0].offset = 4; }},
      {"binding outside", [](Schedule* s) { s->steps[0].bindings[0].bytes = 0; }},
      {"binding outside", [](Schedule* s) { s->inner_bytes = 256; }},
      {"memory that there is not", [](Schedule* s) { s->steps[0].bindings[0].index = 2; }},
      {"memory that there is not", [](Schedule* s) { s->steps[0].bindings[2].index = 1; }},
      {"memory that there is not", [](Schedule* s) { s->steps[0].bindings[0].where = static_cast<Where>(4); }},
      {"only read", [](Schedule* s) { s->kernels[0].writes |= 1; }},
      {"only read", [](Schedule* s) { s->kernels[0].writes |= 2; }},
      {"no binding", [](Schedule* s) { s->kernels[0].writes |= 8; }},
      {"more bindings", [](Schedule* s) { s->kernels[0].bindings = 9; }},
      {"without its arguments", [](Schedule* s) { s->steps[0].bindings.pop_back(); }},
      {"without its arguments", [](Schedule* s) { s->steps[0].push.clear(); }},
      {"more arguments", [](Schedule* s) { s->kernels[0].push_words = 33; }},
      {"kernel that there is not", [](Schedule* s) { s->steps[2].kernel = 2; }},
      {"workgroup is larger",
       [](Schedule* s) {
         s->kernels[1].size = {16, 16, 1};
       }},
      {"workgroup is larger", [](Schedule* s) { s->kernels[1].size[2] = 0; }},
      {"more workgroups", [](Schedule* s) { s->steps[1].groups[1] = 65536; }},
      {"more workgroups", [](Schedule* s) { s->steps[1].groups[1] = 0; }},
      {"no SPIR-V", [](Schedule* s) { s->kernels[0].words[5] = 0x60011; }},
      {"no SPIR-V", [](Schedule* s) { s->kernels[0].words[7] = 0; }},
      {"no SPIR-V", [](Schedule* s) { s->kernels[0].words.resize(5); }},
      {"no SPIR-V", [](Schedule* s) { s->kernels[0].words[0] = 1; }},
      {"memory that there is not", [](Schedule* s) { s->steps[0].bindings[1].index = 3; }},
      {"form that there is not", [](Schedule* s) { s->weights[0].taps = 2; }},
      {"form that there is not", [](Schedule* s) { s->weights[0].halves = true; }},
      {"form that there is not", [](Schedule* s) { s->weights[2].element = 2; }},
      {"form that there is not", [](Schedule* s) { s->weights[2].taps = 0; }},
      {"form that there is not", [](Schedule* s) { s->weights[2].taps = 5; }},
      {"form that there is not", [](Schedule* s) { s->weights[2].bytes = uint64_t{1} << 63; }},
      {"form that there is not", [](Schedule* s) { s->weights[2].nibbles = true; }},
      {"no value", [](Schedule* s) { s->weights[1].node = -2; }},
      {"no value", [](Schedule* s) { s->weights[1].value = -1; }},
      {"end where places do", [](Schedule* s) { s->inner_bytes -= 8; }},
  };
  for (const auto& [text, fault] : faults) {
    Schedule s = sample();
    fault(&s);
    EXPECT_NE(why_not(s).find(text), std::string::npos) << text << " / " << why_not(s);
  }
}

// Runs of [channels, taps] become [taps, channels], and floats halves.
TEST(GpuSchedule, ConstantsAreKeptInTheirForm) {
  const std::vector<float> from = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65536};
  std::vector<uint16_t> halves(12);
  keep_weight({24, 0, 0, 3, 2, 4, true}, from.data(), halves.data());
  EXPECT_EQ(halves, (std::vector<uint16_t>{0, 0x4000, 0x4400, 0x3c00, 0x4200, 0x4500, 0x4600, 0x4800, 0x4900, 0x4700,
                                           0x4880, 0x7c00}));
  keep_weight({24, 0, 0, 0, 0, 4, true}, from.data(), halves.data());
  EXPECT_EQ(halves[3], 0x4200);
  std::vector<float> floats(12);
  keep_weight({48, 0, 0, 6, 2, 4, false}, from.data(), floats.data());
  EXPECT_EQ(floats, (std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 65536}));
  const std::vector<uint8_t> codes = {0, 1, 2, 3, 4, 5};
  std::vector<uint8_t> bytes(6);
  keep_weight({6, 0, 0, 2, 3, 1, false}, codes.data(), bytes.data());
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 3, 1, 4, 2, 5}));
  std::vector<uint16_t> by_parts(halves.size());
  const Weight turned = {24, 0, 0, 3, 2, 4, true};
  ASSERT_EQ(runs_of(turned), 2u);
  keep_weight(turned, from.data(), halves.data());
  for (const uint64_t run : {1, 0}) keep_weight(turned, from.data(), by_parts.data(), run, run + 1);
  EXPECT_EQ(by_parts, halves);
  keep_weight({6, 0, 0}, codes.data(), bytes.data());
  EXPECT_EQ(bytes, codes);
  // Two runs of 4 x 66 codes of four bits, more taps than are read at once.
  constexpr uint32_t kChannels = 4, kTaps = 66;
  std::vector<uint8_t> nibbles(kChannels * kTaps), kept(nibbles.size());
  for (size_t i = 0; i < nibbles.size(); ++i) nibbles[i] = static_cast<uint8_t>(i * 37 + i / 7);
  const Weight narrow = {nibbles.size(), 0, 0, kChannels, kTaps, 1, false, true};
  ASSERT_EQ(runs_of(narrow), 2u);
  for (const uint64_t run : {1, 0}) keep_weight(narrow, nibbles.data(), kept.data(), run, run + 1);
  const auto at = [](const std::vector<uint8_t>& v, size_t i) { return v[i / 2] >> (i % 2 * 4) & 15; };
  for (size_t run = 0; run < 2; ++run) {
    for (size_t c = 0; c < kChannels; ++c) {
      for (size_t t = 0; t < kTaps; ++t) {
        const size_t first = run * kChannels * kTaps;
        ASSERT_EQ(at(kept, first + t * kChannels + c), at(nibbles, first + c * kTaps + t));
      }
    }
  }
}

// Whatever the bytes are, what is read keeps the promise: it is written and read again as the same.
TEST(GpuSchedule, DamagedBytesAreRefusedOrHarmless) {
  const std::vector<uint8_t> good = write_schedule(sample());
  Aligned blob(good);
  Schedule read;
  for (size_t length = 0; length < good.size(); ++length) {
    const char* const why = read_schedule(blob.data(), length, device(), &read);
    EXPECT_STRNE(why, "") << length;
  }
  EXPECT_STRNE(read_schedule(blob.data() + 4, good.size() - 4, device(), &read), "");
  std::mt19937_64 random(7);
  size_t refused = 0, taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::memcpy(blob.data(), good.data(), good.size());
    for (uint64_t k = 0; k <= random() % 3; ++k) blob.data()[random() % good.size()] = static_cast<uint8_t>(random());
    if (read_schedule(blob.data(), good.size(), device(), &read)[0] != 0) {
      ++refused;
      EXPECT_EQ(read, Schedule());
    } else {
      ++taken;
      EXPECT_EQ(why_not(read), "");
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(taken, 0u);
}

TEST(GpuTarget, TextsDifferWhereTargetsDo) {
  const std::string text = text_of(Target{});
  const auto differs = [&text](auto change) {
    Target t;
    change(&t);
    return text_of(t) != text;
  };
  EXPECT_TRUE(differs([](Target* t) { t->subgroup = 32; }));
  EXPECT_TRUE(differs([](Target* t) { t->shared_bytes = 32768; }));
  EXPECT_TRUE(differs([](Target* t) { t->buffer_bytes += 1; }));
  EXPECT_TRUE(differs([](Target* t) { t->units = {{16, 16, 16}}; }));
  EXPECT_TRUE(differs([](Target* t) { t->code_unit = {16, 16, 32}; }));
  for (bool Target::*ability :
       {&Target::storage16, &Target::storage8, &Target::float16, &Target::int8, &Target::int16, &Target::int64,
        &Target::float64, &Target::keeps_nan32, &Target::keeps_denormals32, &Target::rounds_even32, &Target::dot8})
    EXPECT_TRUE(differs([ability](Target* t) { t->*ability = true; }));
}

}  // namespace
}  // namespace vireo::gpu::schedule_test

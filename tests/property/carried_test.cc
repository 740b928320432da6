// State that a session carries, on a device that works on each kind of memory (joiner.h): right whatever comes between
// runs, without copies where the device has memory of its own, and lost with it only where the caller chose so.
#include "tests/property/joined_testing.h"

namespace vireo {
namespace {

constexpr int64_t kElements = 64;
constexpr uint64_t kBytes = kElements * sizeof(float);

class CarriedTest : public JoinedTest {};
class OwnCarriedTest : public JoinedTest {};
INSTANTIATE_TEST_SUITE_P(Memory, CarriedTest, testing::Values(Memory::kHosts, Memory::kOwn, Memory::kImported));
INSTANTIATE_TEST_SUITE_P(Memory, OwnCarriedTest, testing::Values(Memory::kOwn));

// Output "last" is input "z" of the next run.
FileBytes carrying_graph(uint32_t seed) {
  ConvertOptions options;
  options.states = {{"last", "z"}};
  return random_graph(seed, 12, false, 0, options);
}

// A session and what its runs gave.
class Stream {
 public:
  Stream(const vireo_model* model, const char* on, bool stays) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = on;
    options.state_stays = stays ? 1 : 0;
    EXPECT_EQ(vireo_session_create(model, &options, &handle, &error), VIREO_OK) << error.message;
  }
  ~Stream() { vireo_session_release(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // `z`: the caller's own data in place of the state. `last`: wants a copy of the output that is carried.
  vireo_status run(int salt, std::vector<float>* z = nullptr, bool last = false) {
    std::vector<float> x(kElements), copy(kElements);
    for (int64_t i = 0; i < kElements; ++i)
      x[static_cast<size_t>(i)] = static_cast<float>((i * 7 + salt) % 23 - 11) / 8;
    vireo_tensor in[2] = {tensor(&x), tensor(z)}, out[2] = {};
    if (last) out[0] = tensor(&copy);
    const vireo_status status = vireo_session_run(handle, in, 2, out, 2, &error);
    if (status != VIREO_OK) return status;
    stayed = out[0].data == nullptr;
    for (const vireo_tensor& t : out) {
      const auto* const f = static_cast<const float*>(t.data);
      seen.push_back(f == nullptr ? std::vector<float>() : std::vector<float>(f, f + kElements));
    }
    if (!last) seen[seen.size() - 2].clear();
    return status;
  }
  // What the next run would read.
  std::vector<float> state() {
    vireo_tensor t = {};
    EXPECT_EQ(vireo_session_input(handle, 1, &t, &error), VIREO_OK) << error.message;
    const auto* const f = static_cast<const float*>(t.data);
    return {f, f + kElements};
  }
  void set_state(float value) {
    vireo_tensor t = {};
    EXPECT_EQ(vireo_session_input(handle, 1, &t, &error), VIREO_OK) << error.message;
    std::fill_n(static_cast<float*>(t.data), kElements, value);
  }

  vireo_session* handle = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  std::vector<std::vector<float>> seen;
  bool stayed = false;

 private:
  static vireo_tensor tensor(std::vector<float>* data) {
    vireo_tensor t = {};
    if (data == nullptr) return t;
    t = {VIREO_FLOAT32, {0}, 2, 0, {4, 16}, data->data(), static_cast<int64_t>(kBytes)};
    return t;
  }
};

// Runs and what may come between them, drawn by `seed`; the same on both.
void drive(Stream& s, uint32_t seed) {
  std::mt19937 rng(seed);
  for (int k = 0; k < 12; ++k) {
    std::vector<float> z(kElements, static_cast<float>(k) / 4);
    switch (rng() % 8) {
      case 0:
        ASSERT_EQ(s.run(k, &z), VIREO_OK) << s.error.message;
        break;
      case 1:
        s.seen.push_back(s.state());
        break;
      case 2:
        s.set_state(static_cast<float>(k) / 8);
        break;
      case 3:
        ASSERT_EQ(vireo_session_reserve(&s.handle, nullptr, 0, &s.error), VIREO_OK) << s.error.message;
        break;
      case 4: {
        vireo_tensor wrong[2] = {};  // the run before it fails leaves what it left
        wrong[0].rank = 9;
        wrong[0].data = &z;
        EXPECT_EQ(vireo_session_run(s.handle, wrong, 2, nullptr, 0, &s.error), VIREO_INVALID_ARGUMENT);
        break;
      }
      case 5:
        ASSERT_EQ(vireo_session_reset(s.handle, &s.error), VIREO_OK) << s.error.message;
        break;
      default:
        ASSERT_EQ(s.run(k, nullptr, rng() % 3 == 0), VIREO_OK) << s.error.message;
    }
  }
  s.seen.push_back(s.state());
}

TEST_P(CarriedTest, WhateverComesBetweenRunsTheStateIsTheCpus) {
  int stayed = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = carrying_graph(seed);
    const Loaded loaded(bytes);
    device.longest = 1 + seed % 13;
    if (seed % 4 == 0) device.takes = 0x5a5a5a;
    for (const bool stays : {false, true}) {
      Stream expected(loaded.model, "cpu", stays), got(loaded.model, "joiner,cpu", stays);
      drive(expected, seed);
      drive(got, seed);
      EXPECT_EQ(got.seen, expected.seen) << "seed " << seed << (stays ? ", stays" : "");
      EXPECT_FALSE(expected.stayed);
      stayed += got.stayed ? 1 : 0;
      EXPECT_TRUE(stays || !got.stayed);
    }
  }
  EXPECT_EQ(stayed > 10, GetParam() == Memory::kOwn) << stayed;
}

// A run moves what the caller brings and wants, and the state only towards a host that wants it.
TEST_P(OwnCarriedTest, StateDoesNotMove) {
  for (const bool stays : {false, true}) {
    const FileBytes bytes = carrying_graph(4);  // without an Abs, and both inputs are read
    SetUp();
    const Loaded loaded(bytes);
    Stream s(loaded.model, "joiner", stays);
    ASSERT_EQ(s.run(0), VIREO_OK) << s.error.message;
    ASSERT_EQ(s.run(1), VIREO_OK) << s.error.message;
    device.written = device.read = 0;
    for (int k = 0; k < 5; ++k) ASSERT_EQ(s.run(2 + k), VIREO_OK) << s.error.message;
    EXPECT_EQ(s.stayed, stays);
    EXPECT_EQ(device.written, 5 * kBytes) << "x";
    EXPECT_EQ(device.read, (stays ? 5 : 10) * kBytes) << "the other output, and the state";
  }
}

TEST_P(OwnCarriedTest, ALostDeviceTakesTheStateAlongIfItStayed) {
  for (const bool stays : {false, true}) {
    SetUp();
    const FileBytes bytes = carrying_graph(7);
    const Loaded loaded(bytes);
    Stream expected(loaded.model, "cpu", false), got(loaded.model, "joiner,cpu", stays);
    for (Stream* s : {&expected, &got}) {
      for (int k = 0; k < 3; ++k) ASSERT_EQ(s->run(k), VIREO_OK) << s->error.message;
    }
    EXPECT_EQ(got.stayed, stays);
    lose();
    if (stays) {
      for (int k = 0; k < 2; ++k) {
        EXPECT_EQ(got.run(3), VIREO_DEVICE_LOST);
        EXPECT_NE(std::strstr(got.error.message, "vireo_session_reset"), nullptr) << got.error.message;
      }
      vireo_tensor t = {};
      EXPECT_EQ(vireo_session_input(got.handle, 1, &t, &got.error), VIREO_DEVICE_LOST);
      EXPECT_EQ(vireo_session_reserve(&got.handle, nullptr, 0, &got.error), VIREO_DEVICE_LOST);
      for (Stream* s : {&expected, &got}) ASSERT_EQ(vireo_session_reset(s->handle, &s->error), VIREO_OK);
    }
    for (Stream* s : {&expected, &got}) {
      for (int k = 3; k < 6; ++k) ASSERT_EQ(s->run(k), VIREO_OK) << s->error.message;
    }
    EXPECT_EQ(got.seen, expected.seen) << (stays ? "stays" : "");
    EXPECT_GT(vireo_session_failover_count(got.handle), 0u);
  }
}

}  // namespace
}  // namespace vireo

// Constants, scratch and state that lie in buffers of a device (joiner.h): shared by a model's sessions, counted to the
// byte, and right where memory is short or the device was lost.
#include "tests/property/joined_testing.h"

namespace vireo {
namespace {

class BufferTest : public JoinedTest {};
INSTANTIATE_TEST_SUITE_P(Memory, BufferTest, testing::Values(Memory::kOwn, Memory::kImported));

// Constants of a device's own layout are written once a model, also for parts with many of them, and counted to the
// byte; a device that came back from a loss gets them again.
TEST_P(BufferTest, ConstantsOnTheDeviceAreSharedBySessions) {
  int written = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SetUp();
    const FileBytes bytes = random_graph(seed, 60, false, 20);
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    device.longest = seed % 2 == 0 ? 64 : 3;
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = "joiner,cpu";
    options.packing = seed % 3 == 0 ? VIREO_PACKING_NEVER : VIREO_PACKING_DEFAULT;
    vireo_error error = VIREO_ERROR_INIT;
    vireo_memory memory = VIREO_MEMORY_INIT;
    ASSERT_EQ(vireo_model_memory(loaded.model, &options, &memory, &error), VIREO_OK) << error.message;
    const auto held = [] {
      uint64_t sum = 0;
      for (const Buffer* b : device.buffers) sum += b->own.size();
      return sum;
    };
    ASSERT_EQ(held(), 0u);
    vireo_session *first = nullptr, *second = nullptr;
    ASSERT_EQ(vireo_session_create(loaded.model, &options, &first, &error), VIREO_OK) << error.message;
    const int once = device.packs;
    written += once;
    EXPECT_EQ(held(), memory.device_bytes + memory.device_packed_bytes) << "seed " << seed;
    EXPECT_LE(memory.device_packed_bytes, 20u * 256) << "20 constants of 256 bytes";
    EXPECT_EQ(memory.device_packed_bytes == 0, once == 0);
    ASSERT_EQ(vireo_session_create(loaded.model, &options, &second, &error), VIREO_OK) << error.message;
    EXPECT_EQ(device.packs, once);
    EXPECT_EQ(held(), 2 * memory.device_bytes + memory.device_packed_bytes) << "seed " << seed;
    vireo_session_release(first);
    vireo_session_release(second);
    EXPECT_EQ(held(), memory.device_packed_bytes) << "they stay with the model";
    Result got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << "seed " << seed << ": " << got.message;
    ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    EXPECT_EQ(device.packs, once);
    lose();
    device.comes_back = true;
    got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << "seed " << seed << ": " << got.message;
    ASSERT_EQ(got.outputs, expected.outputs) << "seed " << seed;
    EXPECT_EQ(device.packs, got.on_joiner == 0 ? once : 2 * once);
  }
  EXPECT_GT(written, 300);
}

// Whatever allocation of the device's memory fails, its nodes run elsewhere and nothing is held twice.
TEST_P(BufferTest, ADeviceWithoutMemoryForConstantsIsDoneWithout) {
  const FileBytes bytes = random_graph(12, 60, false, 20);
  for (int left = 0; left < 4; ++left) {
    SetUp();
    const Loaded loaded(bytes);
    const Result expected = run(loaded.model, "cpu");
    device.buffers_left = left;
    const Result got = run(loaded.model, "joiner,cpu");
    ASSERT_EQ(got.status, VIREO_OK) << got.message;
    EXPECT_EQ(got.outputs, expected.outputs);
    const int needed = GetParam() == Memory::kOwn ? 3 : 2;  // work, constants, values; an import takes no memory
    EXPECT_EQ(got.on_joiner == 0, left < needed) << left;
    // Constants that were written stay with the model, for a session that finds room for its values.
    if (left < 2) {
      EXPECT_TRUE(device.buffers.empty()) << left;
    }
  }
}

// Allocations of the host fail one after the other while constants are put on the device.
TEST_P(BufferTest, EveryAllocationForConstantsMayFail) {
  const FileBytes bytes = random_graph(12, 40, false, 10);
  Failing failing;
  const vireo_allocator allocator = {allocate, give_back, &failing};
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = 1;
  vireo_session_options how = VIREO_SESSION_OPTIONS_INIT;
  how.device = "joiner,cpu";
  int64_t n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, 1000);
    {
      failing.left = -1;
      const Loaded loaded(bytes, &options);
      vireo_session* session = nullptr;
      vireo_error error = VIREO_ERROR_INIT;
      failing.left = n;
      const vireo_status status = vireo_session_create(loaded.model, &how, &session, &error);
      failing.left = -1;
      done = status == VIREO_OK;
      EXPECT_TRUE(done || status == VIREO_OUT_OF_ARENA) << error.message;
      vireo_session_release(session);
    }
    EXPECT_EQ(failing.held, 0) << "after allocation " << n << " failed";
    EXPECT_TRUE(device.buffers.empty()) << "after allocation " << n << " failed";
  }
  EXPECT_GT(n, 20);
}

}  // namespace
}  // namespace vireo

// Packed weights: as many bytes as were said, once for all sessions of a model, given back with it, and the same
// answers without.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

// Counts what is taken, refuses what is above `limit`.
struct Heap {
  std::atomic<size_t> held{0};
  size_t limit = SIZE_MAX;
  static void* take(void* self, size_t bytes, size_t alignment) {
    auto& heap = *static_cast<Heap*>(self);
    if (heap.held + bytes > heap.limit) return nullptr;
    heap.held += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void give(void* self, void* memory, size_t bytes, size_t) {
    static_cast<Heap*>(self)->held -= bytes;
    std::free(memory);
  }
};

class Packing : public ::testing::Test {
 protected:
  void SetUp() override {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    const vireo_allocator allocator = {Heap::take, Heap::give, &heap_};
    options.allocator = &allocator;
    options.threads = 2;
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, &error_), VIREO_OK) << error_.message;
    const std::string path = vireo::tests::build_path("models/packing.vireo");
    ASSERT_EQ(vireo_model_load_file(runtime_, path.c_str(), &model_, &error_), VIREO_OK) << error_.message;
    loaded_ = heap_.held;
  }
  void TearDown() override {
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
    EXPECT_EQ(heap_.held, 0u);
  }

  vireo_memory memory(vireo_packing packing) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.packing = packing;
    vireo_memory memory = VIREO_MEMORY_INIT;
    EXPECT_EQ(vireo_model_memory(model_, &options, &memory, &error_), VIREO_OK) << error_.message;
    return memory;
  }
  vireo_session* create(vireo_packing packing, vireo_error* error) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.packing = packing;
    vireo_session* session = nullptr;
    (void)vireo_session_create(model_, &options, &session, error);
    return session;
  }
  static std::vector<float> answer(vireo_session* session) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error), VIREO_OK) << error.message;
    for (int64_t i = 0; i < in.capacity / 4; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i % 17) - 8;
    EXPECT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &error), VIREO_OK) << error.message;
    const auto* p = static_cast<const float*>(out.data);
    return {p, p + out.capacity / 4};
  }

  Heap heap_;
  size_t loaded_ = 0;
  vireo_error error_ = VIREO_ERROR_INIT;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
};

TEST_F(Packing, AsManyBytesAsWereSaidOnceForAllSessions) {
  const vireo_memory with = memory(VIREO_PACKING_ALWAYS), without = memory(VIREO_PACKING_NEVER);
  EXPECT_GT(with.packed_bytes, 0u);
  EXPECT_EQ(without.packed_bytes, 0u);
  EXPECT_EQ(memory(VIREO_PACKING_DEFAULT).packed_bytes, with.packed_bytes);
  vireo_session* first = create(VIREO_PACKING_ALWAYS, &error_);
  ASSERT_NE(first, nullptr) << error_.message;
  EXPECT_EQ(heap_.held - loaded_, with.total_bytes + with.packed_bytes + with.text_bytes);
  vireo_session* second = create(VIREO_PACKING_ALWAYS, &error_);
  ASSERT_NE(second, nullptr) << error_.message;
  EXPECT_EQ(heap_.held - loaded_, 2 * with.total_bytes + with.packed_bytes + with.text_bytes);
  vireo_session* plain = create(VIREO_PACKING_NEVER, &error_);
  ASSERT_NE(plain, nullptr) << error_.message;
  EXPECT_EQ(heap_.held - loaded_, 2 * with.total_bytes + with.packed_bytes + with.text_bytes + without.total_bytes);
  const std::vector<float> one = answer(first), two = answer(second), three = answer(plain);
  EXPECT_EQ(one, two);
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], three[i], 1e-5 * (1 + std::abs(three[i])));
  for (vireo_session* session : {first, second, plain}) vireo_session_release(session);
  EXPECT_EQ(heap_.held - loaded_, with.packed_bytes + with.text_bytes);  // the model keeps them for the next session
}

TEST_F(Packing, TooLittleMemoryIsAnError) {
  const vireo_memory with = memory(VIREO_PACKING_ALWAYS);
  heap_.limit = loaded_ + with.text_bytes + with.total_bytes + with.packed_bytes - 1;
  EXPECT_EQ(create(VIREO_PACKING_ALWAYS, &error_), nullptr);
  EXPECT_EQ(error_.status, VIREO_OUT_OF_ARENA);
  EXPECT_NE(std::string(error_.message).find("VIREO_PACKING_NEVER"), std::string::npos) << error_.message;
  heap_.limit = SIZE_MAX;
  vireo_session* session = create(VIREO_PACKING_ALWAYS, &error_);
  ASSERT_NE(session, nullptr) << error_.message;
  EXPECT_EQ(heap_.held - loaded_,
            with.total_bytes + with.packed_bytes + with.text_bytes);  // what the first try packed is used
  EXPECT_FALSE(answer(session).empty());
  vireo_session_release(session);
}

TEST_F(Packing, TwoSessionsAtOnce) {
  vireo_session* sessions[2] = {};
  vireo_error errors[2] = {VIREO_ERROR_INIT, VIREO_ERROR_INIT};
  std::thread other([&] { sessions[1] = create(VIREO_PACKING_ALWAYS, &errors[1]); });
  sessions[0] = create(VIREO_PACKING_ALWAYS, &errors[0]);
  other.join();
  for (int i = 0; i < 2; ++i) ASSERT_NE(sessions[i], nullptr) << errors[i].message;
  const vireo_memory with = memory(VIREO_PACKING_ALWAYS);
  EXPECT_EQ(heap_.held - loaded_,
            2 * with.total_bytes + with.packed_bytes + with.text_bytes);  // a copy made twice is kept once
  EXPECT_EQ(answer(sessions[0]), answer(sessions[1]));
  for (vireo_session* session : sessions) vireo_session_release(session);
}

}  // namespace

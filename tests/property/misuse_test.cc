// What a caller can do wrong with the C API: null handles, one session in two threads, too small an arena, tensors that
// do not fit. Each is a status with a message, and the session goes on working. Run under the sanitizers, threads'
// included.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

// A pool of two threads whose work can be interrupted: before each job it calls `meanwhile` in a third thread, so that
// "while the session runs" happens every time and not by luck.
struct Pool {
  static void run(void* self, int64_t count, int64_t, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
    auto& pool = *static_cast<Pool*>(self);
    ++pool.jobs;
    if (pool.meanwhile) std::thread(pool.meanwhile).join();
    const int64_t half = count / 2;
    std::thread other([=] {
      if (half > 0) task(arg, 0, half, 1);
    });
    if (half < count) task(arg, half, count, 0);
    other.join();
  }
  std::function<void()> meanwhile;
  int jobs = 0;
};

class Misuse : public ::testing::Test {
 protected:
  void SetUp() override {
    const vireo_thread_pool pool = {Pool::run, &pool_, 2};
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.thread_pool = &pool;
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, &error_), VIREO_OK) << error_.message;
    path_ = vireo::tests::build_path("models/misuse.vireo");
    ASSERT_EQ(vireo_model_load_file(runtime_, path_.c_str(), &model_, &error_), VIREO_OK) << error_.message;
    ASSERT_EQ(vireo_session_create(model_, nullptr, &session_, &error_), VIREO_OK) << error_.message;
  }
  void TearDown() override {
    vireo_session_release(session_);
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }

  // The bytes of output 0 for an input that is the same in every call.
  std::vector<uint8_t> answer(vireo_session* session) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error), VIREO_OK) << error.message;
    for (int64_t i = 0; i < in.capacity / 4; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i % 17) - 8;
    EXPECT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &error), VIREO_OK) << error.message;
    const auto* p = static_cast<const uint8_t*>(out.data);
    return p == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(p, p + out.capacity);
  }

  Pool pool_;
  vireo_error error_ = VIREO_ERROR_INIT;
  std::string path_;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
  vireo_session* session_ = nullptr;
};

// C lets any number stand for a choice.
template <class Choice>
void set(Choice* choice, uint32_t number) {
  static_assert(sizeof(*choice) == sizeof(number), "C's enums are ints here");
  std::memcpy(choice, &number, sizeof(number));
}

TEST_F(Misuse, ChoicesThereAreNot) {
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  vireo_session* session = nullptr;
  vireo_memory memory = VIREO_MEMORY_INIT;
  for (const uint32_t number : {3u, 255u, 0xffffffffu}) {
    set(&options.packing, number);
    EXPECT_EQ(vireo_session_create(model_, &options, &session, &error_), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(vireo_model_memory(model_, &options, &memory, &error_), VIREO_INVALID_ARGUMENT);
    options.packing = VIREO_PACKING_DEFAULT;
    set(&options.failover, number);
    EXPECT_EQ(vireo_session_create(model_, &options, &session, &error_), VIREO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error_.message).find("failover"), std::string::npos);
    options.failover = VIREO_FAILOVER_DEFAULT;
    vireo_runtime_options runtime = VIREO_RUNTIME_OPTIONS_INIT;
    vireo_runtime* other = nullptr;
    set(&runtime.probe, number);
    EXPECT_EQ(vireo_runtime_create(&runtime, &other, &error_), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(other, nullptr);
  }
  EXPECT_EQ(session, nullptr);
}

TEST_F(Misuse, NullHandles) {
  vireo_error e = VIREO_ERROR_INIT;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_device_info device = VIREO_DEVICE_INFO_INIT;
  vireo_value_info value = VIREO_VALUE_INFO_INIT;
  vireo_meaning meaning = VIREO_MEANING_INIT;
  vireo_model_about about = VIREO_MODEL_ABOUT_INIT;
  vireo_dimension dimension = VIREO_DIMENSION_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_node_info node = VIREO_NODE_INFO_INIT;
  vireo_tensor tensor = {};
  const std::vector<std::function<vireo_status()>> calls = {
      [&] { return vireo_runtime_create(nullptr, nullptr, &e); },
      [&] { return vireo_runtime_device(nullptr, 0, &device, &e); },
      [&] { return vireo_runtime_device(runtime_, 0, nullptr, &e); },
      [&] { return vireo_model_load_file(nullptr, path_.c_str(), &model, &e); },
      [&] { return vireo_model_load_file(runtime_, nullptr, &model, &e); },
      [&] { return vireo_model_load_file(runtime_, path_.c_str(), nullptr, &e); },
      [&] { return vireo_model_load_memory(nullptr, &e, sizeof(e), &model, &e); },
      [&] { return vireo_model_load_memory(runtime_, nullptr, 64, &model, &e); },
      [&] { return vireo_model_load_memory(runtime_, &e, sizeof(e), nullptr, &e); },
      [&] { return vireo_model_check_hashes(nullptr, &e); },
      [&] { return vireo_model_input(nullptr, 0, &value, &e); },
      [&] { return vireo_model_input(model_, 0, nullptr, &e); },
      [&] { return vireo_model_output(nullptr, 0, &value, &e); },
      [&] { return vireo_model_output(model_, 0, nullptr, &e); },
      [&] { return vireo_model_input_meaning(nullptr, 0, &meaning, &e); },
      [&] { return vireo_model_input_meaning(model_, 0, nullptr, &e); },
      [&] { return vireo_model_output_meaning(nullptr, 0, &meaning, &e); },
      [&] { return vireo_model_output_meaning(model_, 0, nullptr, &e); },
      [&] { return vireo_model_describe(nullptr, &about, &e); },
      [&] { return vireo_model_describe(model_, nullptr, &e); },
      [&] { return vireo_model_dimension(nullptr, 0, &dimension, &e); },
      [&] { return vireo_model_dimension(model_, 0, nullptr, &e); },
      [&] { return vireo_model_memory(nullptr, nullptr, &memory, &e); },
      [&] { return vireo_model_memory(model_, nullptr, nullptr, &e); },
      [&] { return vireo_session_create(nullptr, nullptr, &session, &e); },
      [&] { return vireo_session_create(model_, nullptr, nullptr, &e); },
      [&] { return vireo_session_input(nullptr, 0, &tensor, &e); },
      [&] { return vireo_session_input(session_, 0, nullptr, &e); },
      [&] { return vireo_session_input_shape(nullptr, 0, nullptr, 0, &e); },
      [&] { return vireo_session_input_shape(session_, 0, nullptr, 4, &e); },
      [&] { return vireo_session_run(nullptr, nullptr, 0, nullptr, 0, &e); },
      [&] { return vireo_session_reset(nullptr, &e); },
      [&] { return vireo_session_reserve(nullptr, nullptr, 0, &e); },
      [&] { return vireo_session_reserve(&session, nullptr, 0, &e); },
      [&] { return vireo_session_reserve(&session_, nullptr, 1, &e); },
      [&] { return vireo_session_node(nullptr, 0, &node, &e); },
      [&] { return vireo_session_node(session_, 0, nullptr, &e); },
      [&] { return vireo_session_selftest(nullptr, 0, &e); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    e = VIREO_ERROR_INIT;
    EXPECT_EQ(calls[i](), VIREO_INVALID_ARGUMENT) << "call " << i;
    EXPECT_EQ(e.status, VIREO_INVALID_ARGUMENT) << "call " << i;
    EXPECT_NE(e.message[0], 0) << "call " << i;
  }
  EXPECT_EQ(vireo_runtime_create(nullptr, nullptr, nullptr), VIREO_INVALID_ARGUMENT);  // no error object either
  EXPECT_EQ(vireo_runtime_device_count(nullptr) + vireo_model_input_count(nullptr) + vireo_model_output_count(nullptr) +
                vireo_model_dimension_count(nullptr) + vireo_model_test_count(nullptr) +
                vireo_session_node_count(nullptr),
            0u);
  vireo_session_cancel(nullptr);
  vireo_session_release(nullptr);
  vireo_model_release(nullptr);
  vireo_runtime_release(nullptr);
  EXPECT_FALSE(answer(session_).empty());
}

TEST_F(Misuse, AFileThatIsNone) {
  const std::string fifo = "misuse_fifo";
  (void)unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  for (const std::string& path : {fifo, std::string("."), std::string("/dev/zero")}) {
    EXPECT_EQ(vireo_model_load_file(runtime_, path.c_str(), &model, &error), VIREO_IO) << path;
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(error.message).find(path), std::string::npos) << error.message;
  }
  (void)unlink(fifo.c_str());
}

TEST_F(Misuse, NumbersOutOfRange) {
  vireo_error e = VIREO_ERROR_INIT;
  vireo_value_info value = VIREO_VALUE_INFO_INIT;
  vireo_tensor tensor = {};
  EXPECT_EQ(vireo_model_input(model_, 1, &value, &e), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_model_output(model_, 0xFFFFFFFFu, &value, &e), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_session_input(session_, 1, &tensor, &e), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_session_selftest(session_, 0xFFFFFFFFu, &e), VIREO_INVALID_ARGUMENT);
  const int64_t dims[9] = {1, 1, 49, -1, 1, 1, 1, 1, 1};
  for (const int32_t rank : {-1, 0, 3, 4, 9, 0x7FFFFFFF}) {
    EXPECT_EQ(vireo_session_input_shape(session_, 0, dims, rank, &e), VIREO_INVALID_ARGUMENT) << rank;
    EXPECT_STREQ(e.tensor, "features") << rank;
  }
  EXPECT_FALSE(answer(session_).empty());
}

TEST_F(Misuse, TensorsThatDoNotFit) {
  std::vector<float> data(49 * 40 + 1);
  vireo_tensor good = {};
  good.dtype = VIREO_FLOAT32;
  good.rank = 4;
  const int64_t dims[4] = {1, 1, 49, 40};
  std::memcpy(good.dims, dims, sizeof(dims));
  good.data = data.data();
  good.capacity = 49 * 40 * 4;
  EXPECT_EQ(vireo_session_run(session_, &good, 1, nullptr, 0, &error_), VIREO_OK) << error_.message;
  const std::vector<std::function<void(vireo_tensor&)>> faults = {
      [](vireo_tensor& t) { t.dtype = VIREO_FLOAT64; },
      [](vireo_tensor& t) { t.dtype = 255; },
      [](vireo_tensor& t) { t.rank = 3; },
      [](vireo_tensor& t) { t.rank = -1; },
      [](vireo_tensor& t) { t.rank = 1000; },
      [](vireo_tensor& t) { t.dims[3] = 41; },
      [](vireo_tensor& t) { t.dims[3] = -40; },
      [](vireo_tensor& t) { t.dims[2] = INT64_MAX; },
      [](vireo_tensor& t) { t.capacity -= 1; },
      [](vireo_tensor& t) { t.capacity = -1; },
      [](vireo_tensor& t) { t.data = static_cast<char*>(t.data) + 1; },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    vireo_tensor bad = good;
    faults[i](bad);
    error_ = VIREO_ERROR_INIT;
    EXPECT_NE(vireo_session_run(session_, &bad, 1, nullptr, 0, &error_), VIREO_OK) << "fault " << i;
    EXPECT_NE(error_.message[0], 0) << "fault " << i;
    EXPECT_STREQ(error_.tensor, "features") << "fault " << i << ": " << error_.message;
    EXPECT_STREQ(error_.node, "") << "fault " << i;
  }
  vireo_value_info output = VIREO_VALUE_INFO_INIT;
  ASSERT_EQ(vireo_model_output(model_, 0, &output, &error_), VIREO_OK);
  float small = -7;
  vireo_tensor out = {};
  out.data = &small;
  out.capacity = sizeof(small);
  EXPECT_EQ(vireo_session_run(session_, &good, 1, &out, 1, &error_), VIREO_OUT_OF_ARENA);
  EXPECT_STREQ(error_.tensor, output.name) << error_.message;
  EXPECT_EQ(small, -7);
  EXPECT_FALSE(answer(session_).empty());
}

TEST_F(Misuse, ArenaOneByteTooSmall) {
  vireo_memory memory = VIREO_MEMORY_INIT;
  ASSERT_EQ(vireo_model_memory(model_, nullptr, &memory, &error_), VIREO_OK) << error_.message;
  std::vector<uint8_t> bytes(memory.total_bytes + 64);
  uint8_t* arena = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.arena = arena;
  for (const size_t size : {size_t{0}, size_t{1}, memory.total_bytes / 2, memory.total_bytes - 1}) {
    vireo_session* session = session_;
    options.arena_bytes = size;
    error_ = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_session_create(model_, &options, &session, &error_), VIREO_OUT_OF_ARENA) << size;
    EXPECT_NE(error_.message[0], 0);
    EXPECT_EQ(session, nullptr);
  }
  options.arena_bytes = memory.total_bytes;
  vireo_session* session = nullptr;
  ASSERT_EQ(vireo_session_create(model_, &options, &session, &error_), VIREO_OK) << error_.message;
  EXPECT_EQ(answer(session), answer(session_));
  vireo_session_release(session);
}

TEST_F(Misuse, TwoThreadsOnOneSession) {
  const std::vector<uint8_t> want = answer(session_);
  std::vector<vireo_status> met;
  pool_.jobs = 0;
  pool_.meanwhile = [&] {
    vireo_error e = VIREO_ERROR_INIT;
    vireo_tensor tensor = {};
    const int64_t dims[4] = {1, 1, 49, 40};
    met.push_back(vireo_session_run(session_, nullptr, 0, nullptr, 0, &e));
    met.push_back(vireo_session_input(session_, 0, &tensor, &e));
    met.push_back(vireo_session_input_shape(session_, 0, dims, 4, &e));
    met.push_back(vireo_session_reset(session_, &e));
    met.push_back(vireo_session_selftest(session_, 0, &e));
    met.push_back(vireo_session_reserve(&session_, nullptr, 0, &e));
    EXPECT_NE(std::string(e.message).find("another thread"), std::string::npos) << e.message;
  };
  EXPECT_EQ(answer(session_), want);
  ASSERT_GT(pool_.jobs, 0) << "no kernel of this model uses the pool: the test shows nothing";
  for (const vireo_status status : met) EXPECT_EQ(status, VIREO_BUSY);
  pool_.meanwhile = nullptr;
  EXPECT_EQ(answer(session_), want);
}

TEST_F(Misuse, CancelFromAnotherThread) {
  const std::vector<uint8_t> want = answer(session_);
  pool_.meanwhile = [&] { vireo_session_cancel(session_); };
  EXPECT_EQ(vireo_session_run(session_, nullptr, 0, nullptr, 0, &error_), VIREO_CANCELLED);
  pool_.meanwhile = nullptr;
  EXPECT_EQ(answer(session_), want);
}

// What is allowed: one model, a session for each thread, all on the runtime's own pool.
TEST_F(Misuse, HandlesAreReleasedInAnyOrder) {
  vireo_session* second = nullptr;
  ASSERT_EQ(vireo_session_create(model_, nullptr, &second, &error_), VIREO_OK) << error_.message;
  const std::vector<uint8_t> expected = answer(session_);
  vireo_runtime_release(runtime_);
  vireo_model_release(model_);
  runtime_ = nullptr;
  model_ = nullptr;
  vireo_session_release(session_);
  session_ = second;  // the last one closes the door
  EXPECT_EQ(answer(session_), expected);
}

TEST(Threads, SessionsOfOneModelSideBySide) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 2;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
  const std::string path = vireo::tests::build_path("models/misuse.vireo");
  ASSERT_EQ(vireo_model_load_file(runtime, path.c_str(), &model, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_model_test_count(model), 1u);  // the reference's case of a batch of four was left out
  std::vector<int> passed(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < passed.size(); ++t) {
    threads.emplace_back([&, t] {
      vireo_session* session = nullptr;
      vireo_error e = VIREO_ERROR_INIT;
      if (vireo_session_create(model, nullptr, &session, &e) != VIREO_OK) return;
      for (int i = 0; i < 5; ++i) passed[t] += vireo_session_selftest(session, 0, &e) == VIREO_OK ? 1 : 0;
      vireo_session_release(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, std::vector<int>(4, 5));
  vireo_model_release(model);
  vireo_runtime_release(runtime);
}

}  // namespace

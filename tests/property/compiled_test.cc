// Compiled parts as bytes, on the device of joiner.h: a second process compiles nothing and compares nothing, what was
// refused stays refused, another version of the driver compiles anew, and nothing that a file says is believed before
// the device at hand has shown it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "converter/emit/model_file.h"
#include "converter/emit/packed_file.h"
#include "converter/ir/infer.h"
#include "runtime/devices/runtime.h"
#include "tests/property/joiner.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo {

Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const kAll[] = {&vireo_cpu_delegate, &kJoiner};
  return {kAll, 2};
}

namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<uint8_t>;

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};

// relu, neg and add for the joiner, abs for the CPU, neg and sub again for the joiner.
Bytes two_parts() {
  const auto dims = std::make_shared<ir::DimTable>();
  ir::Graph g(dims);
  Shape shape;
  shape[shape.rank++] = 4;
  shape[shape.rank++] = 16;
  ir::Value* const x = g.add_input("x", {DType::kF32, shape});
  const auto node = [&](Op op, std::vector<ir::Value*> in) {
    const bool two = in.size() == 2;
    ir::Node* n = g.add_node(op, two ? pack<attrs::Binary>(attrs::BinaryT{}) : pack<attrs::Unary>(attrs::UnaryT{}),
                             std::move(in), 1);
    n->name = op_name(op);
    std::string message;
    EXPECT_TRUE(ok(ir::infer_node(g, n, nullptr, &message))) << message;
    return n->out();
  };
  ir::Value* const a = node(Op::kAdd, {node(Op::kNeg, {node(Op::kRelu, {x})}), x});
  ir::Value* const b = node(Op::kAbs, {a});
  g.add_output(node(Op::kSub, {node(Op::kNeg, {b}), a}), "y");
  emit::separate_outputs(g);
  FileBytes bytes;
  Diagnostics diagnostics;
  ConvertReport report;
  const auto made = emit::ModelFile::build(g, {}, {}, &diagnostics, &report);
  EXPECT_NE(made, nullptr) << diagnostics.text();
  if (made != nullptr) made->write(&bytes);
  return {bytes.data(), bytes.data() + bytes.size()};
}

// A load of the model as a process of its own would see it.
struct Load {
  std::unique_ptr<uint8_t[], AlignedFree> bytes;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  std::string log;
  vireo_error error = VIREO_ERROR_INIT;

  explicit Load(const Bytes& from) : bytes(static_cast<uint8_t*>(::operator new[](from.size(), std::align_val_t{64}))) {
    std::memcpy(bytes.get(), from.data(), from.size());
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.log = [](void* self, vireo_log_level, const char* text) {
      static_cast<Load*>(self)->log += text;
      static_cast<Load*>(self)->log += '\n';
    };
    options.log_context = this;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_memory(runtime, bytes.get(), from.size(), &model, &error), VIREO_OK) << error.message;
  }
  ~Load() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  static vireo_session_options options(const std::string& cache) {
    vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
    o.device = "joiner,cpu";
    o.cache = cache.empty() ? nullptr : cache.c_str();
    return o;
  }
  std::vector<float> answer(const std::string& cache = "", uint32_t* there = nullptr,
                            vireo_failover failover = VIREO_FAILOVER_DEFAULT) {
    vireo_session_options o = options(cache);
    o.failover = failover;
    vireo_session* session = nullptr;
    EXPECT_EQ(vireo_session_create(model, &o, &session, &error), VIREO_OK) << error.message;
    if (session == nullptr) return {};
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error), VIREO_OK);
    for (int i = 0; i < 64; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i * 7 % 23 - 11) / 8;
    EXPECT_EQ(vireo_session_run(session, nullptr, &out, &error), VIREO_OK) << error.message;
    const auto* f = static_cast<const float*>(out.data);
    std::vector<float> result(f, f + 64);
    for (uint32_t i = 0; there != nullptr && i < vireo_session_node_count(session); ++i) {
      vireo_node_info info = VIREO_NODE_INFO_INIT;
      EXPECT_EQ(vireo_session_node(session, i, &info, &error), VIREO_OK);
      *there += std::strcmp(info.device, "joiner") == 0 ? 1 : 0;
    }
    vireo_session_release(session);
    return result;
  }
  vireo_memory memory(const std::string& cache = "") {
    const vireo_session_options o = options(cache);
    vireo_memory m = VIREO_MEMORY_INIT;
    EXPECT_EQ(vireo_model_memory(model, &o, &m, &error), VIREO_OK) << error.message;
    return m;
  }
  // What this process compiled, as a section of a file wants it.
  std::vector<emit::PackedWeights> parts() {
    std::vector<emit::PackedWeights> list;
    for (uint32_t i = 0; i < vireo_model_packed_count(model); ++i) {
      vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
      EXPECT_EQ(vireo_model_packed(model, i, &copy, &error), VIREO_OK) << error.message;
      if (copy.kind != VIREO_COMPILED_PART) continue;
      emit::PackedWeights w = {};
      EXPECT_TRUE(pack_delegate(copy.delegate, w.name.delegate));
      w.name.kind = copy.kind;
      w.name.constant = copy.constant;
      std::copy(std::begin(copy.sizes), std::end(copy.sizes), w.name.sizes);
      w.name.bytes = copy.bytes;
      w.data = copy.data;
      list.push_back(w);
    }
    return list;
  }
};

Bytes with_parts(const Bytes& bytes, std::vector<emit::PackedWeights> parts) {
  std::string error;
  Bytes made = emit::with_packed_weights({bytes.data(), bytes.size()}, std::move(parts), "", &error);
  EXPECT_FALSE(made.empty()) << error;
  return made;
}

class CompiledTest : public testing::Test {
 protected:
  void SetUp() override {
    reset();
    folder_ = testing::TempDir() + "vireo_compiled_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    bytes_ = two_parts();
    Load load(bytes_);
    wanted_ = load.answer();
    made_ = device.compiles;
    runs_ = device.submits;  // each part: its trial and the run
    ASSERT_EQ(made_, 2);
    ASSERT_EQ(runs_, 4);
    zero();
  }
  void TearDown() override {
    std::error_code error;
    fs::remove_all(folder_, error);
    EXPECT_EQ(device.loaded, 0);
  }
  static void zero() { device.compiles = device.submits = 0; }
  static void reset() {
    device.takes = ~uint64_t{0};
    device.longest = 64;
    device.refuses.clear();
    device.wrong.clear();
    device.hangs = device.lost = device.no_memory = device.no_load = false;
    device.lost_at = -1;
    device.claimed_ns = 0;
    device.driver = "1";
    zero();
  }

  Bytes bytes_;
  std::vector<float> wanted_;
  std::string folder_;
  int made_ = 0, runs_ = 0;
};

TEST_F(CompiledTest, ASecondProcessCompilesAndComparesNothing) {
  {
    Load load(bytes_);
    EXPECT_EQ(load.answer(folder_), wanted_);
    EXPECT_EQ(device.compiles, made_);
  }
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 5u);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, 2);  // the run alone
  EXPECT_EQ(load.log, "");
  EXPECT_TRUE(load.parts().empty());
  const vireo_memory m = load.memory(folder_);
  EXPECT_GT(m.mapped_bytes, 0u);
  EXPECT_LT(m.compiled_bytes, 2 * 512u);  // the list's entries alone
}

TEST_F(CompiledTest, AnotherDriverCompilesAnew) {
  Load(bytes_).answer(folder_);
  zero();
  device.driver = "2";
  Load second(bytes_);
  EXPECT_EQ(second.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, made_);
  EXPECT_EQ(device.submits, runs_);
  zero();
  device.driver = "1";  // both are kept
  Load first(bytes_);
  EXPECT_EQ(first.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, 0);
}

TEST_F(CompiledTest, WhatIsRefusedIsNotTriedAgain) {
  device.refuses = {"Neg"};
  int tries = 0;
  {
    Load load(bytes_);
    EXPECT_EQ(load.answer(folder_), wanted_);
    tries = device.compiles;
    EXPECT_GT(tries, 2);
  }
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 3u);
  EXPECT_EQ(device.compiles, 0);
}

TEST_F(CompiledTest, WantOfMemoryPasses) {
  device.no_memory = true;
  {
    Load load(bytes_);
    uint32_t there = 0;
    EXPECT_EQ(load.answer(folder_, &there), wanted_);
    EXPECT_EQ(there, 0u);
  }
  device.no_memory = false;
  device.no_load = true;
  Load(bytes_).answer(folder_);
  device.no_load = false;
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 5u);
}

TEST_F(CompiledTest, WhatComputesWronglyIsKeptAsRefused) {
  device.wrong = {"Relu"};
  Load(bytes_).answer(folder_);
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 4u);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, 2);
}

// Kept by a session that compares nothing, a part is compared by the first that does.
TEST_F(CompiledTest, WhatWasNotComparedIsNotBelieved) {
  Load(bytes_).answer(folder_, nullptr, VIREO_FAILOVER_NEVER);
  zero();
  Load(bytes_).answer(folder_);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, runs_);
  zero();
  Load(bytes_).answer(folder_);
  EXPECT_EQ(device.submits, 2);
}

TEST_F(CompiledTest, AFileBringsThem) {
  Bytes packed;
  {
    Load load(bytes_);
    load.answer();
    const std::vector<emit::PackedWeights> parts = load.parts();
    EXPECT_EQ(parts.size(), 2u);
    packed = with_parts(bytes_, parts);
  }
  zero();
  {
    Load load(packed);
    EXPECT_EQ(vireo_model_check_hashes(load.model, nullptr), VIREO_OK);
    EXPECT_EQ(load.answer(), wanted_);
    EXPECT_EQ(device.compiles, 0);
    EXPECT_EQ(device.submits, runs_);  // but compared here
    EXPECT_EQ(load.log, "");
    EXPECT_GT(load.memory().mapped_bytes, 0u);
    Load cached(packed);
    cached.answer(folder_);
    zero();
    Load again(packed);
    EXPECT_EQ(again.answer(folder_), wanted_);
    EXPECT_EQ(device.submits, 2);  // now the user's folder says that they were compared
  }
  zero();
  device.driver = "2";
  Load load(packed);
  EXPECT_EQ(load.answer(), wanted_);
  EXPECT_EQ(device.compiles, made_);
  EXPECT_NE(load.log.find("another version of its driver"), std::string::npos) << load.log;
  EXPECT_EQ(std::count(load.log.begin(), load.log.end(), '\n'), 1) << load.log;
}

TEST_F(CompiledTest, AFileThatLiesIsFoundOut) {
  device.wrong = {"Relu"};
  Bytes packed;
  {
    Load load(bytes_);
    load.answer("", nullptr, VIREO_FAILOVER_NEVER);  // nobody compares
    packed = with_parts(bytes_, load.parts());
  }
  device.wrong.clear();
  zero();
  Load load(packed);
  uint32_t there = 0;
  EXPECT_EQ(load.answer("", &there), wanted_);
  EXPECT_EQ(there, 5u);
  EXPECT_EQ(device.compiles, 1);
  EXPECT_NE(load.log.find("compiles anew"), std::string::npos) << load.log;
}

// What does not load is compiled; contents and head with any byte changed are not used, or are, and change nothing.
TEST_F(CompiledTest, DamageCostsTimeAlone) {
  Load from(bytes_);
  from.answer();
  const std::vector<emit::PackedWeights> parts = from.parts();
  ASSERT_EQ(parts.size(), 2u);
  for (size_t at = 0; at < sizeof(CompiledHead) + 4; ++at) {
    std::vector<uint8_t> bad(static_cast<const uint8_t*>(parts[0].data),
                             static_cast<const uint8_t*>(parts[0].data) + parts[0].name.bytes);
    bad[at] ^= static_cast<uint8_t>(1u << (at % 8));
    std::vector<emit::PackedWeights> changed = parts;
    changed[0].data = bad.data();
    Load load(with_parts(bytes_, changed));
    EXPECT_EQ(load.answer(), wanted_) << "byte " << at;
  }
  Bytes unsealed = with_parts(bytes_, parts);
  zero();
  const auto* const code = static_cast<const uint8_t*>(parts[0].data) + sizeof(CompiledHead);
  const auto found = std::search(unsealed.begin(), unsealed.end(), code, code + 32);
  ASSERT_NE(found, unsealed.end());
  found[8] ^= 1;
  Load load(unsealed);
  EXPECT_EQ(load.answer(), wanted_);
  EXPECT_EQ(device.compiles, 1);
  EXPECT_NE(load.log.find("is damaged"), std::string::npos) << load.log;
}

TEST_F(CompiledTest, SessionsAtOnceShareOneList) {
  Load load(bytes_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      const vireo_session_options o = Load::options(folder_);
      vireo_session* session = nullptr;
      if (vireo_session_create(load.model, &o, &session, nullptr) != VIREO_OK) ++wrong;
      vireo_session_release(session);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  zero();
  Load again(bytes_);
  EXPECT_EQ(again.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, 0);
}

}  // namespace
}  // namespace vireo

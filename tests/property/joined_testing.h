// Graphs at random for the device of joiner.h, and what runs them. For joined_test.cc,
// device_packs_test.cc and carried_test.cc.
#ifndef VIREO_TESTS_PROPERTY_JOINED_TESTING_H_
#define VIREO_TESTS_PROPERTY_JOINED_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "converter/emit/model_file.h"
#include "converter/ir/constant.h"
#include "converter/ir/infer.h"
#include "runtime/devices/runtime.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "tests/property/joiner.h"
#include "vireo/delegate.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo {
namespace {

// ---- Graphs

Shape make(std::initializer_list<Dim> dims) {
  Shape s;
  for (const Dim d : dims) s[s.rank++] = d;
  return s;
}

// `nodes` operators on values of one shape; each reads values that were made before, so nothing but the order of the
// file says which of them are neighbours. Abs is what the joiner never takes. Of `constants` numbers, some operators
// have one as their second operand.
FileBytes random_graph(uint32_t seed, int nodes, bool symbolic, int constants = 0, const ConvertOptions& options = {}) {
  std::mt19937 rng(seed);
  const auto draw = [&rng](size_t n) { return static_cast<size_t>(rng()) % n; };
  const auto dims = std::make_shared<ir::DimTable>();
  ir::Graph g(dims);
  Shape shape = make({4, 16});
  if (symbolic) {
    shape[0] = dims->symbol("n");
    EXPECT_TRUE(dims->set_bounds("n", 1, 40));
  }
  std::vector<ir::Value*> values = {g.add_input("x", {DType::kF32, shape}), g.add_input("z", {DType::kF32, shape})};
  std::vector<ir::Value*> numbers;
  for (int i = 0; i < constants; ++i) {
    std::vector<float> content(64);
    for (float& v : content) v = static_cast<float>(static_cast<int>(rng() % 31) - 15) / 8;
    numbers.push_back(
        g.add_constant("c" + std::to_string(i), ir::make_constant_of<float>(DType::kF32, shape, content)));
  }
  for (int k = 0; k < nodes; ++k) {
    const Op ops[] = {Op::kRelu, Op::kNeg, Op::kAdd, Op::kSub, Op::kAbs};
    const Op op = ops[draw(9) == 0 ? 4 : draw(4)];
    const bool two = op == Op::kAdd || op == Op::kSub;
    const auto pick = [&] { return values[values.size() - 1 - draw(std::min<size_t>(values.size(), 5))]; };
    std::vector<ir::Value*> in = {pick()};
    if (two) in.push_back(constants != 0 && draw(2) == 0 ? numbers[draw(numbers.size())] : pick());
    ir::Node* n = g.add_node(op, two ? pack<attrs::Binary>(attrs::BinaryT{}) : pack<attrs::Unary>(attrs::UnaryT{}),
                             std::move(in), 1);
    n->name = "n" + std::to_string(k);
    std::string message;
    EXPECT_TRUE(ok(ir::infer_node(g, n, nullptr, &message))) << message;
    n->out()->name = "v" + std::to_string(k);
    values.push_back(n->out());
  }
  g.add_output(values.back(), "last");
  g.add_output(values[values.size() / 2 + 1], "middle");
  emit::separate_outputs(g);
  FileBytes bytes;
  Diagnostics diagnostics;
  ConvertReport report;
  const auto made = emit::ModelFile::build(g, options, {}, &diagnostics, &report);
  EXPECT_NE(made, nullptr) << diagnostics.text();
  if (made != nullptr) made->write(&bytes);
  return bytes;
}

struct Loaded {
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  explicit Loaded(const FileBytes& bytes, const vireo_runtime_options* options = nullptr) {
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_runtime_create(options, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_memory(runtime, bytes.data(), bytes.size(), &model, &error), VIREO_OK) << error.message;
  }
  ~Loaded() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

struct Result {
  vireo_status status = VIREO_OK;
  std::string message;
  std::vector<std::vector<float>> outputs;
  uint32_t on_joiner = 0, nodes = 0, failovers = 0;
  size_t arena_bytes = 0, device_bytes = 0;  // as vireo_model_memory says
  uint64_t buffer_bytes = 0;                 // of the session's buffers
  std::set<std::string> reasons;
};

inline Result run(const vireo_model* model, const char* name, int64_t rows = 4, int64_t bound = 0, int runs = 2,
                  uint64_t timeout_ns = 0, vireo_failover failover = VIREO_FAILOVER_DEFAULT,
                  vireo_math math = VIREO_MATH_EXACT) {
  Result r;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = name;
  options.device_timeout_ns = timeout_ns;
  options.failover = failover;
  options.math = math;
  const vireo_bound bounds[] = {{"n", 1, bound}};
  if (bound != 0) {
    options.bounds = bounds;
    options.bound_count = 1;
  }
  vireo_error error = VIREO_ERROR_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_session* session = nullptr;
  std::vector<uint8_t> block;
  for (int tries = 0; session == nullptr && tries < 20; ++tries) {  // nodes that compute wrongly change the plan
    const size_t before = memory.total_bytes;
    r.status = vireo_model_memory(model, &options, &memory, &error);
    if (r.status != VIREO_OK || memory.total_bytes == before) break;
    block.resize(memory.total_bytes + 64);
    options.arena = block.data() + (64 - reinterpret_cast<uintptr_t>(block.data()) % 64) % 64;
    options.arena_bytes = memory.total_bytes;
    r.status = vireo_session_create(model, &options, &session, &error);
    if (r.status != VIREO_OUT_OF_ARENA) break;
  }
  std::vector<float> x(static_cast<size_t>(rows) * 16), z(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 8;
    z[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9) / 4;
  }
  for (int k = 0; r.status == VIREO_OK && k < runs; ++k) {
    vireo_tensor in[2] = {}, out[2] = {};
    for (vireo_tensor& t : in) {
      t.dtype = VIREO_FLOAT32;
      t.rank = 2;
      t.dims[0] = rows;
      t.dims[1] = 16;
      t.capacity = static_cast<int64_t>(x.size() * sizeof(float));
    }
    in[0].data = x.data();
    in[1].data = z.data();
    r.status = vireo_session_run(session, in, 2, out, 2, &error);
    r.outputs.clear();
    for (const vireo_tensor& t : out) {
      if (r.status != VIREO_OK) break;
      EXPECT_EQ(t.dims[0], rows);
      const auto* f = static_cast<const float*>(t.data);
      r.outputs.emplace_back(f, f + rows * 16);
    }
  }
  r.message = error.message;
  r.failovers = vireo_session_failover_count(session);
  r.arena_bytes = memory.total_bytes;
  r.device_bytes = memory.device_bytes;
  r.buffer_bytes = device.buffer_bytes;
  r.nodes = session == nullptr ? 0 : vireo_session_node_count(session);
  for (uint32_t i = 0; i < r.nodes; ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    EXPECT_EQ(vireo_session_node(session, i, &info, &error), VIREO_OK);
    r.on_joiner += std::strcmp(info.device, "joiner") == 0 ? 1 : 0;
    r.reasons.insert(info.reason);
  }
  vireo_session_release(session);
  return r;
}

// The device works on each kind of memory.
class JoinedTest : public testing::TestWithParam<Memory> {
 protected:
  void SetUp() override {
    device.memory = GetParam();
    kJoiner = joiner_table(GetParam());
    device.buffers_left = 1000;
    device.queue.clear();
    device.written = device.read = 0;
    device.packs = 0;
    device.takes = ~uint64_t{0};
    device.longest = 64;
    device.refuses.clear();
    device.busy_looks = 0;
    device.hangs = device.lost = device.no_memory = device.no_load = device.comes_back = false;
    device.lost_at = -1;
    device.wrong.clear();
    device.trial_runs = device.wrong_one_in = 0;
    device.coarse = device.coarse_unasked = false;
    device.maths.clear();
    device.services.clear();
    device.max_buffer_bytes = 0;
    device.tells_time = true;
    device.declined_rows = 0;
    device.claimed_ns = 0;
    device.compiled_ns = 100;
    device.parts = device.compiles = device.loaded = device.submits = device.cancels = 0;
    device.sizes.clear();
  }
  void TearDown() override {
    EXPECT_EQ(device.loaded, 0);
    EXPECT_TRUE(device.buffers.empty());
    kJoiner = joiner_table(Memory::kHosts);
  }
};

// An allocator whose n-th allocation fails.
struct Failing {
  int64_t left = -1;
  int64_t held = 0;
};
inline void* allocate(void* context, size_t bytes, size_t alignment) {
  auto& f = *static_cast<Failing*>(context);
  if (f.left == 0) return nullptr;
  if (f.left > 0) --f.left;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) f.held += static_cast<int64_t>(bytes);
  return memory;
}
inline void give_back(void* context, void* memory, size_t bytes, size_t) {
  static_cast<Failing*>(context)->held -= static_cast<int64_t>(bytes);
  std::free(memory);
}

}  // namespace

// In the place of the build's own list.
Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const rows[] = {&kJoiner, &vireo_cpu_delegate};
  return rows;
}

}  // namespace vireo

#endif  // VIREO_TESTS_PROPERTY_JOINED_TESTING_H_

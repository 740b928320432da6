// A model of two parts for the device of joiner.h, and a load of it as a process of its own would see it. For
// compiled_test.cc and plans_test.cc.
#ifndef VIREO_TESTS_PROPERTY_TWO_PARTS_H_
#define VIREO_TESTS_PROPERTY_TWO_PARTS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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

using Bytes = std::vector<uint8_t>;

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};

// relu, neg and add for the joiner, abs for the CPU, neg and sub again for the joiner. `open`: of 1 to 40 rows, "n".
Bytes two_parts(bool open = false) {
  const auto dims = std::make_shared<ir::DimTable>();
  ir::Graph g(dims);
  Shape shape;
  shape[shape.rank++] = open ? dims->symbol("n") : 4;
  if (open) {
    EXPECT_TRUE(dims->set_bounds("n", 1, 40));
  }
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
    return answer(o, there);
  }
  // `there`: the nodes on the joiner are added. Empty when there is no session: `error` tells.
  std::vector<float> answer(const vireo_session_options& o, uint32_t* there, bool expect = true) {
    vireo_session* session = nullptr;
    if (!expect) {
      EXPECT_NE(vireo_session_create(model, &o, &session, &error), VIREO_OK);
      return {};
    }
    EXPECT_EQ(vireo_session_create(model, &o, &session, &error), VIREO_OK) << error.message;
    if (session == nullptr) return {};
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error), VIREO_OK);
    for (int i = 0; i < 64; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i * 7 % 23 - 11) / 8;
    EXPECT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &error), VIREO_OK) << error.message;
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

inline Bytes with_parts(const Bytes& bytes, std::vector<emit::PackedWeights> parts) {
  std::string error;
  Bytes made = emit::with_packed_weights({bytes.data(), bytes.size()}, std::move(parts), "", &error);
  EXPECT_FALSE(made.empty()) << error;
  return made;
}

}  // namespace
}  // namespace vireo

#endif  // VIREO_TESTS_PROPERTY_TWO_PARTS_H_

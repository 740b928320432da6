// A driver that is linked in instead of opened: the npu's, in the place of the build's own list, as firmware has it.
// Built a second time without threads, where a submit is done when it returns.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "delegates/npu/driver/driver.h"
#include "runtime/devices/runtime.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo {

Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const rows[] = {&vireo_npu_delegate, &vireo_cpu_delegate};
  return rows;
}

namespace {

struct Runtime {
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  Runtime() {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_file(runtime, vireo::tests::source_path("tests/golden/integer_golden.vireo").c_str(),
                                    &model, &error),
              VIREO_OK)
        << error.message;
  }
  ~Runtime() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  std::vector<std::string> devices() const {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      EXPECT_EQ(vireo_runtime_device(runtime, i, &info, &error), VIREO_OK);
      names.emplace_back(info.name);
    }
    return names;
  }
};

struct Result {
  std::vector<std::vector<uint8_t>> outputs;
  uint32_t on_npu = 0, failovers = 0;
};
Result run(const Runtime& r, const char* device) {
  Result out;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = device;
  vireo_session* session = nullptr;
  EXPECT_EQ(vireo_session_create(r.model, &options, &session, &error), VIREO_OK) << error.message;
  if (session == nullptr) return out;
  std::mt19937 values(5);
  for (uint32_t i = 0; i < vireo_model_input_count(r.model); ++i) {
    vireo_tensor in = {};
    EXPECT_EQ(vireo_session_input(session, i, &in, &error), VIREO_OK);
    for (int64_t k = 0; k < in.capacity; ++k) static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(values() % 64);
  }
  std::vector<vireo_tensor> results(vireo_model_output_count(r.model));
  EXPECT_EQ(vireo_session_run(session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error),
            VIREO_OK)
      << error.message;
  for (const vireo_tensor& y : results) {
    const auto* const p = static_cast<const uint8_t*>(y.data);
    out.outputs.emplace_back(p, p + y.capacity);
  }
  for (uint32_t i = 0; i < vireo_session_node_count(session); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    EXPECT_EQ(vireo_session_node(session, i, &info, &error), VIREO_OK);
    out.on_npu += std::strcmp(info.device, "npu") == 0 ? 1 : 0;
  }
  out.failovers = vireo_session_failover_count(session);
  vireo_session_release(session);
  return out;
}

TEST(Linked, ASessionRunsOnItWithoutAPlugIn) {
  const Runtime r;
  EXPECT_EQ(r.devices(), (std::vector<std::string>{"npu", "cpu"}));
  EXPECT_EQ(vireo_runtime_plugin_count(r.runtime), 0u);
  const Result cpu = run(r, "cpu"), npu = run(r, "npu,cpu");
  EXPECT_EQ(cpu.on_npu, 0u);
  EXPECT_GT(npu.on_npu, 0u);
  EXPECT_EQ(npu.failovers, 0u);
  EXPECT_EQ(npu.outputs, cpu.outputs);
}

TEST(Linked, RuntimesShareTheDevice) {
  const Runtime outer;
  const Result want = run(outer, "cpu");
  {
    const Runtime inner;
    EXPECT_EQ(run(inner, "npu,cpu").outputs, want.outputs);
  }
  EXPECT_EQ(run(outer, "npu,cpu").outputs, want.outputs);
  auto* const first = new Runtime;
  const Runtime second;  // outlives the one that was there before it
  delete first;
  EXPECT_EQ(run(second, "npu,cpu").outputs, want.outputs);
}

TEST(Linked, AnOpenedDriverHasADeviceOfItsOwn) {
  const vireo_delegate* table = nullptr;
  const Runtime r;
  ASSERT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI, &r.runtime->host, &table), VIREO_OK);
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  void *opened = nullptr, *linked = nullptr;
  EXPECT_EQ(table->enumerate(table->self, &r.runtime->host, 0, &info, &opened), VIREO_OK);
  EXPECT_EQ(vireo_npu_delegate.enumerate(vireo_npu_delegate.self, &r.runtime->host, 0, &info, &linked), VIREO_OK);
  EXPECT_NE(opened, linked);
  EXPECT_EQ(run(r, "npu,cpu").outputs, run(r, "cpu").outputs);
  vireo_npu_delegate.release(vireo_npu_delegate.self);
  table->release(table->self);
  EXPECT_EQ(run(r, "npu,cpu").outputs, run(r, "cpu").outputs);
}

}  // namespace
}  // namespace vireo

// The guard of runtime/run/part_guard.h sees a kernel that leaves its operands or the scratch that it asked for.
#include <gtest/gtest.h>

#include <functional>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "runtime/devices/runtime.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo {
namespace {

constexpr size_t kScratch = 72, kElements = 15;

// What a kernel does besides its work: x and y of 15 float32 each, and scratch.
std::function<void(volatile float* x, volatile float* y, volatile uint8_t* scratch)> besides;

vireo_status memory(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                    const vireo_memory_request* with, vireo_part_memory* out) {
  const vireo_status status = vireo_cpu_delegate.memory(device, host, graph, part, with, out);
  EXPECT_LE(out->scratch_bytes, kScratch);
  out->scratch_bytes = kScratch;
  return status;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  if (besides)
    besides(static_cast<float*>(inputs[0]->data), static_cast<float*>(outputs[0]->data),
            static_cast<uint8_t*>(with->scratch));
  return vireo_cpu_delegate.submit(loaded, inputs, input_count, outputs, output_count, with);
}

const vireo_delegate kLoose = [] {
  vireo_delegate d = vireo_cpu_delegate;
  d.memory = memory;
  d.submit = submit;
  return d;
}();

TEST(Guard, KernelsThatLeaveTheirMemory) {
  testing::ModelBuilder m;
  m.input("x", {"3", "5"}).output("y");
  m.node("Exp", {"x"}, {"a"});
  m.node("Softmax", {"a"}, {"b"});
  m.node("Exp", {"b"}, {"y"});
  testing::Folder folder;
  ConvertOptions options;
  options.optimize = false;
  Diagnostics diagnostics;
  FileBytes file;
  ASSERT_TRUE(convert_to_memory(folder.write("m.onnx", m.bytes()), options, &file, &diagnostics, nullptr))
      << diagnostics.text();
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime_options alone = VIREO_RUNTIME_OPTIONS_INIT;
  alone.threads = 1;  // death tests fork
  ASSERT_EQ(vireo_runtime_create(&alone, &runtime, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_model_load_memory(runtime, file.data(), file.size(), &model, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_session_create(model, nullptr, &session, &error), VIREO_OK) << error.message;
  const auto run = [&] { return vireo_session_run(session, nullptr, 0, nullptr, 0, &error); };

  besides = [](volatile float* x, volatile float* y, volatile uint8_t* scratch) {
    y[0] = x[kElements - 1];
    y[kElements - 1] = 0;
    scratch[0] = scratch[kScratch - 1] = 1;
  };
  EXPECT_EQ(run(), VIREO_OK) << error.message;
  besides = [](volatile float*, volatile float* y, volatile uint8_t*) { y[kElements] = 0; };
  EXPECT_DEATH(run(), "AddressSanitizer");
  besides = [](volatile float* x, volatile float* y, volatile uint8_t*) { y[0] = x[kElements]; };
  EXPECT_DEATH(run(), "AddressSanitizer");
  besides = [](volatile float*, volatile float*, volatile uint8_t* scratch) { scratch[kScratch] = 0; };
  EXPECT_DEATH(run(), "AddressSanitizer");
  besides = [](volatile float*, volatile float*, volatile uint8_t* scratch) { *(scratch - 1) = 0; };
  EXPECT_DEATH(run(), "AddressSanitizer");
  besides = nullptr;
  EXPECT_EQ(run(), VIREO_OK) << error.message;
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
}

}  // namespace

// In the place of the build's own list.
Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const rows[] = {&kLoose};
  return rows;
}

}  // namespace vireo

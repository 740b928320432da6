// A thousand times from file to answer and back: the process is then as large as it was.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/support/roots.h"
#include "vireo/vireo.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VIREO_SANITIZED 1
#else
#define VIREO_SANITIZED 0
#endif

namespace {

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atoll(line.c_str() + 6);
  }
  return -1;
}

void cycle(const std::string& file, const char* device, const char* plugins) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 2;
  options.plugins = plugins;
  options.probe = VIREO_PROBE_NEVER;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  ASSERT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_model_load_file(runtime, file.c_str(), &model, &error), VIREO_OK) << error.message;
  vireo_session_options with = VIREO_SESSION_OPTIONS_INIT;
  with.device = device;
  ASSERT_EQ(vireo_session_create(model, &with, &session, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_session_run(session, nullptr, 0, nullptr, 0, &error), VIREO_OK) << error.message;
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
}

void run(const std::string& file, const char* device, const char* plugins, int cycles) {
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(cycle(file, device, plugins));  // what is made once is made
  (void)malloc_trim(0);
  const int64_t before = resident_kib();
  for (int i = 0; i < cycles; ++i) ASSERT_NO_FATAL_FAILURE(cycle(file, device, plugins));
  (void)malloc_trim(0);
  const int64_t after = resident_kib();
  std::printf("%d cycles: %lld KiB before, %lld KiB after\n", cycles, static_cast<long long>(before),
              static_cast<long long>(after));
#if !VIREO_SANITIZED  // which says itself what leaks
  // A byte for each cycle would not show; a page for every fourth does. Threads' stacks come and go by pages.
  EXPECT_LT(after - before, 1024);
#endif
}

constexpr int kCycles = VIREO_SANITIZED ? 50 : 1000;  // freed memory stays with a sanitizer

TEST(Cycles, MemoryIsBack) { run(vireo::tests::build_path("models/kws_smoke.vireo"), nullptr, "", kCycles); }

TEST(Cycles, MemoryIsBackWithAPlugIn) {
  const std::string plugin = vireo::tests::build_path("plugins/libvireo_npu.so");
  if (!std::ifstream(plugin).good()) GTEST_SKIP() << "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)";
  run(vireo::tests::source_path("tests/golden/integer_golden.vireo"), "npu,cpu", plugin.c_str(), kCycles / 4);
}

}  // namespace

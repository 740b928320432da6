// Under callgrind: how many instructions the third run of each model takes, the dispatch of its nodes with it.
//
//   valgrind --tool=callgrind --callgrind-out-file=F --collect-atstart=no count_run MODEL.vireo...
//
// Each model's count is dumped under its own name (F.1, F.2, ... with "desc: Trigger: Client Request: MODEL.vireo").
// Inputs are small numbers that repeat, open extents 1. Exit status 1 names the model that cannot run.
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstring>

#include "vireo/vireo.h"

namespace {

int fail(const char* file, const vireo_error& error) {
  std::fprintf(stderr, "count_run: %s: %s\n", file, error.message);
  return 1;
}

// Values between -1 and 1 for floats, 0 to 6 for all else.
void fill(const vireo_tensor& tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d) count *= tensor.dims[d];
  const auto bytes = static_cast<size_t>(vireo_dtype_bytes(tensor.dtype, count));
  if (tensor.dtype == VIREO_FLOAT32) {
    for (int64_t i = 0; i < count; ++i) static_cast<float*>(tensor.data)[i] = static_cast<float>(i % 17 - 8) / 8.0f;
  } else if (bytes == static_cast<size_t>(count)) {
    for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(tensor.data)[i] = static_cast<uint8_t>(i % 7);
  } else {
    std::memset(tensor.data, 0, bytes);
  }
}

int count(vireo_runtime* runtime, const char* file) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.packing = VIREO_PACKING_ALWAYS;
  if (vireo_model_load_file(runtime, file, &model, &error) != VIREO_OK) return fail(file, error);
  if (vireo_session_create(model, &options, &session, &error) != VIREO_OK) return fail(file, error);
  for (int run = 0; run < 3; ++run) {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_tensor input = {};
      if (vireo_session_input(session, i, &input, &error) != VIREO_OK) return fail(file, error);
      fill(input);
    }
    if (run == 2) {
      CALLGRIND_ZERO_STATS;
      CALLGRIND_TOGGLE_COLLECT;
    }
    const vireo_status status = vireo_session_run(session, nullptr, 0, nullptr, 0, &error);
    if (run == 2) {
      CALLGRIND_TOGGLE_COLLECT;
      CALLGRIND_DUMP_STATS_AT(file);
    }
    if (status != VIREO_OK) return fail(file, error);
  }
  vireo_session_release(session);
  vireo_model_release(model);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  vireo_runtime* runtime = nullptr;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) return fail("runtime", error);
  int status = 0;
  for (int i = 1; i < argc && status == 0; ++i) status = count(runtime, argv[i]);
  vireo_runtime_release(runtime);
  return status;
}

// What the runtime costs beside the kernels that it calls: each model runs through vireo_session_run, and its steps'
// submit functions are called one after another on the same tensors, by turns in one process.
//   overhead [-p PLUGINS] [-d DEVICES] MODEL.vireo...
// One line a model: steps, microseconds of both (median of 51 interleaved rounds), what a step costs more in
// nanoseconds, the share of the run, and the share of the session's memory that holds neither tensors nor scratch. One
// thread; steps whose shapes are worked out at run time, or that own bodies, are named and the model is left out.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/run/session.h"
#include "vireo/vireo.h"

namespace {

using Clock = std::chrono::steady_clock;

double us(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

vireo_status run_directly(vireo_session& s) {
  for (uint32_t i = 0; i < s.main.step_count; ++i) {
    vireo::Step& step = s.main.steps[i];
    if (step.in_place) continue;
    auto** const args = reinterpret_cast<vireo_tensor**>(step.args);
    const vireo_status status = step.call.submit(step.call.loaded, args, step.input_count, args + step.input_count,
                                                 step.output_count, &s.submit);
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

const char* left_out(const vireo_session& s) {
  for (uint32_t i = 0; i < s.main.step_count; ++i) {
    if (s.main.steps[i].kind != vireo::Step::kPart) return "control flow";
    if (s.main.steps[i].shapes.infer) return "shapes at run time";
    if (s.main.steps[i].away.device != nullptr) return "a device that works beside the host";
  }
  return nullptr;
}

int measure(vireo_runtime* runtime, const char* path, const char* devices) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = devices;
  vireo_memory memory = VIREO_MEMORY_INIT;
  int failed = 1;
  if (vireo_model_load_file(runtime, path, &model, &error) != VIREO_OK ||
      vireo_model_memory(model, &options, &memory, &error) != VIREO_OK ||
      vireo_session_create(model, &options, &session, &error) != VIREO_OK ||
      vireo_session_run(session, nullptr, 0, nullptr, 0, &error) != VIREO_OK) {
    std::fprintf(stderr, "%s: %s\n", path, error.message);
  } else if (const char* why = left_out(*session); why != nullptr) {
    std::printf("%-32s left out: %s\n", path, why);
    failed = 0;
  } else {
    std::vector<double> through, direct, extra;
    // Rounds of at least some 200 us, so that the clock's own time does not count.
    const Clock::time_point begin = Clock::now();
    (void)vireo_session_run(session, nullptr, 0, nullptr, 0, nullptr);
    const int times = static_cast<int>(std::clamp(200.0 / std::max(0.05, us(Clock::now() - begin)), 1.0, 2000.0));
    for (int round = 0; round < 51; ++round) {
      double spent[2] = {};
      for (int turn = 0; turn < 2; ++turn) {
        const int which = (turn + round) % 2;
        const Clock::time_point start = Clock::now();
        for (int k = 0; k < times; ++k) {
          if (which == 0) {
            (void)vireo_session_run(session, nullptr, 0, nullptr, 0, nullptr);
          } else {
            (void)run_directly(*session);
          }
        }
        spent[which] = us(Clock::now() - start) / times;
      }
      through.push_back(spent[0]);
      direct.push_back(spent[1]);
      extra.push_back(spent[0] - spent[1]);
    }
    const double more = median(extra), all = median(through);
    const char* const name = std::strrchr(path, '/');
    std::printf(
        "%-32s %5u steps %10.2f us %10.2f us directly %8.1f ns a step %7.3f us = %6.2f %%, memory %5.2f %% (%zu "
        "bytes)\n",
        name == nullptr ? path : name + 1, session->main.step_count, all, median(direct),
        1000 * more / std::max(1u, session->main.step_count), more, 100 * more / all,
        100.0 * static_cast<double>(memory.state_bytes) / static_cast<double>(memory.total_bytes), memory.state_bytes);
    failed = 0;
  }
  vireo_session_release(session);
  vireo_model_release(model);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const char *plugins = "", *devices = "auto";
  int first = 1;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    if (std::strcmp(argv[first], "-p") == 0) plugins = argv[first + 1];
    if (std::strcmp(argv[first], "-d") == 0) devices = argv[first + 1];
  }
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  options.plugins = plugins;
  vireo_runtime* runtime = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  std::vector<double> discovery;
  for (int i = 0; i < 11; ++i) {
    vireo_runtime_release(runtime);
    const Clock::time_point begin = Clock::now();
    if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) {
      std::fprintf(stderr, "%s\n", error.message);
      return 1;
    }
    discovery.push_back(us(Clock::now() - begin));
  }
  std::printf("%u devices found in %.3f ms (the first time %.3f ms)\n", vireo_runtime_device_count(runtime),
              median(discovery) / 1000, discovery[0] / 1000);
  int failed = 0;
  for (int i = first; i < argc; ++i) failed += measure(runtime, argv[i], devices);
  vireo_runtime_release(runtime);
  return failed == 0 ? 0 : 1;
}

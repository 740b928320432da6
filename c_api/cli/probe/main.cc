// vireo-probe PLUGIN: what a runtime lets a plug-in do in a process of its own before it opens it
// (runtime/platform/probe.h).
//
// Lines on standard output: "at ..." before each step, so that the parent knows where a crash or a hang was; at the end
// "ok", "refused REASON" (the runtime would say the same), or "wrong REASON".
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <exception>
#include <string>

#include "c_api/cli/probe/known.h"
#include "c_api/cli/probe/marked_memory.h"

namespace {

using vireo::cli::DriverLog;
using vireo::cli::KnownModel;
using vireo::cli::marked_memory;
using vireo::cli::Runs;
using vireo::cli::Wrong;

FILE* answers = nullptr;
DriverLog driver_log;

// What the plug-in prints goes nowhere: standard output is the parent's.
bool keep_answers_apart() {
  const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (own < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) return false;
  (void)close(nowhere);
  answers = fdopen(own, "w");
  return answers != nullptr;
}

void say(const char* word, const std::string& text) {
  fprintf(answers, "%s%s%s\n", word, text.empty() ? "" : " ", text.c_str());
  fflush(answers);
}

void probe(const char* path) {
  say("at", "was opened");
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.plugins = path;
  options.probe = VIREO_PROBE_NEVER;
  options.threads = 2;
  options.allocator = marked_memory();
  options.log = DriverLog::write;
  options.log_context = &driver_log;
  vireo_runtime* runtime = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) return say("refused", error.message);
  vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
  if (vireo_runtime_plugin_count(runtime) != 1 || vireo_runtime_plugin(runtime, 0, &info, &error) != VIREO_OK)
    return say("refused", error.message);
  if (info.reason[0] != 0) return say("refused", info.reason + driver_log.take());
  vireo_session_options alone = VIREO_SESSION_OPTIONS_INIT;
  alone.failover = VIREO_FAILOVER_NEVER;  // nothing is put right behind the probe's back
  // Plug-ins stand behind what is built in.
  const uint32_t count = vireo_runtime_device_count(runtime);
  for (uint32_t d = count - info.device_count; d < count; ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(runtime, d, &device, &error) != VIREO_OK) throw Wrong{error.message};
    for (const KnownModel& m : vireo::cli::known_models(false)) {
      say("at", "ran " + m.name + " on \"" + device.name + "\"");
      Runs got, want;
      if (run_known(runtime, m, device.name, alone, &got) == 0) continue;
      (void)run_known(runtime, m, "cpu", alone, &want);
      require_same(m, device.name, got, want);
    }
  }
  say("at", "was closed");
  vireo_runtime_release(runtime);
  say("ok", "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: vireo-probe PLUGIN\n");
    return 2;
  }
  if (!keep_answers_apart()) {
    perror("vireo-probe");
    return 2;
  }
  try {
    probe(argv[1]);
  } catch (const Wrong& wrong) {
    say("wrong", wrong.why + driver_log.take());
  } catch (const std::exception& e) {
    say("wrong", e.what());
  }
  return 0;
}

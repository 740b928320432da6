#include "converter/cli/limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "c_api/cli/app.h"
#include "c_api/cli/machine.h"

namespace vireo::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
// A sanitizer's own memory would be counted, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsMemory = false;
#else
constexpr bool kCountsMemory = true;
#endif

// Written before they are needed: a signal handler may make nothing.
std::string g_message, g_object;

void time_is_over(int) {  // what a signal handler may call, and nothing else
  (void)!write(STDOUT_FILENO, g_object.data(), g_object.size());
  (void)!write(STDERR_FILENO, g_message.data(), g_message.size());
  _exit(1);
}

}  // namespace

void add_limits(Command verb, Limits* limits) {
  verb.add_option(
          "--max-memory", limits->memory_gib,
          "most GiB of memory that the conversion may take; default: three quarters of the machine's; 0: no limit")
      .non_negative();
  verb.add_option("--max-seconds", limits->seconds,
                  "most seconds that the conversion may take; default: 3600; 0: no limit")
      .range(0.0, 1e9);
}

void apply_limits(const Limits& limits, const std::string& model, bool json) {
  const double bytes = limits.memory_gib < 0 ? 0.75 * memory_here() : limits.memory_gib * kGiB;
  rlimit now;
  if (kCountsMemory && bytes > 0 && bytes < 9e18 && getrlimit(RLIMIT_DATA, &now) == 0 &&
      (now.rlim_cur == RLIM_INFINITY || static_cast<double>(now.rlim_cur) > bytes)) {
    now.rlim_cur = static_cast<rlim_t>(bytes);
    (void)setrlimit(RLIMIT_DATA, &now);
  }
  if (limits.seconds <= 0) return;
  const std::string what = formatted("not done after %g seconds, nothing was written", limits.seconds);
  const std::string help = "--max-seconds allows more";
  g_message = "error: " + what + "\n  help: " + help + "\n";
  if (json) g_object = json_text(error_json({"no_time", model, "", "", what, help}), 2) + "\n";
  struct sigaction action = {};
  action.sa_handler = time_is_over;
  (void)sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(limits.seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((limits.seconds - std::floor(limits.seconds)) * 1e6);
  if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;
  (void)setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace vireo::cli

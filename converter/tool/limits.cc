#include "converter/tool/limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "c_api/tool/machine.h"

namespace vireo::tool {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
// A sanitizer's own memory would be counted, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsMemory = false;
#else
constexpr bool kCountsMemory = true;
#endif

char g_message[160];
size_t g_message_size = 0;

void time_is_over(int) {  // what a signal handler may call, and nothing else
  (void)!write(STDERR_FILENO, g_message, g_message_size);
  _exit(1);
}

}  // namespace

void add_limits(Command verb, Limits* limits) {
  verb.add_option("--max-memory", limits->memory_gib,
                  "GiB that this may take; default three quarters of the machine's; 0 for no limit")
      .non_negative();
  verb.add_option("--max-seconds", limits->seconds, "that this may take; default 3600; 0 for no limit").range(0.0, 1e9);
}

void apply_limits(const Limits& limits) {
  const double bytes = limits.memory_gib < 0 ? 0.75 * memory_here() : limits.memory_gib * kGiB;
  rlimit now;
  if (kCountsMemory && bytes > 0 && bytes < 9e18 && getrlimit(RLIMIT_DATA, &now) == 0 &&
      (now.rlim_cur == RLIM_INFINITY || static_cast<double>(now.rlim_cur) > bytes)) {
    now.rlim_cur = static_cast<rlim_t>(bytes);
    (void)setrlimit(RLIMIT_DATA, &now);
  }
  if (limits.seconds <= 0) return;
  g_message_size = static_cast<size_t>(snprintf(
      g_message, sizeof(g_message),
      "error: not done after %g seconds, nothing was written\n  help: --max-seconds allows more\n", limits.seconds));
  struct sigaction action = {};
  action.sa_handler = time_is_over;
  (void)sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(limits.seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((limits.seconds - std::floor(limits.seconds)) * 1e6);
  if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;
  (void)setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace vireo::tool

// How long something took.
#ifndef VIREO_C_API_CLI_CLOCK_H_
#define VIREO_C_API_CLI_CLOCK_H_

#include <chrono>

namespace vireo::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
inline double ms_since(Clock::time_point start) { return 1e3 * seconds_since(start); }

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_CLOCK_H_

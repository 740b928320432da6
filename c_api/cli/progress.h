// How far work has come, for people who wait for it.
#ifndef VIREO_C_API_CLI_PROGRESS_H_
#define VIREO_C_API_CLI_PROGRESS_H_

#include <stddef.h>

#include <chrono>
#include <string>

namespace vireo::cli {

// One line on a terminal's standard error that is rewritten while work goes on; nothing where that is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  // The same with what is behind of `stage`, 0 to 1, and the time that the rest takes if it goes on as it went since
  // this stage was shown first. Below 0: not known. `detail` may change while a stage goes on.
  void show(const std::string& stage, double share, const std::string& detail = "");
  void show(const std::string& stage, size_t done, size_t of);

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  size_t shown_ = 0;
  std::string stage_;
  Clock::time_point begin_, last_;
};

// "37 %, 45 s left"; without the time where `share` is next to nothing or everything.
std::string share_text(double share, double spent_seconds);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PROGRESS_H_

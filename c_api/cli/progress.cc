#include "c_api/cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "c_api/cli/columns.h"

namespace vireo::cli {
namespace {

constexpr size_t kMostColumns = 100;
constexpr double kLeastShare = 0.01, kLeastSeconds = 0.5;  // less says nothing of the rest
constexpr std::chrono::milliseconds kBetweenLines{50};

std::string seconds_text(double seconds) {
  const long long s = std::llround(std::min(seconds, 1e9));
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return formatted("%lld min %lld s", s / 60, s % 60);
  return formatted("%lld h %lld min", s / 3600, s / 60 % 60);
}

}  // namespace

std::string share_text(double share, double spent_seconds) {
  std::string text = formatted("%.0f %%", 100 * share);
  if (share >= kLeastShare && share < 1 && spent_seconds >= kLeastSeconds)
    text += ", " + seconds_text(std::ceil(spent_seconds * (1 - share) / share)) + " left";
  return text;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { show(""); }

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  std::string line = shortened(text, kMostColumns);
  const size_t length = columns_of(line);
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  fprintf(stderr, "\r%s%s", line.c_str(), text.empty() ? "\r" : "");
  fflush(stderr);
}

void Progress::show(const std::string& stage, double share, const std::string& detail) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  const bool fresh = stage != stage_;
  if (fresh) {
    stage_ = stage;
    begin_ = now;
  } else if (now - last_ < kBetweenLines) {
    return;
  }
  last_ = now;
  const std::string how_far =
      share < 0 ? "" : ": " + share_text(std::min(share, 1.0), std::chrono::duration<double>(now - begin_).count());
  show(stage + how_far + (detail.empty() ? "" : ", " + detail));
}

void Progress::show(const std::string& stage, size_t done, size_t of) {
  show(stage, of == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(of),
       std::to_string(done) + " of " + std::to_string(of));
}

}  // namespace vireo::cli

#include "converter/cli/metric_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "c_api/cli/clock.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/npy.h"

extern char** environ;

namespace vireo::cli {
namespace {

constexpr size_t kMostPrinted = size_t{1} << 20;

Failure failure(const std::string& command, const std::string& what, const std::string& help) {
  return Failure("--metric-command " + command + " " + what, help);
}

// A process in a group of its own, which is killed with it.
class CommandProcess {
 public:
  explicit CommandProcess(pid_t id) : id_(id) {}
  ~CommandProcess() {
    if (id_ <= 0) return;
    kill(-id_, SIGKILL);
    wait();
  }
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  int wait() {
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return status;
  }

 private:
  pid_t id_;
};

// Everything that comes until the other end is closed. False: the time is over, or too much came.
bool read_all(int from, double seconds, std::string* text) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const double left = seconds * 1000 - ms_since(start);
    if (left <= 0 || text->size() > kMostPrinted) return false;
    pollfd wanted{from, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::min(left + 1, 1e6)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t got = read(from, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text->append(bytes, static_cast<size_t>(got));
  }
}

// Starts a shell in a group of its own, between a file and the end of a pipe. 0 or the system's error.
int start(const std::string& command, const std::string& input, int output, pid_t* id) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  (void)posix_spawn_file_actions_init(&files);
  (void)posix_spawnattr_init(&attributes);
  (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  (void)posix_spawnattr_setpgroup(&attributes, 0);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string shell = "/bin/sh", option = "-c", text = command;
  char* const argv[] = {shell.data(), option.data(), text.data(), nullptr};
  const int error = posix_spawn(id, argv[0], &files, &attributes, argv, environ);
  (void)posix_spawn_file_actions_destroy(&files);
  (void)posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

void KeptOutputs::add(const std::string& name, const Array& value) {
  std::vector<int64_t> dims = value.dims;
  if (!dims.empty() && dims[0] == 1) dims.erase(dims.begin());
  auto column = std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.name == name; });
  if (column == columns_.end()) {
    column = columns_.insert(columns_.end(), {name, dims, 0, {}});
    column->values.dtype = value.dtype;
  }
  if (column->dims != dims) {
    throw Failure("output '" + name + "' has shape " + shape_text(dims) + " after " + shape_text(column->dims) +
                      ", and --metric-command takes outputs of one shape",
                  "choose samples of one size");
  }
  if (dtype_bits(value.dtype) % 8 != 0)
    throw Failure("output '" + name + "' holds " + vireo_dtype_text(value.dtype) +
                  ", which --metric-command cannot take");
  bytes_ += value.bytes.size();
  if (bytes_ > kMostBytes) {
    throw Failure(
        "the outputs take more than " + std::to_string(kMostBytes >> 20) + " MiB, which --metric-command keeps",
        "take fewer samples (--samples)");
  }
  ++column->rows;
  column->values.bytes.insert(column->values.bytes.end(), value.bytes.begin(), value.bytes.end());
  column->values.strings.insert(column->values.strings.end(), value.strings.begin(), value.strings.end());
}

std::vector<std::pair<std::string, Array>> KeptOutputs::all() const {
  std::vector<std::pair<std::string, Array>> arrays;
  for (const Column& column : columns_) {
    Array array = column.values;
    array.dims = {column.rows};
    array.dims.insert(array.dims.end(), column.dims.begin(), column.dims.end());
    arrays.emplace_back(column.name, std::move(array));
  }
  return arrays;
}

Json run_metric_command(const std::string& command, double seconds, const KeptOutputs& outputs) {
  const TemporaryFile input(".npz");
  write_npz(input.path(), outputs.all());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw failure(command, std::string("cannot start: ") + strerror(errno), "close some files");
  pid_t id = 0;
  const int error = start(command, input.path(), ends[1], &id);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    throw failure(command, std::string("cannot start: ") + strerror(error), "/bin/sh is needed");
  }
  std::string text;
  CommandProcess child(id);
  const bool complete = read_all(ends[0], seconds, &text);
  close(ends[0]);
  if (!complete) {
    throw failure(
        command, text.size() > kMostPrinted ? "printed more than 1 MiB" : "did not end in time",
        "it has " + std::to_string(static_cast<int64_t>(seconds)) + " s (--metric-seconds) to print one JSON object");
  }
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw failure(command,
                  WIFEXITED(status) ? "ended with status " + std::to_string(WEXITSTATUS(status))
                                    : "was ended by signal " + std::to_string(WTERMSIG(status)),
                  "what it says stands above");
  }
  Json printed = parse_json(text);
  bool good = printed.is_object() && !printed.empty();
  if (good) {
    for (const auto& [name, value] : printed.items()) good = good && value.is_number();
  }
  if (good) return printed;
  throw failure(command, "printed no JSON object of numbers: " + text.substr(0, 80),
                "it is to print, for example, {\"accuracy\": 0.97}");
}

}  // namespace vireo::cli

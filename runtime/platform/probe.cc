#include "runtime/platform/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "runtime/platform/platform.h"
#include "sdk/format/sha256.h"
#include "vireo/delegate.h"

extern char** environ;

namespace vireo {
namespace {

constexpr uint32_t kDefaultTimeoutMs = 10000;
constexpr int kVersion = 1;  // of the probe's questions: another number asks anew

bool hash_file(const char* path, char (&hex)[65], Error* why) {
  platform::MappedFile file;
  if (!ok(platform::map_file(path, &file, why))) return false;
  Sha256 hash;
  hash.update(file.data, file.size);
  platform::unmap_file(file);
  uint8_t out[32];
  hash.finish(out);
  for (int i = 0; i < 32; ++i) (void)snprintf(hex + 2 * i, 3, "%02x", out[i]);
  return true;
}

bool is_program(const char* path) { return access(path, X_OK) == 0; }

// VIREO_PROBE, or beside the file that holds this code, or in bin beside its folder.
bool find_program(char (&out)[PATH_MAX]) {
  if (const char* given = platform::environment("VIREO_PROBE"); given != nullptr && given[0] != 0) {
    (void)snprintf(out, sizeof(out), "%s", given);
    return is_program(out);
  }
  Dl_info here = {};
  static const int mark = 0;
  if (dladdr(&mark, &here) == 0 || here.dli_fname == nullptr) return false;
  char file[PATH_MAX];
  if (realpath(here.dli_fname, file) == nullptr && realpath("/proc/self/exe", file) == nullptr) return false;
  char* const slash = strrchr(file, '/');
  if (slash == nullptr) return false;
  *slash = 0;
  for (const char* folder : {"", "/../bin", "/../../bin"}) {
    const int n = snprintf(out, sizeof(out), "%s%s/vireo-probe", file, folder);
    if (n > 0 && static_cast<size_t>(n) < sizeof(out) && is_program(out)) return true;
  }
  return false;
}

uint64_t now_ms() { return platform::now_ns() / 1000000; }

struct Child {
  int start_error = 0;
  bool hung = false;
  int status = 0;  // of waitpid
  char said[4096] = {};
};

// No descriptor of ours but for a pipe, no signal of ours blocked or ignored, a group of its own: what it starts ends
// with it.
void run(const char* program, const char* plugin, uint32_t timeout_ms, Child* child) {
  int ends[2];
  if (pipe(ends) != 0) {
    child->start_error = errno;
    return;
  }
  for (const int fd : ends) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  (void)posix_spawn_file_actions_init(&files);
  (void)posix_spawnattr_init(&attributes);
  (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  (void)posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  (void)posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  (void)posix_spawnattr_setsigmask(&attributes, &none);
  (void)posix_spawnattr_setsigdefault(&attributes, &all);
  (void)posix_spawnattr_setpgroup(&attributes, 0);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const char* const arguments[] = {program, plugin, nullptr};
  pid_t pid = 0;
  child->start_error = posix_spawn(&pid, program, &files, &attributes, const_cast<char**>(arguments), environ);
  (void)posix_spawn_file_actions_destroy(&files);
  (void)posix_spawnattr_destroy(&attributes);
  (void)close(ends[1]);
  const uint64_t end = now_ms() + timeout_ms;
  size_t said = 0;
  bool open = child->start_error == 0;
  while (open) {
    const uint64_t now = now_ms();
    pollfd wanted = {ends[0], POLLIN, 0};
    const int ready = now >= end ? 0 : poll(&wanted, 1, static_cast<int>(end - now < 1000 ? end - now : 1000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && now < end) continue;
    if (ready <= 0) break;
    char piece[512];
    const ssize_t n = read(ends[0], piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    open = n > 0;
    for (ssize_t i = 0; i < n && said + 1 < sizeof(child->said); ++i) child->said[said++] = piece[i];
  }
  (void)close(ends[0]);
  if (child->start_error != 0) return;
  // Its output has ended, or its time has.
  pid_t ended = 0;
  while ((ended = waitpid(pid, &child->status, WNOHANG)) == 0 && now_ms() < end) {
    const timespec pause = {0, 1000000};
    (void)nanosleep(&pause, nullptr);
  }
  if (ended == 0) {
    child->hung = true;
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, &child->status, 0);
  } else {
    (void)kill(-pid, SIGKILL);  // what it may have left
  }
}

// The text behind the last line that begins with `word`, until the line's end; "" where there is none.
void line_of(const char* said, const char* word, char (&out)[160]) {
  out[0] = 0;
  const size_t n = strlen(word);
  for (const char* at = said; at != nullptr && *at != 0;) {
    const char* const end = strchr(at, '\n');
    if (end == nullptr) return;
    if (strncmp(at, word, n) == 0)
      (void)snprintf(out, sizeof(out), "%.*s", static_cast<int>(end - at - static_cast<long>(n)), at + n);
    at = end + 1;
  }
}

// What a probe says for good goes into `reason`; false: it holds for today alone.
bool judge(const Child& child, uint32_t timeout_ms, char* reason, size_t bytes) {
  char doing[160], what[160];
  line_of(child.said, "at ", doing);
  reason[0] = 0;
  if (child.hung) {
    (void)snprintf(reason, bytes, "quarantined: its probe had no answer in %u ms while it %s", timeout_ms, doing);
    return true;
  }
  if (WIFSIGNALED(child.status)) {
    (void)snprintf(reason, bytes, "quarantined: it crashed (signal %d) while it %s", WTERMSIG(child.status), doing);
    return true;
  }
  line_of(child.said, "wrong ", what);
  if (what[0] != 0) {
    (void)snprintf(reason, bytes, "quarantined: %s", what);
    return true;
  }
  line_of(child.said, "refused ", what);
  if (what[0] != 0) {
    (void)snprintf(reason, bytes, "%s", what);
    return false;
  }
  line_of(child.said, "ok", what);
  if (WEXITSTATUS(child.status) == 0 && strstr(child.said, "\nok\n") != nullptr) return true;
  (void)snprintf(reason, bytes, "quarantined: it ended its process (status %d) while it %s", WEXITSTATUS(child.status),
                 doing);
  return true;
}

// ---- What was found before

struct Record {
  char path[PATH_MAX] = {};
  char head[64] = {};

  // False where nothing is kept.
  bool find(const char* folder, const char* hash) {
    char own[PATH_MAX];
    if (folder == nullptr) {
      const char* const cache = platform::environment("XDG_CACHE_HOME");
      const char* const home = platform::environment("HOME");
      const bool named = cache != nullptr && cache[0] != 0;
      if (!named && (home == nullptr || home[0] == 0)) return false;
      (void)snprintf(own, sizeof(own), "%s%s/vireo/plugins", named ? cache : home, named ? "" : "/.cache");
      folder = own;
    }
    if (folder[0] == 0) return false;
    (void)snprintf(head, sizeof(head), "vireo probe %d, %x, ABI %d\n", kVersion, vireo_version(), VIREO_DELEGATE_ABI);
    const int n = snprintf(path, sizeof(path), "%s/%s.txt", folder, hash);
    return n > 0 && static_cast<size_t>(n) < sizeof(path) - 32;
  }

  bool read(char* reason, size_t bytes) const {
    FILE* const file = fopen(path, "re");
    if (file == nullptr) return false;
    char text[512] = {};
    const size_t n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    const size_t h = strlen(head);
    if (n < h + 3 || strncmp(text, head, h) != 0 || text[n - 1] != '\n') return false;
    text[n - 1] = 0;
    (void)snprintf(reason, bytes, "%s", strcmp(text + h, "ok") == 0 ? "" : text + h);
    return true;
  }

  // A cache that cannot be written costs time alone.
  void write(const char* reason) {
    char temporary[PATH_MAX + 32];
    for (char* p = path + 1; *p != 0; ++p) {
      if (*p != '/') continue;
      *p = 0;
      (void)mkdir(path, 0700);
      *p = '/';
    }
    (void)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    const int fd = mkstemp(temporary);
    if (fd < 0) return;
    char text[512];
    const int n = snprintf(text, sizeof(text), "%s%s\n", head, reason[0] == 0 ? "ok" : reason);
    const bool whole = n > 0 && static_cast<size_t>(n) < sizeof(text) && ::write(fd, text, static_cast<size_t>(n)) == n;
    if (close(fd) != 0 || !whole || rename(temporary, path) != 0) (void)unlink(temporary);
  }
};

}  // namespace

void probe_plugin(const char* path, const ProbeOptions& options, char* reason, size_t bytes) {
  reason[0] = 0;
  char hash[65];
  Error why;
  if (!hash_file(path, hash, &why)) {  // what was not looked at is not opened
    (void)snprintf(reason, bytes, "it cannot be loaded: %s", why.message);
    return;
  }
  Record record;
  const bool keeps = record.find(options.cache, hash);
  if (keeps && record.read(reason, bytes)) return;
  char program[PATH_MAX];
  if (!find_program(program)) {
    (void)snprintf(
        reason, bytes,
        "it could not be probed: there is no program vireo-probe beside the library or where VIREO_PROBE says");
    return;
  }
  const uint32_t timeout_ms = options.timeout_ms == 0 ? kDefaultTimeoutMs : options.timeout_ms;
  Child child;
  run(program, path, timeout_ms, &child);
  if (child.start_error != 0) {
    (void)snprintf(reason, bytes, "it could not be probed: the system starts no program: %s",
                   strerror(child.start_error));
    return;
  }
  if (judge(child, timeout_ms, reason, bytes) && keeps) record.write(reason);
}

}  // namespace vireo

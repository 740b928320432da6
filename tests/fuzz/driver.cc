// Calls a target without libFuzzer: whatever compiler built it, in every build of the tests. It replays files, then
// mutates them for a number of executions or seconds. Not guided by coverage: what it finds, a change broke.
//
//   TARGET [-runs=N] [-seconds=S] [-seed=K] [-timeout=S] [-keep=FOLDER] [-dict=FILE] [FILE or FOLDER ...]
//
// An input that ends the process, or takes more than -timeout seconds (default 30), is written to
// FOLDER/crash-<hash> (default: the working folder); `TARGET FILE` replays it.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "tests/fuzz/harness.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);

namespace {

using vireo::fuzz::Bytes;

std::mt19937 g_rng;
std::vector<Bytes> g_words;        // of the dictionary
const uint8_t* g_input = nullptr;  // of the execution under way
size_t g_size = 0;
char g_keep[4096] = ".";

// Only what signal handlers may do.
void keep_input() {
  if (g_input == nullptr) return;
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < g_size; ++i) hash = (hash ^ g_input[i]) * 1099511628211u;
  char path[sizeof(g_keep) + 32];
  char* to = path;
  for (const char* from = g_keep; *from != 0;) *to++ = *from++;
  for (const char* from = "/crash-"; *from != 0;) *to++ = *from++;
  for (int digit = 60; digit >= 0; digit -= 4) *to++ = "0123456789abcdef"[hash >> digit & 15];
  *to = 0;
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  for (size_t at = 0; fd >= 0 && at < g_size;) {
    const ssize_t n = write(fd, g_input + at, g_size - at);
    if (n <= 0) break;
    at += static_cast<size_t>(n);
  }
  const auto say = [](const char* text) { (void)!write(STDERR_FILENO, text, strlen(text)); };
  say(fd >= 0 ? "kept the input: " : "could not keep the input: ");
  say(path);
  say("\n");
}

void on_signal(int number) {
  keep_input();
  if (number == SIGALRM) {
    const char text[] = "the execution takes too long\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  }
  signal(number == SIGALRM ? SIGABRT : number, SIG_DFL);
  raise(number == SIGALRM ? SIGABRT : number);
}

void run(const Bytes& input, unsigned timeout) {
  // Exactly its bytes, so that a sanitizer sees what reads behind them.
  uint8_t* const copy = new uint8_t[input.size()];
  if (!input.empty()) std::memcpy(copy, input.data(), input.size());
  g_input = copy;
  g_size = input.size();
  alarm(timeout);
  (void)LLVMFuzzerTestOneInput(copy, input.size());
  alarm(0);
  g_input = nullptr;
  delete[] copy;
}

void add_files(const std::string& path, std::vector<std::string>* files) {
  struct stat s = {};
  if (stat(path.c_str(), &s) != 0) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  if (!S_ISDIR(s.st_mode)) return files->push_back(path);
  DIR* const folder = opendir(path.c_str());
  std::vector<std::string> names;
  for (const dirent* e = folder == nullptr ? nullptr : readdir(folder); e != nullptr; e = readdir(folder)) {
    if (e->d_name[0] != '.') names.emplace_back(e->d_name);
  }
  if (folder != nullptr) closedir(folder);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) add_files(path + "/" + name, files);
}

// libFuzzer's form: a word in quotes on each line, bytes as \xAB, \\ and \" for these two; # begins a remark.
bool read_words(const std::string& path) {
  const Bytes file = vireo::fuzz::read_whole(path);
  for (auto at = file.begin(); at != file.end();) {
    const auto end = std::find(at, file.end(), uint8_t{'\n'});
    auto from = std::find(at, end, uint8_t{'"'});
    if (from != end && *at != '#') {
      Bytes word;
      for (++from; from != end && *from != '"'; ++from) {
        if (*from == '\\' && end - from > 3 && from[1] == 'x') {
          const char digits[3] = {static_cast<char>(from[2]), static_cast<char>(from[3]), 0};
          word.push_back(static_cast<uint8_t>(std::strtoul(digits, nullptr, 16)));
          from += 3;
        } else {
          if (*from == '\\' && end - from > 1) ++from;
          word.push_back(*from);
        }
      }
      if (from == end) return false;
      if (!word.empty()) g_words.push_back(std::move(word));
    }
    at = end == file.end() ? end : end + 1;
  }
  return !g_words.empty();
}

bool option(const char* argument, const char* name, const char** value) {
  const size_t n = strlen(name);
  if (strncmp(argument, name, n) != 0) return false;
  *value = argument + n;
  return true;
}

}  // namespace

// A few changes of the usual kinds.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most) {
  const auto below = [](size_t n) { return n == 0 ? size_t{0} : g_rng() % n; };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    if (size == 0) {
      if (most == 0) return 0;
      data[0] = static_cast<uint8_t>(g_rng());
      size = 1;
      continue;
    }
    const size_t at = below(size);
    switch (below(g_words.empty() ? 7 : 9)) {
      case 0:
        data[at] = static_cast<uint8_t>(data[at] ^ 1u << below(8));
        break;
      case 1:
        data[at] = static_cast<uint8_t>(g_rng());
        break;
      case 2: {  // a number of 1, 2, 4 or 8 bytes
        const size_t n = std::min(size - at, size_t{1} << below(4));
        const int64_t v = vireo::fuzz::odd_number(g_rng);
        std::memcpy(data + at, &v, n);
        break;
      }
      case 3: {  // out
        const size_t n = std::min(1 + below(size < 16 ? size : 16), size - at);
        std::memmove(data + at, data + at + n, size - at - n);
        size -= n;
        break;
      }
      case 4: {  // in
        const size_t n = std::min(1 + below(16), most - size);
        std::memmove(data + at + n, data + at, size - at);
        for (size_t i = 0; i < n; ++i) data[at + i] = static_cast<uint8_t>(g_rng());
        size += n;
        break;
      }
      case 5: {  // over
        const size_t from = below(size), n = std::min(1 + below(64), size - std::max(from, at));
        std::memmove(data + at, data + from, n);
        break;
      }
      case 7:
      case 8: {  // a word of the dictionary, over what is there or in front of it
        const Bytes& word = g_words[below(g_words.size())];
        const size_t n = word.size(), over = below(2) == 0 ? std::min(n, size - at) : 0;
        if (size - over + n > most) break;
        std::memmove(data + at + n, data + at + over, size - at - over);
        std::memcpy(data + at, word.data(), n);
        size += n - over;
        break;
      }
      default: {  // doubled
        const size_t n = std::min(std::min(1 + below(64), size - at), most - size);
        std::memmove(data + at + n, data + at, size - at);
        size += n;
      }
    }
  }
  return size;
}

int main(int argc, char** argv) {
  uint64_t runs = 0;
  double seconds = 0;
  unsigned seed = 1, timeout = 30;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const char* value = nullptr;
    if (option(argv[i], "-runs=", &value))
      runs = std::strtoull(value, nullptr, 10);
    else if (option(argv[i], "-seconds=", &value))
      seconds = std::strtod(value, nullptr);
    else if (option(argv[i], "-seed=", &value))
      seed = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (option(argv[i], "-timeout=", &value))
      timeout = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (option(argv[i], "-keep=", &value))
      (void)std::snprintf(g_keep, sizeof(g_keep), "%s", value);
    else if (option(argv[i], "-dict=", &value)) {
      if (!read_words(value)) return std::fprintf(stderr, "%s holds no words, or one without its end\n", value), 2;
    } else if (argv[i][0] == '-')
      return std::fprintf(stderr, "unknown option %s\n", argv[i]), 2;
    else
      add_files(argv[i], &files);
  }
  for (const int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(number, on_signal);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_death_callback(keep_input);
#endif
  g_rng.seed(seed);
  std::vector<Bytes> corpus;
  size_t longest = 4096;
  for (const std::string& file : files) {
    corpus.push_back(vireo::fuzz::read_whole(file));
    longest = std::max(longest, corpus.back().size() * 2);
    run(corpus.back(), timeout);
  }
  if (corpus.empty()) corpus.emplace_back();
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  uint64_t done = 0;
  Bytes input;
  for (; done < runs || (seconds > 0 && spent() < seconds); ++done) {
    const Bytes& from = corpus[g_rng() % corpus.size()];
    input.assign(longest, 0);
    std::copy(from.begin(), from.end(), input.begin());
    const size_t size = LLVMFuzzerCustomMutator != nullptr
                            ? LLVMFuzzerCustomMutator(input.data(), from.size(), longest, g_rng())
                            : LLVMFuzzerMutate(input.data(), from.size(), longest);
    input.resize(size);
    run(input, timeout);
  }
  std::fprintf(stderr, "%zu files, then %llu executions in %.1f s\n", files.size(),
               static_cast<unsigned long long>(done), spent());
  return 0;
}

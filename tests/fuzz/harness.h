// What every target of tests/fuzz has: the two functions that libFuzzer asks for
// (https://llvm.org/docs/LibFuzzer.html), and counts of how far its inputs came. libFuzzer or driver.cc calls them;
// README.md tells which when.
#ifndef VIREO_TESTS_FUZZ_HARNESS_H_
#define VIREO_TESTS_FUZZ_HARNESS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

extern "C" {
// One execution. Returns 0. A fault is a signal, a report of a sanitizer, or std::abort().
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Changes `data` in place, to at most `most` bytes; returns how many. A target without one is mutated byte by byte.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);
// Byte by byte, by whoever calls the target.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);
}

namespace vireo::fuzz {

using Bytes = std::vector<uint8_t>;

// Counts under names that the target lists once, in the order in which an input passes them. They are printed when the
// process ends well: "reached: read 812 of 1000 (81.2 %), ran 402 of 1000 (40.2 %)".
class Reached {
 public:
  explicit Reached(std::initializer_list<const char*> names) : names_(names), counts_(names.size(), 0) {}
  ~Reached();
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  void begin() { ++executions_, seen_ = 0; }
  void operator()(size_t stage) {
    if ((seen_ >> stage & 1) == 0) ++counts_[stage];
    seen_ |= 1u << stage;
  }
  bool saw(size_t stage) const { return (seen_ >> stage & 1) != 0; }  // in the execution under way
  std::string text() const;

 private:
  std::vector<const char*> names_;
  std::vector<uint64_t> counts_;
  uint64_t executions_ = 0;
  uint32_t seen_ = 0;  // in the execution under way
};

// The last inputs that went all the way, to go on from. What coverage keeps are mostly refusals, each at a place of its
// own, and little of what is made from those gets further.
class Arrived {
 public:
  void keep(const uint8_t* data, size_t size);
  // Every other time puts one of them in place of the input that is to be changed; the size of what is there then.
  size_t instead_of(uint8_t* data, size_t size, size_t most, std::mt19937& rng) const;

 private:
  std::vector<Bytes> inputs_;  // the oldest is replaced
  size_t next_ = 0;
};

// Reads values off an input; behind its end all are 0.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint8_t byte() { return at_ == end_ ? uint8_t{0} : *at_++; }
  uint32_t below(uint32_t n) { return n == 0 ? 0 : (n > 256 ? uint32_t{byte()} << 8 | byte() : byte()) % n; }
  bool chance(int of_256) { return byte() < of_256; }
  uint64_t word() {
    uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v = v << 8 | byte();
    return v;
  }
  // A number as bounds, sizes and indices are: small ones, neighbours of powers of two, anything.
  int64_t number();
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(static_cast<uint32_t>(list.size()))];
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// What numbers in files tend to break on.
int64_t odd_number(std::mt19937& rng);

// A file that lives in memory, for what reads by path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// Aligned to 64, with nothing behind the last byte, so that a sanitizer sees what reads on.
class AlignedCopy {
 public:
  AlignedCopy(const uint8_t* data, size_t size);
  ~AlignedCopy();
  AlignedCopy(const AlignedCopy&) = delete;
  AlignedCopy& operator=(const AlignedCopy&) = delete;
  const uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;
};

// What must hold of any input.
#define VIREO_FUZZ_CHECK(condition)                                          \
  do {                                                                       \
    if (!(condition)) ::vireo::fuzz::broken(__FILE__, __LINE__, #condition); \
  } while (false)
[[noreturn]] void broken(const char* file, int line, const char* what);

// Whole files of a folder, for seeds that are there anyway.
Bytes read_whole(const std::string& path);

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_HARNESS_H_

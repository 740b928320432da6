#include "tests/fuzz/harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>

namespace vireo::fuzz {
Reached::~Reached() { std::fprintf(stderr, "%s\n", text().c_str()); }

std::string Reached::text() const {
  std::string text = "reached:";
  for (size_t i = 0; i < names_.size(); ++i) {
    char entry[128];
    std::snprintf(entry, sizeof(entry), "%s %s %llu of %llu (%.1f %%)", i == 0 ? "" : ",", names_[i],
                  static_cast<unsigned long long>(counts_[i]), static_cast<unsigned long long>(executions_),
                  executions_ == 0 ? 0 : 100.0 * static_cast<double>(counts_[i]) / static_cast<double>(executions_));
    text += entry;
  }
  return text;
}

void Arrived::keep(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 64;
  if (inputs_.size() < kMost)
    inputs_.emplace_back(data, data + size);
  else
    inputs_[next_].assign(data, data + size);
  next_ = (next_ + 1) % kMost;
}

size_t Arrived::instead_of(uint8_t* data, size_t size, size_t most, std::mt19937& rng) const {
  if (inputs_.empty() || rng() % 2 == 0) return size;
  const Bytes& from = inputs_[rng() % inputs_.size()];
  if (from.size() > most) return size;
  std::memcpy(data, from.data(), from.size());
  return from.size();
}

int64_t Reader::number() {
  const uint8_t kind = byte();
  if (kind < 128) return kind % 16;
  if (kind < 160) return -1 - kind % 8;
  if (kind < 224) return static_cast<int64_t>((uint64_t{1} << byte() % 64) + byte() % 3 - 1);
  return static_cast<int64_t>(word());
}

int64_t odd_number(std::mt19937& rng) {
  switch (rng() % 6) {
    case 0:
      return static_cast<int64_t>(rng() % 4);
    case 1:
      return -static_cast<int64_t>(rng() % 4);
    case 2:
      return static_cast<int64_t>(rng() % 256);
    case 3:
      return static_cast<int64_t>((uint64_t{1} << rng() % 64) + rng() % 3 - 1);
    case 4:
      return static_cast<int64_t>(~(uint64_t{1} << rng() % 64) + rng() % 3);
    default:
      return static_cast<int64_t>(uint64_t{rng()} << 32 | rng());
  }
}

MemoryFile::MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
  for (size_t at = 0; fd_ >= 0 && at < size;) {
    const ssize_t n = write(fd_, data + at, size - at);
    if (n <= 0) std::abort();
    at += static_cast<size_t>(n);
  }
  if (fd_ < 0) std::abort();
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}
MemoryFile::~MemoryFile() { close(fd_); }

AlignedCopy::AlignedCopy(const uint8_t* data, size_t size)
    : data_(static_cast<uint8_t*>(::operator new (size, std::align_val_t{64}))) {
  if (size != 0) std::memcpy(data_, data, size);
}
AlignedCopy::~AlignedCopy() { ::operator delete (data_, std::align_val_t{64}); }

void broken(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  std::abort();
}

Bytes read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

}  // namespace vireo::fuzz

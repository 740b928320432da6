#include "c_api/cli/process_memory.h"

#include <stdio.h>
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fstream>
#include <string>

namespace vireo::cli {

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
#ifdef _SC_PAGESIZE
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#else
  return 0;
#endif
}

uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    unsigned long long kib = 0;
    if (sscanf(line.c_str(), "VmHWM: %llu kB", &kib) == 1) return kib * 1024;
  }
  return 0;
}

void hold_what_is_used() {
#ifdef __GLIBC__
  constexpr int kBlock = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kBlock);
  mallopt(M_TRIM_THRESHOLD, kBlock);
  mallopt(M_ARENA_MAX, 2);
#endif
}

void trim_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void restart_peak_resident() {
  trim_memory();
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace vireo::cli

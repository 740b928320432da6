// Which kernel of several was fastest for a node, on this machine: what `vireo tune` measures and sessions are told.
//
// A file per CPU and version of the library in the user's cache ($XDG_CACHE_HOME/vireo/tuning, else
// ~/.cache/vireo/tuning), or a file that the user names. JSON: {"vireo_tuning": 2, "cpu": text, "next": n, "entries":
// [{"key": hex of vireo_candidate.key, "threads", "device", "kernel", "us", "used": n, "others": [{"device", "kernel",
// "us"}]}], "rates": {"operations",
// "near_bytes", "far_bytes"}}. At most kMostEntries are kept, those least recently measured go first. What another CPU
// or version measured is not used.
#ifndef VIREO_C_API_CLI_TUNING_H_
#define VIREO_C_API_CLI_TUNING_H_

#include <map>
#include <string>
#include <utility>

#include "c_api/cli/roofline.h"
#include "vireo/vireo.h"

namespace vireo::cli {

class Tuning {
 public:
  static constexpr size_t kMostEntries = 16384;
  static constexpr int kVersion = 2;

  struct Entry {
    std::string device, kernel;
    double us = 0;
    uint64_t used = 0;
    std::map<std::pair<std::string, std::string>, double> others;  // what other ways (device, kernel) took
  };

  // `file`: "" for none, "auto" for the user's cache, else a path. A file that is not there is an empty one, but for
  // sessions (`must_exist`), which then throw a Failure. Throws Failure for a file that cannot be understood. `threads`
  // 0: all cores.
  Tuning(const std::string& file, const vireo_runtime* runtime, int threads, bool must_exist = true);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  // For session options, as long as this object lives; null where there is no file.
  const vireo_preference* preference() const { return path_.empty() ? nullptr : &preference_; }

  void put(uint64_t key, Entry fastest);
  const Entry* find(uint64_t key) const;
  // The machine's, from the file, or measured now and kept.
  const Rates& rates();
  size_t size() const { return entries_.size(); }
  // Writes to a temporary name and renames. Throws Failure; never writes over what another CPU measured.
  void write() const;

  const std::string& path() const { return path_; }
  const std::string& cpu() const { return cpu_; }

 private:
  static int32_t rank(void* self, const vireo_candidate* candidate);
  static double time_ns(void* self, const vireo_candidate* candidate);
  void read(const std::string& text);

  std::string path_, cpu_;
  int threads_;
  bool foreign_ = false;  // what lies in the file is of another CPU or version
  uint64_t next_ = 0;
  std::map<std::pair<uint64_t, int>, Entry> entries_;  // by key and threads
  Rates rates_;                                        // zeros: not known
  vireo_preference preference_;
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_TUNING_H_

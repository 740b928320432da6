// Whole files in and out. Output appears under its name only when it is complete.
#ifndef VIREO_C_API_CLI_FILE_H_
#define VIREO_C_API_CLI_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

namespace vireo::cli {

// Whether a path ends with `end`, such as ".onnx".
bool ends_with(const std::string& path, const std::string& end);

// Throws Failure with the path and the system's reason.
std::vector<uint8_t> read_file(const std::string& path);

// Writes to a temporary name in the same folder, flushes to the disk, renames. On failure (folder missing or not
// writable, disk full) nothing is left behind and a file that stood there before is untouched.
void write_file(const std::string& path, const void* bytes, size_t size);
void write_file(const std::string& path, const std::string& text);

// Throws when `path` could not be written later: asked before long work begins.
void require_writable(const std::string& path);

// The same for the page or the data of --report. Throws when it ends in neither .html nor .json.
void require_report(const std::string& path);

// Throws when an output is a file that is read, or another output: one would be lost. "" stands for none.
void require_apart(const std::vector<std::string>& sources, const std::vector<std::string>& outputs);

// This program's folder for `what` in the user's cache: $XDG_CACHE_HOME/vireo/WHAT, else ~/.cache/vireo/WHAT. Need not
// be there. Throws when neither variable is set.
std::string user_cache(const std::string& what);

// A new file in the system's temporary folder that disappears with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_FILE_H_

// A file that appears under its name whole or not at all, for all that Vireo's programs write.
#ifndef VIREO_SDK_FILES_WHOLE_FILE_H_
#define VIREO_SDK_FILES_WHOLE_FILE_H_

#include <stddef.h>

#include <string>

namespace vireo::files {

// Bytes go to a file without a name in the folder of `path`, where the system has such (Linux: O_TMPFILE): it is gone
// with this object or with the process, killed or not. Elsewhere they go to PATH.XXXXXX, which this object removes, but
// a killed process cannot.
class WholeFile {
 public:
  // Where `path` is a folder or a device, error() says so (EISDIR, EEXIST): a rename would fail, or replace it.
  explicit WholeFile(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // Behind what was written so far; write_over: over the beginning. False after the first error, as all that follow.
  bool write(const void* data, size_t bytes);
  bool write_over(const void* data, size_t bytes);
  // To the disk. Of several files that belong together all are finished before the first appears.
  bool finish();
  // Under its name, in the place of a file that was there: others see one or the other. After finish().
  bool appear();
  // errno of the first call that failed, else 0.
  int error() const { return error_; }

 private:
  bool fail(int error);

  std::string path_;
  std::string named_;  // the temporary name, where there is one
  int fd_ = -1;
  int error_ = 0;
};

// 0, or errno of what would keep a file from being written there. Asked before long work begins.
int why_not_writable(const std::string& path);

// What a user can do about `error` when `path` was to be written; never "".
std::string what_to_do(const std::string& path, int error);

}  // namespace vireo::files

#endif  // VIREO_SDK_FILES_WHOLE_FILE_H_

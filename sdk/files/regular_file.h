// Files that are read. What else a path can lead to (a FIFO, a socket, a device) may never end, or wait for ever.
#ifndef VIREO_SDK_FILES_REGULAR_FILE_H_
#define VIREO_SDK_FILES_REGULAR_FILE_H_

#include <stddef.h>

#include <string>

namespace vireo::files {

// A regular file's descriptor, for reading, and its size; never waits. -1 with *error where there is none: errno,
// EISDIR of a folder, ENXIO of all else that is no regular file. Links are followed.
int open_regular(const std::string& path, size_t* bytes, int* error);

// `error` of open_regular in words; never "".
std::string why_unreadable(int error);

}  // namespace vireo::files

#endif  // VIREO_SDK_FILES_REGULAR_FILE_H_

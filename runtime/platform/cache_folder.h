// The files of a cache's folder: who may have written them, how one appears whole, and how the folder keeps its bound.
#ifndef VIREO_RUNTIME_PLATFORM_CACHE_FOLDER_H_
#define VIREO_RUNTIME_PLATFORM_CACHE_FOLDER_H_

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

namespace vireo::cache_folder {

constexpr char kEnding[] = ".vpack";    // of what the bound counts
constexpr time_t kFreshSeconds = 3600;  // how exactly "longest not used" is known: each use would write an inode

bool join(char (&out)[PATH_MAX], const char* folder, const char* name);
// Whether nobody but this user and root can have written it.
bool is_ours(const struct stat& info);
bool write_all(int fd, const void* data, uint64_t bytes);
// A new file in the folder, which is made where it is not there, under a name that nobody else has; its path in `out`.
// Below 0: errno says why.
int open_temporary(const char* folder, char (&out)[PATH_MAX]);
// Closes it. Where all was `written` it becomes `path`, else it goes. The error's number, 0: none.
int finish(int fd, bool written, const char* temporary, const char* path);
// Removes abandoned temporary files, and then the files that were longest not used until the folder takes no more than
// `most`.
void bound(const char* folder, uint64_t most);

}  // namespace vireo::cache_folder

#endif  // VIREO_RUNTIME_PLATFORM_CACHE_FOLDER_H_

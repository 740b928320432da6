// Shared libraries of POSIX systems.
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "runtime/platform/platform.h"

namespace vireo::platform {
namespace {

int is_library(const struct dirent* entry) {
  const size_t n = strlen(entry->d_name);
  for (const char* ending : {".so", ".dylib"}) {
    const size_t k = strlen(ending);
    if (n > k && strcmp(entry->d_name + n - k, ending) == 0) return 1;
  }
  return 0;
}

}  // namespace

Status open_library(const char* path, void** out, Error* error) {
  // A name without a slash would be looked for along the loader's own path: another file than the one that was named.
  char local[1100];
  if (strchr(path, '/') == nullptr && snprintf(local, sizeof(local), "./%s", path) < static_cast<int>(sizeof(local)))
    path = local;
  *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out != nullptr) return Status::kOk;
  const char* const why = dlerror();
  return fail(error, Status::kIo, "it cannot be loaded: {}", why == nullptr ? "the system does not say why" : why);
}

void close_library(void* library) {
  if (library != nullptr) (void)dlclose(library);
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

bool list_libraries(const char* folder, void (*visit)(void* context, const char* path), void* context) {
  struct dirent** entries = nullptr;
  const int count = scandir(folder, &entries, is_library, alphasort);
  for (int i = 0; i < count; ++i) {
    char path[1400];
    if (snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < static_cast<int>(sizeof(path)))
      visit(context, path);
    free(entries[i]);
  }
  free(entries);
  return count >= 0;
}

const char* environment(const char* name) {
#if defined(__GLIBC__)
  return secure_getenv(name);  // a program with more rights than its caller does not load the caller's code
#else
  return getenv(name);
#endif
}

}  // namespace vireo::platform

// The only door to an operating system. hosted.cc has one behind it, bare.cc has none.
#ifndef VIREO_RUNTIME_PLATFORM_PLATFORM_H_
#define VIREO_RUNTIME_PLATFORM_PLATFORM_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/status.h"
#include "vireo/vireo.h"

namespace vireo::platform {

// The platform's heap, or an allocator whose `allocate` is null where there is none.
vireo_allocator heap();

// Whether weights are packed when nobody says.
extern const bool kPacksByDefault;

// Maps a file for reading. kIo with the reason; kUnsupported where there are no files.
struct MappedFile {
  const uint8_t* data = nullptr;
  size_t size = 0;
};
Status map_file(const char* path, MappedFile* out, Error* error);
void unmap_file(const MappedFile& file);

// Starts `threads` workers (0: one a core) behind vireo_thread_pool; null `run` where one thread is all there is.
// `close_pool` ends what `open_pool` began.
Status open_pool(int32_t threads, vireo_thread_pool* out, Error* error);
void close_pool(const vireo_thread_pool& pool);

// Shared libraries, where the system has them (VIREO_PLUGINS). open_library: kIo with the system's reason.
Status open_library(const char* path, void** out, Error* error);
void close_library(void* library);
void* find_symbol(void* library, const char* name);  // null: there is none
// Calls `visit` with the path of each shared library in a folder, in the order of their names. False: it is no folder.
bool list_libraries(const char* folder, void (*visit)(void* context, const char* path), void* context);
const char* environment(const char* name);  // null: not set

void yield();       // another thread may have this core
uint64_t now_ns();  // monotonic; 0 where there is no clock

}  // namespace vireo::platform

#endif  // VIREO_RUNTIME_PLATFORM_PLATFORM_H_

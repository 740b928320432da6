#include "c_api/cli/probe/marked_memory.h"

#include <stdlib.h>
#include <string.h>

namespace vireo::cli {

void* allocate_marked(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes == 0 ? 1 : bytes) != 0)
    return nullptr;
  memset(memory, 0xff, bytes);
  return memory;
}

const vireo_allocator* marked_memory() {
  static const vireo_allocator allocator = {
      [](void*, size_t bytes, size_t alignment) { return allocate_marked(bytes, alignment); },
      [](void*, void* memory, size_t, size_t) { free(memory); }, nullptr};
  return &allocator;
}

}  // namespace vireo::cli

// No operating system: the caller brings the memory, models are linked in, one thread, no clock.
#include "runtime/platform/platform.h"

namespace vireo::platform {

const bool kPacksByDefault = false;  // memory is scarce, and flash is read as fast

vireo_allocator heap() { return {nullptr, nullptr, nullptr}; }

Status map_file(const char* path, MappedFile*, Error* error) {
  return fail(error, Status::kUnsupported,
              "\"{}\": this target has no files; link the model in and load it from memory", path);
}
void unmap_file(const MappedFile&) {}

Status open_pool(int32_t, vireo_thread_pool* out, Error*) {
  *out = {nullptr, nullptr, 1};
  return Status::kOk;
}
void close_pool(const vireo_thread_pool&) {}

void yield() {}
uint64_t now_ns() { return 0; }

}  // namespace vireo::platform

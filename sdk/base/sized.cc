#include "sdk/base/sized.h"

#include <string.h>

namespace vireo {
namespace {

uint32_t size_of(const void* s) {
  uint32_t size;
  memcpy(&size, s, sizeof(size));
  return size;
}

}  // namespace

Status check_sized(const void* out, SizedName name, Error* error) {
  const uint32_t size = size_of(out);
  if (size - uint32_t{sizeof(size)} <= kMostStructBytes) return Status::kOk;  // what is smaller wraps around
  return fail(error, Status::kInvalidArgument, "{}: struct_size is {}, set it with {}", name.argument, size,
              name.macro);
}

Status check_read(const void* from, uint32_t size, SizedName name, Error* error) {
  VIREO_TRY(check_sized(from, name, error));
  const auto* const bytes = static_cast<const uint8_t*>(from);
  for (uint32_t i = size; i < size_of(from); ++i) {
    if (bytes[i] == 0) continue;
    return fail(error, Status::kInvalidArgument,
                "{}: the field at byte {} is set, and this library knows the first {} bytes. Leave it 0, or use the "
                "library that its header came with",
                name.argument, i, size);
  }
  return Status::kOk;
}

Status read_sized(const void* from, void* to, uint32_t size, SizedName name, Error* error) {
  if (from != nullptr) VIREO_TRY(check_read(from, size, name, error));
  memset(to, 0, size);
  if (from != nullptr) memcpy(to, from, size_of(from) < size ? size_of(from) : size);
  memcpy(to, &size, sizeof(size));
  return Status::kOk;
}

void write_sized(const void* value, uint32_t size, void* out) {
  const uint32_t wanted = size_of(out);
  const uint32_t known = wanted < size ? wanted : size;
  constexpr uint32_t kHead = sizeof(wanted);
  memcpy(static_cast<uint8_t*>(out) + kHead, static_cast<const uint8_t*>(value) + kHead, known - kHead);
  memset(static_cast<uint8_t*>(out) + known, 0, wanted - known);
}

void write_sized_at(const void* value, uint32_t size, void* first, uint32_t index) {
  const uint32_t each = size_of(first);
  void* const out = static_cast<uint8_t*>(first) + size_t{each} * index;
  memcpy(out, &each, sizeof(each));
  write_sized(value, size, out);
}

}  // namespace vireo

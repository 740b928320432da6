// Elements of string tensors: borrowed bytes, UTF-8, not terminated. The bytes live in the caller's input, in the model
// file or in the session's byte arena, all of which outlive the run that sees the element.
#ifndef VIREO_SDK_BASE_STRING_H_
#define VIREO_SDK_BASE_STRING_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace vireo {

struct StringRef {  // layout of vireo_string in vireo/vireo.h
  const char* data = nullptr;
  size_t size = 0;
};

inline bool operator==(const StringRef& a, const StringRef& b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
inline bool operator!=(const StringRef& a, const StringRef& b) { return !(a == b); }
// Order of the bytes, a prefix before what it begins.
inline bool operator<(const StringRef& a, const StringRef& b) {
  const size_t n = a.size < b.size ? a.size : b.size;
  const int c = n == 0 ? 0 : memcmp(a.data, b.data, n);
  return c != 0 ? c < 0 : a.size < b.size;
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_STRING_H_

// The caller's vireo_error, and what every function of the C API does with it. Its fields are written as far as its
// struct_size reaches: a field that would not fit whole is left out.
#ifndef VIREO_SDK_BASE_C_ERROR_H_
#define VIREO_SDK_BASE_C_ERROR_H_

#include <stddef.h>

#include "sdk/base/error.h"
#include "sdk/base/sized.h"
#include "vireo/vireo.h"

namespace vireo {

// Copies what fits, always with its end.
void copy_text(char* to, size_t size, const char* from);

// Fills what the error's struct_size holds.
void fill_error(vireo_error* error, vireo_status status, const char* message, const char* node, const char* tensor);

// All functions from here on: `error` may be null. They are inline, so that a program that passes no error has no
// texts.
inline void clear(vireo_error* error) {
  if (error != nullptr) fill_error(error, VIREO_OK, "", "", "");
}
// Puts our story into the caller's error, and returns its status. VIREO_OK changes nothing.
inline vireo_status report(Status status, const Error& from, vireo_error* error) {
  if (error != nullptr && !ok(status)) {
    fill_error(error, static_cast<vireo_status>(status), from.message, from.node == nullptr ? "" : from.node,
               from.tensor == nullptr ? "" : from.tensor);
  }
  return static_cast<vireo_status>(status);
}
inline vireo_status refuse(vireo_error* error, vireo_status status, const char* message) {
  if (error != nullptr) fill_error(error, status, message, "", "");
  return status;
}
template <class... Args>
vireo_status refuse(vireo_error* error, Status status, const char* format, const Args&... args) {
  Error e;
  (void)fail(&e, status, format, args...);
  return report(status, e, error);
}
inline vireo_status null_argument(vireo_error* error, const char* name) {
  return error == nullptr ? vireo_status{VIREO_INVALID_ARGUMENT}
                          : refuse(error, Status::kInvalidArgument, "{} is NULL", name);
}
// Whether the lists of a run are as long as the model's `wanted` inputs and `made` outputs. No outputs are as good as
// all: `outputs` may be null.
vireo_status check_counts(const vireo_tensor* inputs, uint32_t input_count, uint32_t wanted,
                          const vireo_tensor* outputs, uint32_t output_count, uint32_t made, vireo_error* error);
// From one of ours to the caller's.
inline void copy_error(const vireo_error& from, vireo_error* error) {
  if (error != nullptr) fill_error(error, from.status, from.message, from.node, from.tensor);
}

// A result into the caller's struct, which is `name` in messages and was set up with `macro`.
vireo_status give(const void* value, uint32_t size, void* out, SizedName name, vireo_error* error);
template <class T>
vireo_status give(const T& value, T* out, SizedName name, vireo_error* error) {
  return give(&value, uint32_t{sizeof(T)}, out, name, error);
}

}  // namespace vireo

#define VIREO_NOT_NULL(pointer, error)                                          \
  do {                                                                          \
    if ((pointer) == nullptr) return ::vireo::null_argument((error), #pointer); \
  } while (0)

#endif  // VIREO_SDK_BASE_C_ERROR_H_

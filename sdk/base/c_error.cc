#include "sdk/base/c_error.h"

#include <string.h>

namespace vireo {
namespace {

// The caller's room for the field that ends at `end`.
bool reaches(const vireo_error& error, size_t end) { return error.struct_size >= end; }

constexpr size_t kStatusEnd = offsetof(vireo_error, status) + sizeof(vireo_error::status);
constexpr size_t kMessageEnd = offsetof(vireo_error, message) + sizeof(vireo_error::message);
constexpr size_t kNodeEnd = offsetof(vireo_error, node) + sizeof(vireo_error::node);
constexpr size_t kTensorEnd = offsetof(vireo_error, tensor) + sizeof(vireo_error::tensor);

}  // namespace

void copy_text(char* to, size_t size, const char* from) {
  const size_t n = strlen(from);
  const size_t kept = n < size ? n : size - 1;
  memcpy(to, from, kept);
  to[kept] = 0;
}

void fill_error(vireo_error* error, vireo_status status, const char* message, const char* node, const char* tensor) {
  if (reaches(*error, kStatusEnd)) error->status = status;
  if (reaches(*error, kMessageEnd)) copy_text(error->message, sizeof(error->message), message);
  if (reaches(*error, kNodeEnd)) copy_text(error->node, sizeof(error->node), node);
  if (reaches(*error, kTensorEnd)) copy_text(error->tensor, sizeof(error->tensor), tensor);
}

vireo_status check_counts(const vireo_tensor* inputs, uint32_t input_count, uint32_t wanted,
                          const vireo_tensor* outputs, uint32_t output_count, uint32_t made, vireo_error* error) {
  if (input_count != 0) VIREO_NOT_NULL(inputs, error);
  if (output_count != 0) VIREO_NOT_NULL(outputs, error);
  if (input_count != wanted)
    return refuse(error, Status::kInvalidArgument, "{} inputs are given, the model has {}", input_count, wanted);
  if (outputs != nullptr && output_count != made)
    return refuse(error, Status::kInvalidArgument, "{} outputs are given, the model has {}", output_count, made);
  return VIREO_OK;
}

vireo_status give(const void* value, uint32_t size, void* out, SizedName name, vireo_error* error) {
  Error e;
  const Status status = check_sized(out, name, &e);
  if (ok(status)) write_sized(value, size, out);
  return report(status, e, error);
}

}  // namespace vireo

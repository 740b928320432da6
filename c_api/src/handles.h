// Between the C types and ours.
#ifndef VIREO_C_API_SRC_HANDLES_H_
#define VIREO_C_API_SRC_HANDLES_H_

#include <string.h>

#include "runtime/devices/runtime.h"
#include "runtime/exec/session.h"
#include "vireo/vireo.h"

namespace vireo {

static_assert(static_cast<vireo_status>(Status::kInvalidArgument) == VIREO_INVALID_ARGUMENT &&
                  static_cast<vireo_status>(Status::kInvalidModel) == VIREO_INVALID_MODEL &&
                  static_cast<vireo_status>(Status::kUnsupported) == VIREO_UNSUPPORTED &&
                  static_cast<vireo_status>(Status::kOutOfArena) == VIREO_OUT_OF_ARENA &&
                  static_cast<vireo_status>(Status::kDeviceLost) == VIREO_DEVICE_LOST &&
                  static_cast<vireo_status>(Status::kIo) == VIREO_IO &&
                  static_cast<vireo_status>(Status::kBusy) == VIREO_BUSY &&
                  static_cast<vireo_status>(Status::kCancelled) == VIREO_CANCELLED,
              "one list of status values");
static_assert(static_cast<uint8_t>(DType::kF6E3M2) == VIREO_FLOAT6E3M2 &&
                  static_cast<uint8_t>(DType::kString) == VIREO_STRING,
              "one list of types");
static_assert(sizeof(StringRef) == sizeof(vireo_string), "strings cross as they are");

inline void clear(vireo_error* error) {
  if (error == nullptr) return;
  error->status = VIREO_OK;
  error->message[0] = error->node[0] = error->tensor[0] = 0;
}

inline void copy_text(char* to, size_t size, const char* from) {
  const size_t n = strlen(from);
  const size_t kept = n < size ? n : size - 1;
  memcpy(to, from, kept);
  to[kept] = 0;
}

// Puts our story into the caller's error.
inline vireo_status report(Status status, const Error& from, vireo_error* to) {
  if (to != nullptr && !ok(status)) {
    to->status = static_cast<vireo_status>(status);
    copy_text(to->message, sizeof(to->message), from.message);
    if (from.node != nullptr) copy_text(to->node, sizeof(to->node), from.node);
    if (from.tensor != nullptr) copy_text(to->tensor, sizeof(to->tensor), from.tensor);
  }
  return static_cast<vireo_status>(status);
}

inline vireo_status refuse(vireo_error* error, vireo_status status, const char* message) {
  if (error != nullptr) {
    error->status = status;
    copy_text(error->message, sizeof(error->message), message);
  }
  return status;
}

// Of a session's options, what nobody below looks at: their size, and that choices are among those there are. A choice
// that C lets through is read as a number here, because an enum of C++ must not hold it.
inline vireo_status check_options(const vireo_session_options* options, vireo_error* error) {
  if (options == nullptr) return VIREO_OK;
  if (options->struct_size < sizeof(*options))
    return refuse(error, VIREO_INVALID_ARGUMENT, "options: set struct_size with VIREO_SESSION_OPTIONS_INIT");
#if VIREO_JOINED
  uint32_t packing, failover;
  memcpy(&packing, &options->packing, sizeof(packing));
  memcpy(&failover, &options->failover, sizeof(failover));
  if (packing > VIREO_PACKING_NEVER || failover > VIREO_FAILOVER_NEVER)
    return refuse(error, VIREO_INVALID_ARGUMENT, "options: no such packing or failover");
#endif
  return VIREO_OK;
}

inline vireo_status null_argument(vireo_error* error, const char* name) {
  Error e;
  const Status status = fail(&e, Status::kInvalidArgument, "{} is NULL", name);
  return report(status, e, error);
}

}  // namespace vireo

#define VIREO_NOT_NULL(pointer, error)                                          \
  do {                                                                          \
    if ((pointer) == nullptr) return ::vireo::null_argument((error), #pointer); \
  } while (0)

#endif  // VIREO_C_API_SRC_HANDLES_H_

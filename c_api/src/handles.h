// Between the C types and ours.
#ifndef VIREO_C_API_SRC_HANDLES_H_
#define VIREO_C_API_SRC_HANDLES_H_

#include "runtime/devices/runtime.h"
#include "runtime/run/session.h"
#include "sdk/base/c_error.h"
#include "sdk/base/config.h"
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

// The caller's options as this library knows them: all defaults where `given` is null.
inline vireo_status read_options(const vireo_session_options* given, vireo_session_options* options,
                                 vireo_error* error) {
  Error e;
  Status status = read_sized(given, options, {"options", "VIREO_SESSION_OPTIONS_INIT"}, &e);
  if (VIREO_JOINED && ok(status) &&
      (options->packing > VIREO_PACKING_NEVER || options->failover > VIREO_FAILOVER_NEVER))
    status = fail(&e, Status::kInvalidArgument, "options: no such packing or failover");
  if (ok(status) && options->preference != nullptr) {
    constexpr SizedName kName = {"options.preference", "VIREO_PREFERENCE_INIT"};
    status = check_read(options->preference, sizeof(vireo_preference), kName, &e);
  }
  return report(status, e, error);
}

}  // namespace vireo

#endif  // VIREO_C_API_SRC_HANDLES_H_

// Status: what the caller can do next. One word; the story behind a failure goes into an Error (error.h).
#ifndef VIREO_SDK_BASE_STATUS_H_
#define VIREO_SDK_BASE_STATUS_H_

#include <stdint.h>

namespace vireo {

// The values are those of vireo_status in vireo/vireo.h; a static_assert in c_api/src keeps them equal.
enum class [[nodiscard]] Status : uint32_t{
    kOk = 0,
    kInvalidArgument = 1,  // the caller broke a documented precondition: fix the caller
    kInvalidModel = 2,     // the bytes do not verify: reject the file
    kUnsupported = 3,      // valid, but this build or device cannot serve it: place it elsewhere
    kOutOfArena = 4,       // a caller's buffer or a declared bound is too small: ask for the size, retry
    kDeviceLost = 5,       // no other device was allowed or left: rebuild the session
    kIo = 6,               // the operating system refused: a file is missing, unreadable or a disk is full
    kBusy = 7,             // the session is running on another thread: wait, or use a session per thread
    kCancelled = 8,        // the caller asked for the run to stop
};

constexpr bool ok(Status s) { return s == Status::kOk; }

}  // namespace vireo

// Returns early with the same Status.
#define VIREO_TRY(expr)                                          \
  do {                                                           \
    const ::vireo::Status vireo_try_status = (expr);             \
    if (!::vireo::ok(vireo_try_status)) return vireo_try_status; \
  } while (0)

#endif  // VIREO_SDK_BASE_STATUS_H_

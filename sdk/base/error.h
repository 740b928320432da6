// The story of one failure, written where it is found, into memory that the caller owns.
#ifndef VIREO_SDK_BASE_ERROR_H_
#define VIREO_SDK_BASE_ERROR_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/status.h"

// With VIREO_DETAIL=0 messages are compiled out: a Status and the place remain.
#ifndef VIREO_DETAIL
#define VIREO_DETAIL 1
#endif
// Arguments of a text that is compiled out are not worked out either, which a call out of line would ask for.
#if VIREO_DETAIL
#define VIREO_FAIL_INLINE inline
#else
#define VIREO_FAIL_INLINE [[gnu::always_inline]] inline
#endif

namespace vireo {

struct Error {
  Status status = Status::kOk;
  const char* node = nullptr;    // name of the innermost one to blame, in the model's memory; null unknown
  const char* tensor = nullptr;  // the same
  char message[320];

  Error() { message[0] = 0; }  // the rest is left as it is: errors are made on hot paths
  void clear() {
    status = Status::kOk;
    node = tensor = nullptr;
    message[0] = 0;
  }
};

// One argument of a message. Built implicitly from what can be printed.
struct ErrorArg {
  enum class Kind : uint8_t { kInt, kText, kShape } kind;
  union {
    int64_t number;
    const char* text;
    const struct Shape* shape;
  };
  ErrorArg(int v) : kind(Kind::kInt), number(v) {}                                       // NOLINT
  ErrorArg(unsigned v) : kind(Kind::kInt), number(v) {}                                  // NOLINT
  ErrorArg(long v) : kind(Kind::kInt), number(v) {}                                      // NOLINT
  ErrorArg(unsigned long v) : kind(Kind::kInt), number(static_cast<int64_t>(v)) {}       // NOLINT
  ErrorArg(long long v) : kind(Kind::kInt), number(v) {}                                 // NOLINT
  ErrorArg(unsigned long long v) : kind(Kind::kInt), number(static_cast<int64_t>(v)) {}  // NOLINT
  ErrorArg(const char* v) : kind(Kind::kText), text(v) {}                                // NOLINT
  ErrorArg(const Shape& v) : kind(Kind::kShape), shape(&v) {}                            // NOLINT
};

// Fills `error` (may be null) unless it already tells of a failure, and returns `status`. Each "{}" of `format` takes
// the next argument; what does not fit is cut. No allocation.
Status fail_args(Error* error, Status status, const char* format, const ErrorArg* args, int count);

inline Status fail(Error* error, Status status, const char* format) {
  return fail_args(error, status, VIREO_DETAIL ? format : "", nullptr, 0);
}
template <class... Args>
VIREO_FAIL_INLINE Status fail(Error* error, Status status, const char* format, const Args&... args) {
  if (!VIREO_DETAIL) return fail_args(error, status, "", nullptr, 0);
  const ErrorArg list[] = {ErrorArg(args)...};
  return fail_args(error, status, format, list, static_cast<int>(sizeof...(Args)));
}

// Adds the place to a failure, before or after fail() (`error` may be null): what lies further inside came first and
// stays.
inline void blame_node(Error* error, const char* name) {
  if (error != nullptr && error->node == nullptr) error->node = name;
}
inline void blame_tensor(Error* error, const char* name) {
  if (error != nullptr && error->tensor == nullptr) error->tensor = name;
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_ERROR_H_

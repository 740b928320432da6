// Bounds of the file's dimension expressions by interval arithmetic: sound (never below the true extent), exact where
// each symbol occurs once.
#ifndef VIREO_SDK_PLAN_BOUNDS_H_
#define VIREO_SDK_PLAN_BOUNDS_H_

#include <stdint.h>

#include "sdk/base/shape.h"
#include "sdk/base/span.h"

namespace vireo {

enum class ExprKind : uint8_t {
  kSymbol = 0,
  kAdd = 1,
  kSub = 2,
  kMul = 3,
  kFloorDiv = 4,
  kMin = 5,
  kMax = 6
};  // as fb::ExprKind

// INT64_MIN / INT64_MAX stand for minus and plus infinity.
struct Interval {
  int64_t lo = 0;
  int64_t hi = INT64_MAX;
  bool open() const { return hi == INT64_MAX; }
};

// What only a run decides, of which the file says the most: an extent.
inline Interval up_to(Interval most) { return {0, most.hi < 0 ? 0 : most.hi}; }

Interval bound_of(ExprKind op, Interval a, Interval b);

// The interval of a number, or of a handle into `table`.
inline Interval bound_of(Dim d, Span<const Interval> table) {
  return is_symbolic(d) ? table[handle_id(d)] : Interval{d, d};
}

}  // namespace vireo

#endif  // VIREO_SDK_PLAN_BOUNDS_H_

#include "sdk/plan/bounds.h"

#include "sdk/base/checked.h"

namespace vireo {
namespace {

constexpr int64_t kMinus = INT64_MIN, kPlus = INT64_MAX;
bool infinite(int64_t v) { return v == kMinus || v == kPlus; }

// Infinity wins; an overflow becomes the infinity of its sign. plus - plus cannot be told: `unknown` is taken.
int64_t add(int64_t a, int64_t b, int64_t unknown) {
  if (infinite(a) && infinite(b)) return a == b ? a : unknown;
  if (infinite(a)) return a;
  if (infinite(b)) return b;
  int64_t out = 0;
  return checked_add(a, b, &out) ? out : (a > 0 ? kPlus : kMinus);
}
int64_t negate(int64_t a) { return a == kMinus ? kPlus : a == kPlus ? kMinus : -a; }
int64_t mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  int64_t out = 0;
  if (infinite(a) || infinite(b) || !checked_mul(a, b, &out)) return negative ? kMinus : kPlus;
  return out;
}
int64_t floor_div(int64_t a, int64_t b) {  // b not 0
  if (infinite(b)) return infinite(a) ? 0 : (a != 0 && (a < 0) != (b < 0) ? -1 : 0);
  if (infinite(a)) return (a < 0) != (b < 0) ? kMinus : kPlus;
  if (b == -1) return negate(a);
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

Interval corners(Interval a, Interval b, int64_t (*f)(int64_t, int64_t)) {
  const int64_t v[4] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return {least(least(v[0], v[1]), least(v[2], v[3])), most(most(v[0], v[1]), most(v[2], v[3]))};
}

}  // namespace

Interval bound_of(ExprKind op, Interval a, Interval b) {
  switch (op) {
    case ExprKind::kAdd:
      return {add(a.lo, b.lo, kMinus), add(a.hi, b.hi, kPlus)};
    case ExprKind::kSub:
      return {add(a.lo, negate(b.hi), kMinus), add(a.hi, negate(b.lo), kPlus)};
    case ExprKind::kMul:
      return corners(a, b, mul);
    case ExprKind::kFloorDiv: {
      // A divisor that may be 0 gives 0 there (InferContext::floor_div); elsewhere |quotient| <= |dividend|.
      if (b.lo <= 0 && b.hi >= 0) {
        const int64_t reach = most(most(a.hi, negate(a.lo)), 0);
        return {negate(reach), reach};
      }
      return corners(a, b, floor_div);
    }
    case ExprKind::kMin:
      return {least(a.lo, b.lo), least(a.hi, b.hi)};
    case ExprKind::kMax:
      return {most(a.lo, b.lo), most(a.hi, b.hi)};
    case ExprKind::kSymbol:
      break;
  }
  return a;
}

}  // namespace vireo

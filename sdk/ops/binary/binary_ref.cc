// Each operator is a function of two numbers, compiled for float32, float64, int64 and uint64 lanes. float16 and
// bfloat16 compute in float32; narrower integers in 64 bits, of which the low ones are kept.
#include <math.h>

#include <type_traits>

#include "sdk/base/string.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/lanes.h"
#include "sdk/ops/shared/to_integer.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

struct Types {
  DType a, b, y;
};
// `n` <= Lanes::kCount elements; `bits`: width of an element of a.
using RowFunction = void (*)(const Types& t, const Lanes& a, const Lanes& b, int bits, int n, Lanes* y);

// One row of the broadcast: sa, sb are the operands' steps in elements, 0 where one is repeated.
void run_row(RowFunction f, const Types& t, const void* a, int64_t sa, const void* b, int64_t sb, void* y, int64_t n) {
  Lanes la, lb, ly;
  const int bits = dtype_bits(t.a);
  for (int64_t i = 0; i < n; i += Lanes::kCount) {
    const int m = static_cast<int>(n - i < Lanes::kCount ? n - i : Lanes::kCount);
    load_lanes(t.a, a, i * sa, sa, m, &la);
    load_lanes(t.b, b, i * sb, sb, m, &lb);
    f(t, la, lb, bits, m, &ly);
    store_lanes(t.y, ly, y, i, 1, m);
  }
}

// Calls row(pa, sa, pb, sb, py, n) for the rows of the broadcast, or for parts of the only one.
template <class Row>
Status for_rows(const KernelContext& ctx, const Row& row_function) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1), &y = *ctx.out(0);
  const Shape* shapes[] = {&a.shape, &b.shape};
  const Broadcast walk(y.shape, shapes, 2);
  const int64_t size_a = dtype_bits(a.dtype) / 8, size_b = dtype_bits(b.dtype) / 8, size_y = dtype_bits(y.dtype) / 8;
  const int64_t row = walk.row(), sa = walk.step(0), sb = walk.step(1);
  const uint8_t* pa = a.as<const uint8_t>();
  const uint8_t* pb = b.as<const uint8_t>();
  uint8_t* py = y.as<uint8_t>();
  if (walk.rows() == 1) {
    ctx.parallel.for_range(row, kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
      row_function(pa + begin * sa * size_a, sa, pb + begin * sb * size_b, sb, py + begin * size_y, end - begin);
    });
    return Status::kOk;
  }
  ctx.parallel.for_range(walk.rows(), 1 + kElementGrain / (row + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      row_function(pa + walk.offset(0, r) * size_a, sa, pb + walk.offset(1, r) * size_b, sb, py + r * row * size_y,
                   row);
    }
  });
  return Status::kOk;
}

Status run_function(const KernelContext& ctx, RowFunction f) {
  const Types t = {ctx.in(0)->dtype, ctx.in(1)->dtype, ctx.out(0)->dtype};
  return for_rows(ctx, [&](const void* a, int64_t sa, const void* b, int64_t sb, void* y, int64_t n) {
    run_row(f, t, a, sa, b, sb, y, n);
  });
}

template <class F, class C, class Out>
void loop(const C* a, const C* b, int n, Out* y) {
  for (int i = 0; i < n; ++i) y[i] = static_cast<Out>(F::of(a[i], b[i]));
}

// F::of(a, b) is of the operands' type.
template <class F>
void arithmetic(const Types& t, const Lanes& a, const Lanes& b, int, int n, Lanes* y) {
  switch (lane_kind(t.a)) {
    case LaneKind::kFloat:
      return loop<F>(a.f, b.f, n, y->f);
    case LaneKind::kDouble:
      return loop<F>(a.d, b.d, n, y->d);
    case LaneKind::kSigned:
      return loop<F>(a.i, b.i, n, y->i);
    case LaneKind::kUnsigned:
      return loop<F>(a.u, b.u, n, y->u);
  }
}
// The low bits of F::of(a, b) depend on the operands' low bits alone, so signed integers go as unsigned.
template <class F>
void modular(const Types& t, const Lanes& a, const Lanes& b, int, int n, Lanes* y) {
  switch (lane_kind(t.a)) {
    case LaneKind::kFloat:
      return loop<F>(a.f, b.f, n, y->f);
    case LaneKind::kDouble:
      return loop<F>(a.d, b.d, n, y->d);
    default:
      return loop<F>(a.u, b.u, n, y->u);
  }
}
template <class F>
void bitwise(const Types&, const Lanes& a, const Lanes& b, int, int n, Lanes* y) {
  loop<F>(a.u, b.u, n, y->u);
}
template <class F>
void compare(const Types& t, const Lanes& a, const Lanes& b, int, int n, Lanes* y) {
  switch (lane_kind(t.a)) {
    case LaneKind::kFloat:
      return loop<F>(a.f, b.f, n, y->u);
    case LaneKind::kDouble:
      return loop<F>(a.d, b.d, n, y->u);
    case LaneKind::kSigned:
      return loop<F>(a.i, b.i, n, y->u);
    case LaneKind::kUnsigned:
      return loop<F>(a.u, b.u, n, y->u);
  }
}

template <RowFunction kF>
Status run_binary(const KernelContext& ctx) {
  return run_function(ctx, kF);
}

struct Add {
  template <class C>
  static C of(C a, C b) {
    return a + b;
  }
};
struct Sub {
  template <class C>
  static C of(C a, C b) {
    return a - b;
  }
};
struct Mul {
  template <class C>
  static C of(C a, C b) {
    return a * b;
  }
};
struct Min {  // NaN on either side wins
  template <class C>
  static C of(C a, C b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class C>
  static C of(C a, C b) {
    return a > b || a != a ? a : b;
  }
};
struct Equal {
  template <class C>
  static bool of(C a, C b) {
    return a == b;
  }
};
struct Less {
  template <class C>
  static bool of(C a, C b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class C>
  static bool of(C a, C b) {
    return a <= b;
  }
};
struct And {
  static uint64_t of(uint64_t a, uint64_t b) { return a & b; }
};
struct Or {
  static uint64_t of(uint64_t a, uint64_t b) { return a | b; }
};
struct Xor {
  static uint64_t of(uint64_t a, uint64_t b) { return a ^ b; }
};
struct PRelu {
  template <class C>
  static C of(C x, C slope) {
    if constexpr (std::is_integral<C>::value) {
      return x < 0 ? static_cast<C>(static_cast<uint64_t>(x) * static_cast<uint64_t>(slope)) : x;
    } else {
      return x < 0 ? x * slope : x;
    }
  }
};

// C's quotient, towards zero. The lowest number over -1 wraps to itself.
struct Div {
  template <class C>
  static C of(C a, C b) {
    if constexpr (std::is_floating_point<C>::value) {
      return a / b;
    } else if constexpr (std::is_signed<C>::value) {
      return b == -1 ? static_cast<C>(0 - static_cast<uint64_t>(a)) : static_cast<C>(a / b);
    } else {
      return static_cast<C>(a / b);
    }
  }
};
struct ModTruncated {
  template <class C>
  static C of(C a, C b) {
    if constexpr (std::is_floating_point<C>::value) {
      return fmod(a, b);
    } else if constexpr (std::is_signed<C>::value) {
      return b == -1 ? C(0) : static_cast<C>(a % b);
    } else {
      return static_cast<C>(a % b);
    }
  }
};
struct ModFloored {
  template <class C>
  static C of(C a, C b) {
    const C r = ModTruncated::of(a, b);
    if constexpr (std::is_floating_point<C>::value) {
      if (r == 0) return copysign(r, b);
    }
    return r != 0 && (r < 0) != (b < 0) ? static_cast<C>(r + b) : r;
  }
};

// A shift by a negative count or by the width and more leaves what sign extension alone leaves.
void shift_left(const Types& t, const Lanes& x, const Lanes& count, int bits, int n, Lanes* y) {
  const bool is_signed = dtype_is_signed(t.b);
  for (int i = 0; i < n; ++i) {
    const bool outside = (is_signed && count.i[i] < 0) || count.u[i] >= static_cast<uint64_t>(bits);
    y->u[i] = outside ? 0 : x.u[i] << count.u[i];
  }
}
void shift_right(const Types& t, const Lanes& x, const Lanes& count, int bits, int n, Lanes* y) {
  const bool is_signed = dtype_is_signed(t.a);
  for (int i = 0; i < n; ++i) {
    const bool outside = (is_signed && count.i[i] < 0) || count.u[i] >= static_cast<uint64_t>(bits);
    if (is_signed) {
      y->i[i] = outside ? (x.i[i] < 0 ? -1 : 0) : x.i[i] >> count.u[i];
    } else {
      y->u[i] = outside ? 0 : x.u[i] >> count.u[i];
    }
  }
}

Status check_divisor(const KernelContext& ctx) {
  const Tensor& b = *ctx.in(1);
  if (dtype_is_float(b.dtype) || ctx.out(0)->count() == 0) return Status::kOk;
  for (int64_t i = 0, n = b.count(); i < n; ++i) {
    if (read_integer(b.dtype, b.data, i) == 0) {
      return ctx.fail(Status::kInvalidArgument, "integer division by zero: element {} of the divisor {} is 0", i,
                      b.shape);
    }
  }
  return Status::kOk;
}

Status run_div(const KernelContext& ctx) {
  VIREO_TRY(check_divisor(ctx));
  return run_function(ctx, arithmetic<Div>);
}

Status run_mod(const KernelContext& ctx) {
  VIREO_TRY(check_divisor(ctx));
  return run_function(ctx, ctx.attrs<attrs::Mod>().truncated() ? arithmetic<ModTruncated> : arithmetic<ModFloored>);
}

Status run_shift(const KernelContext& ctx) {
  return run_function(ctx, ctx.attrs<attrs::BitShift>().right() ? shift_right : shift_left);
}

Status run_equal(const KernelContext& ctx) {
  if (ctx.in(0)->dtype != DType::kString) return run_function(ctx, compare<Equal>);
  return for_rows(ctx, [](const void* a, int64_t sa, const void* b, int64_t sb, void* y, int64_t n) {
    const StringRef* pa = static_cast<const StringRef*>(a);
    const StringRef* pb = static_cast<const StringRef*>(b);
    for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(y)[i] = pa[i * sa] == pb[i * sb];
  });
}

// x^n for integers, modulo 2^64. x^-n is 1 / x^n towards zero: 0 but for x = 1 and -1 (and for 0, which has no power
// -n).
uint64_t pow_integer(int64_t x, int64_t n) {
  if (n < 0) return x == 1 || (x == -1 && (n & 1) == 0) ? 1 : x == -1 ? ~uint64_t{0} : 0;
  uint64_t y = 1, square = static_cast<uint64_t>(x);
  for (; n != 0; n >>= 1, square *= square) {
    if ((n & 1) != 0) y *= square;
  }
  return y;
}

// float32 against float32 in float32, as both are the common case; other floats in float64. An integer base with a
// float exponent: in float64, towards zero.
double real_lane(DType t, const Lanes& v, int i) {
  switch (lane_kind(t)) {
    case LaneKind::kFloat:
      return static_cast<double>(v.f[i]);
    case LaneKind::kDouble:
      return v.d[i];
    case LaneKind::kSigned:
      return static_cast<double>(v.i[i]);
    default:
      return static_cast<double>(v.u[i]);
  }
}
void power(const Types& t, const Lanes& x, const Lanes& n, int, int count, Lanes* y) {
  const LaneKind base = lane_kind(t.a), exponent = lane_kind(t.b);
  for (int i = 0; i < count; ++i) {
    if (base == LaneKind::kFloat && exponent == LaneKind::kFloat) {
      y->f[i] = pow(x.f[i], n.f[i]);
    } else if (base == LaneKind::kFloat) {
      y->f[i] = static_cast<float>(pow(static_cast<double>(x.f[i]), real_lane(t.b, n, i)));
    } else if (base == LaneKind::kDouble) {
      y->d[i] = pow(x.d[i], real_lane(t.b, n, i));
    } else if (dtype_is_float(t.b)) {
      const double v = pow(real_lane(t.a, x, i), real_lane(t.b, n, i));
      if (t.a == DType::kU64) {
        y->u[i] = to_integer<uint64_t>(v);
        continue;
      }
      // Beyond the type nothing is right; the ends of int64 at least are the same everywhere.
      y->i[i] = v >= 9223372036854775808.0   ? INT64_MAX
                : v > -9223372036854775808.0 ? static_cast<int64_t>(v)
                : v != v                     ? 0
                                             : INT64_MIN;
    } else {
      const bool huge = exponent == LaneKind::kUnsigned && n.i[i] < 0;  // 2^63 and more: even or odd is what remains
      y->u[i] = pow_integer(x.i[i], huge ? INT64_MAX - 1 + (n.i[i] & 1) : n.i[i]);
    }
  }
}

}  // namespace

extern const RefKernel kAddRef;
extern const RefKernel kSubRef;
extern const RefKernel kMulRef;
extern const RefKernel kDivRef;
extern const RefKernel kPowRef;
extern const RefKernel kModRef;
extern const RefKernel kMinRef;
extern const RefKernel kMaxRef;
extern const RefKernel kEqualRef;
extern const RefKernel kLessRef;
extern const RefKernel kLessOrEqualRef;
extern const RefKernel kBitShiftRef;
extern const RefKernel kBitwiseAndRef;
extern const RefKernel kBitwiseOrRef;
extern const RefKernel kBitwiseXorRef;
extern const RefKernel kPReluRef;

const RefKernel kAddRef = {run_binary<modular<Add>>, nullptr};
const RefKernel kSubRef = {run_binary<modular<Sub>>, nullptr};
const RefKernel kMulRef = {run_binary<modular<Mul>>, nullptr};
const RefKernel kDivRef = {run_div, nullptr};
const RefKernel kPowRef = {run_binary<power>, nullptr};
const RefKernel kModRef = {run_mod, nullptr};
const RefKernel kMinRef = {run_binary<arithmetic<Min>>, nullptr};
const RefKernel kMaxRef = {run_binary<arithmetic<Max>>, nullptr};
const RefKernel kEqualRef = {run_equal, nullptr};
const RefKernel kLessRef = {run_binary<compare<Less>>, nullptr};
const RefKernel kLessOrEqualRef = {run_binary<compare<LessOrEqual>>, nullptr};
const RefKernel kBitShiftRef = {run_shift, nullptr};
const RefKernel kBitwiseAndRef = {run_binary<bitwise<And>>, nullptr};
const RefKernel kBitwiseOrRef = {run_binary<bitwise<Or>>, nullptr};
const RefKernel kBitwiseXorRef = {run_binary<bitwise<Xor>>, nullptr};
const RefKernel kPReluRef = {run_binary<arithmetic<PRelu>>, nullptr};

}  // namespace vireo

// Each operator is a function of two elements; a row of the broadcast is a loop over it.
#include <math.h>

#include <type_traits>

#include "sdk/base/string.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/broadcast.h"
#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

constexpr int64_t kGrain = 4096;  // elements a thread is woken for

// `n` elements; sa, sb: steps of the operands in elements, 0 where one is repeated.
using Row = void (*)(const void* a, int64_t sa, const void* b, int64_t sb, void* y, int64_t n);

// F::of computes in C on elements of type T; Out is T or, for comparisons, a bool byte.
template <class F, class T, class C, class Out>
void loop(const void* a, int64_t sa, const void* b, int64_t sb, void* y, int64_t n) {
  const T* pa = static_cast<const T*>(a);
  const T* pb = static_cast<const T*>(b);
  Out* py = static_cast<Out*>(y);
  for (int64_t i = 0; i < n; ++i)
    py[i] = static_cast<Out>(F::of(static_cast<C>(pa[i * sa]), static_cast<C>(pb[i * sb])));
}

Status run_rows(const KernelContext& ctx, Row f) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1), &y = *ctx.out(0);
  const Shape* shapes[] = {&a.shape, &b.shape};
  const Broadcast walk(y.shape, shapes, 2);
  const int64_t size_a = dtype_bits(a.dtype) / 8, size_b = dtype_bits(b.dtype) / 8, size_y = dtype_bits(y.dtype) / 8;
  const int64_t row = walk.row(), sa = walk.step(0), sb = walk.step(1);
  const uint8_t* pa = a.as<const uint8_t>();
  const uint8_t* pb = b.as<const uint8_t>();
  uint8_t* py = y.as<uint8_t>();
  if (walk.rows() == 1) {  // one row holds everything: threads share it
    ctx.parallel.for_range(row, kGrain, [&](int64_t begin, int64_t end, int32_t) {
      f(pa + begin * sa * size_a, sa, pb + begin * sb * size_b, sb, py + begin * size_y, end - begin);
    });
    return Status::kOk;
  }
  ctx.parallel.for_range(walk.rows(), 1 + kGrain / (row + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      f(pa + walk.offset(0, r) * size_a, sa, pb + walk.offset(1, r) * size_b, sb, py + r * row * size_y, row);
    }
  });
  return Status::kOk;
}

template <class F>
Status run_float(const KernelContext& ctx) {
  Row f = nullptr;
  VIREO_TRY(dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    f = loop<F, T, compute_t<T>, T>;
    return Status::kOk;
  }));
  return run_rows(ctx, f);
}

// Integers whose result's low bits depend on the operands' low bits alone: signed as unsigned, computed in 64 bits.
template <class F>
Status run_modular(const KernelContext& ctx) {
  Row f = nullptr;
  VIREO_TRY(dispatch_size(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral<T>::value) {
      f = loop<F, T, uint64_t, T>;
      return Status::kOk;
    } else {
      return Status::kUnsupported;
    }
  }));
  return run_rows(ctx, f);
}

template <class F>
Status run_integer(const KernelContext& ctx) {
  Row f = nullptr;
  VIREO_TRY(dispatch_integer(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    f = loop<F, T, T, T>;
    return Status::kOk;
  }));
  return run_rows(ctx, f);
}

template <class F>
Status run_arithmetic(const KernelContext& ctx) {
  return dtype_is_float(ctx.in(0)->dtype) ? run_float<F>(ctx) : run_modular<F>(ctx);
}
template <class F>
Status run_number(const KernelContext& ctx) {
  return dtype_is_float(ctx.in(0)->dtype) ? run_float<F>(ctx) : run_integer<F>(ctx);
}

template <class F>
Status run_compare(const KernelContext& ctx) {
  Row f = nullptr;
  VIREO_TRY(dispatch_number(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    f = loop<F, T, compute_t<T>, uint8_t>;
    return Status::kOk;
  }));
  return run_rows(ctx, f);
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
template <class C>
bool outside(C count) {
  return count < 0 || static_cast<uint64_t>(count) >= sizeof(C) * 8;
}
struct ShiftLeft {
  template <class C>
  static C of(C x, C count) {
    return outside(count) ? C(0) : static_cast<C>(static_cast<uint64_t>(x) << count);
  }
};
struct ShiftRight {
  template <class C>
  static C of(C x, C count) {
    if (outside(count)) return static_cast<C>(x < 0 ? -1 : 0);
    return static_cast<C>(x >> count);
  }
};

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
  return run_number<Div>(ctx);
}

Status run_mod(const KernelContext& ctx) {
  VIREO_TRY(check_divisor(ctx));
  return ctx.attrs<attrs::Mod>().truncated() ? run_number<ModTruncated>(ctx) : run_number<ModFloored>(ctx);
}

Status run_shift(const KernelContext& ctx) {
  return ctx.attrs<attrs::BitShift>().right() ? run_integer<ShiftRight>(ctx) : run_integer<ShiftLeft>(ctx);
}

struct EqualStrings {
  static bool of(const StringRef& a, const StringRef& b) { return a == b; }
};
Status run_equal(const KernelContext& ctx) {
  const DType t = ctx.in(0)->dtype;
  if (dtype_is_float(t)) return run_compare<Equal>(ctx);
  if (t == DType::kString) return run_rows(ctx, loop<EqualStrings, StringRef, const StringRef&, uint8_t>);
  Row f = nullptr;
  VIREO_TRY(dispatch_size(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral<T>::value) {
      f = loop<Equal, T, T, uint8_t>;
      return Status::kOk;
    } else {
      return Status::kUnsupported;
    }
  }));
  return run_rows(ctx, f);
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

// A float base: in its own precision, as float against float is the common case. An integer base with a float exponent:
// in double, towards zero.
template <class T>
Status pow_rows(const KernelContext& ctx, const Broadcast& walk) {
  using C = compute_t<T>;
  const Tensor& b = *ctx.in(1);
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const bool real = dtype_is_float(b.dtype);
  for (int64_t r = 0; r < walk.rows(); ++r) {
    const int64_t at = walk.offset(0, r), exponent = walk.offset(1, r);
    for (int64_t i = 0; i < walk.row(); ++i) {
      const C v = static_cast<C>(x[at + i * walk.step(0)]);
      const int64_t k = exponent + i * walk.step(1);
      T& out = y[r * walk.row() + i];
      if constexpr (std::is_floating_point<C>::value) {
        out = T(static_cast<C>(pow(v, static_cast<C>(read_real(b.dtype, b.data, k)))));
      } else if (real) {
        out = static_cast<T>(pow(static_cast<double>(v), read_real(b.dtype, b.data, k)));
      } else {
        out = static_cast<T>(pow_integer(static_cast<int64_t>(v), read_integer(b.dtype, b.data, k)));
      }
    }
  }
  return Status::kOk;
}

Status run_pow(const KernelContext& ctx) {
  const Shape* shapes[] = {&ctx.in(0)->shape, &ctx.in(1)->shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 2);
  return dispatch_number(ctx.in(0)->dtype, [&](auto tag) { return pow_rows<decltype(tag)>(ctx, walk); });
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

const RefKernel kAddRef = {run_arithmetic<Add>, nullptr};
const RefKernel kSubRef = {run_arithmetic<Sub>, nullptr};
const RefKernel kMulRef = {run_arithmetic<Mul>, nullptr};
const RefKernel kDivRef = {run_div, nullptr};
const RefKernel kPowRef = {run_pow, nullptr};
const RefKernel kModRef = {run_mod, nullptr};
const RefKernel kMinRef = {run_number<Min>, nullptr};
const RefKernel kMaxRef = {run_number<Max>, nullptr};
const RefKernel kEqualRef = {run_equal, nullptr};
const RefKernel kLessRef = {run_compare<Less>, nullptr};
const RefKernel kLessOrEqualRef = {run_compare<LessOrEqual>, nullptr};
const RefKernel kBitShiftRef = {run_shift, nullptr};
const RefKernel kBitwiseAndRef = {run_modular<And>, nullptr};
const RefKernel kBitwiseOrRef = {run_modular<Or>, nullptr};
const RefKernel kBitwiseXorRef = {run_modular<Xor>, nullptr};
const RefKernel kPReluRef = {run_number<PRelu>, nullptr};

}  // namespace vireo

// One formula per operator; float16 and bfloat16 are computed in float32.
#include <math.h>

#include <type_traits>

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/to_integer.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo {
namespace {

struct Params {
  float a = 0, b = 0, c = 0;
};
template <class C>
using Function = C (*)(C x, const Params& p);

template <class T>
Status map(const KernelContext& ctx, Function<compute_t<T>> f, const Params& p) {
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  ctx.parallel.for_range(ctx.in(0)->count(), kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) y[i] = T(f(static_cast<compute_t<T>>(x[i]), p));
  });
  return Status::kOk;
}

Status map_float(const KernelContext& ctx, Function<float> f, Function<double> d, const Params& p) {
  switch (ctx.in(0)->dtype) {
    case DType::kF32:
      return map<float>(ctx, f, p);
    case DType::kF64:
      return map<double>(ctx, d, p);
    case DType::kF16:
      return map<F16>(ctx, f, p);
    case DType::kBF16:
      return map<BF16>(ctx, f, p);
    default:
      return Status::kUnsupported;
  }
}

// Integers of all widths as int64 or uint64; the result's low bits are kept.
template <class F>
Status map_integer(const KernelContext& ctx, const Params& p) {
  return dispatch_integer(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    using Wide = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>;
    const T* x = ctx.in(0)->as<const T>();
    T* y = ctx.out(0)->as<T>();
    for (int64_t i = 0, n = ctx.in(0)->count(); i < n; ++i)
      y[i] = static_cast<T>(F::integer(static_cast<Wide>(x[i]), p));
    return Status::kOk;
  });
}

// F: what the operator computes, `real(x, p)` for floats and `integer(x, p)` for int64 and uint64.
template <class F>
Status run_float(const KernelContext& ctx, const Params& p) {
  return map_float(ctx, F::template real<float>, F::template real<double>, p);
}
template <class F>
Status run_unary(const KernelContext& ctx) {
  return run_float<F>(ctx, Params());
}
template <class F>
Status run_number(const KernelContext& ctx, const Params& p) {
  return dtype_is_float(ctx.in(0)->dtype) ? run_float<F>(ctx, p) : map_integer<F>(ctx, p);
}
template <class F>
Status run_any(const KernelContext& ctx) {
  return run_number<F>(ctx, Params());
}

struct Abs {
  template <class C>
  static C real(C x, const Params&) {
    return fabs(x);
  }
  static uint64_t integer(int64_t x, const Params&) {
    return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  }
  static uint64_t integer(uint64_t x, const Params&) { return x; }
};
struct Neg {
  template <class C>
  static C real(C x, const Params&) {
    return -x;
  }
  template <class I>
  static uint64_t integer(I x, const Params&) {
    return 0 - static_cast<uint64_t>(x);
  }
};
struct Sign {
  template <class C>
  static C real(C x, const Params&) {
    return x > 0 ? C(1) : x < 0 ? C(-1) : x == 0 ? C(0) : x;
  }  // NaN stays
  template <class I>
  static int64_t integer(I x, const Params&) {
    return (x > 0) - (x < 0);
  }
};
struct Relu {
  template <class C>
  static C real(C x, const Params&) {
    return x < 0 ? C(0) : x;
  }  // NaN stays
  template <class I>
  static I integer(I x, const Params&) {
    return x < 0 ? 0 : x;
  }
};
struct Shrink {  // a: lambd, b: bias
  template <class C>
  static C real(C x, const Params& p) {
    return x < -C(p.a) ? x + C(p.b) : x > C(p.a) ? x - C(p.b) : C(0);
  }
  // Compared and moved as a real number, as ONNX's formula reads; towards zero at the end.
  template <class I>
  static I integer(I x, const Params& p) {
    return to_integer<I>(real(static_cast<double>(x), p));
  }
};

struct Sqrt {
  template <class C>
  static C real(C x, const Params&) {
    return sqrt(x);
  }
};
struct Exp {
  template <class C>
  static C real(C x, const Params&) {
    return exp(x);
  }
};
struct Log {
  template <class C>
  static C real(C x, const Params&) {
    return log(x);
  }
};
struct Sin {
  template <class C>
  static C real(C x, const Params&) {
    return sin(x);
  }
};
struct Cos {
  template <class C>
  static C real(C x, const Params&) {
    return cos(x);
  }
};
struct Tan {
  template <class C>
  static C real(C x, const Params&) {
    return tan(x);
  }
};
struct Asin {
  template <class C>
  static C real(C x, const Params&) {
    return asin(x);
  }
};
struct Acos {
  template <class C>
  static C real(C x, const Params&) {
    return acos(x);
  }
};
struct Atan {
  template <class C>
  static C real(C x, const Params&) {
    return atan(x);
  }
};
struct Sinh {
  template <class C>
  static C real(C x, const Params&) {
    return sinh(x);
  }
};
struct Cosh {
  template <class C>
  static C real(C x, const Params&) {
    return cosh(x);
  }
};
struct Asinh {
  template <class C>
  static C real(C x, const Params&) {
    return asinh(x);
  }
};
struct Acosh {
  template <class C>
  static C real(C x, const Params&) {
    return acosh(x);
  }
};
struct Atanh {
  template <class C>
  static C real(C x, const Params&) {
    return atanh(x);
  }
};
struct Tanh {
  template <class C>
  static C real(C x, const Params&) {
    return tanh(x);
  }
};
struct Erf {
  template <class C>
  static C real(C x, const Params&) {
    return erf(x);
  }
};
struct Floor {
  template <class C>
  static C real(C x, const Params&) {
    return floor(x);
  }
};
struct Ceil {
  template <class C>
  static C real(C x, const Params&) {
    return ceil(x);
  }
};
struct Round {  // half to even: the default rounding of IEEE 754
  template <class C>
  static C real(C x, const Params&) {
    return rint(x);
  }
};

template <class C>
C sigmoid(C x) {  // exp of a number <= 0 on both sides, so neither overflows
  const C e = exp(-fabs(x));
  return (x < 0 ? e : C(1)) / (C(1) + e);
}
template <class C>
C softplus(C x) {  // log(1 + exp(x)) without overflow
  return (x > 0 ? x : C(0)) + log1p(exp(-fabs(x)));
}
struct Sigmoid {
  template <class C>
  static C real(C x, const Params&) {
    return sigmoid(x);
  }
};
struct Softplus {
  template <class C>
  static C real(C x, const Params&) {
    return softplus(x);
  }
};
struct Mish {
  template <class C>
  static C real(C x, const Params&) {
    return x * tanh(softplus(x));
  }
};
struct Swish {  // a: alpha
  template <class C>
  static C real(C x, const Params& p) {
    return x * sigmoid(C(p.a) * x);
  }
};
struct LeakyRelu {  // a: alpha
  template <class C>
  static C real(C x, const Params& p) {
    return x < 0 ? C(p.a) * x : x;
  }
};
struct Elu {  // a: alpha, b: gamma, c: divisor
  template <class C>
  static C real(C x, const Params& p) {
    return C(p.b) * (x > 0 ? x : C(p.a) * expm1(x / C(p.c)));
  }
};
template <class C>
C clamp01(C x) {
  return x < 0 ? C(0) : x > 1 ? C(1) : x;
}
struct HardSigmoid {  // a: alpha, b: beta
  template <class C>
  static C real(C x, const Params& p) {
    return clamp01(C(p.a) * x + C(p.b));
  }
};
struct HardSwish {
  template <class C>
  static C real(C x, const Params&) {
    return x * clamp01(x / C(6) + C(0.5));
  }
};
struct GeluErf {
  template <class C>
  static C real(C x, const Params&) {
    return C(0.5) * x * (C(1) + erf(x * C(0.70710678118654752440)));
  }  // 1/sqrt(2)
};
struct GeluTanh {
  template <class C>
  static C real(C x, const Params&) {  // sqrt(2/pi) * (x + 0.044715 x^3)
    return C(0.5) * x * (C(1) + tanh(C(0.79788456080286535588) * (x + C(0.044715) * x * x * x)));
  }
};

Status run_leaky_relu(const KernelContext& ctx) {
  return run_float<LeakyRelu>(ctx, {ctx.attrs<attrs::LeakyRelu>().alpha(), 0, 0});
}
Status run_elu(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Elu>();
  return run_float<Elu>(ctx, {a.alpha(), a.gamma(), a.divisor()});
}
Status run_hard_sigmoid(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::HardSigmoid>();
  return run_float<HardSigmoid>(ctx, {a.alpha(), a.beta(), 0});
}
Status run_gelu(const KernelContext& ctx) {
  return ctx.attrs<attrs::Gelu>().form() == attrs::GeluForm::Tanh ? run_unary<GeluTanh>(ctx) : run_unary<GeluErf>(ctx);
}
Status run_swish(const KernelContext& ctx) { return run_float<Swish>(ctx, {ctx.attrs<attrs::Swish>().alpha(), 0, 0}); }
Status run_shrink(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Shrink>();
  return run_number<Shrink>(ctx, {a.lambd(), a.bias(), 0});
}

Status run_not(const KernelContext& ctx) {
  const uint8_t* x = ctx.in(0)->as<const uint8_t>();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  for (int64_t i = 0, n = ctx.in(0)->count(); i < n; ++i) y[i] = x[i] == 0;
  return Status::kOk;
}

// Bits of a float type that all stand at one for infinity and NaN. `nan_is`: the one pattern of a float8 type that is
// NaN and the sign bit that does not matter there; such types have no infinity.
struct FloatBits {
  int bytes;
  uint64_t sign, infinity;
  uint64_t nan_only, nan_mask;  // nan_mask != 0: NaN when (bits & nan_mask) == nan_only
};
constexpr FloatBits float_bits(DType t) {
  switch (t) {
    case DType::kF64:
      return {8, 1ull << 63, 0x7FFull << 52, 0, 0};
    case DType::kF32:
      return {4, 1u << 31, 0xFFu << 23, 0, 0};
    case DType::kF16:
      return {2, 0x8000, 0x7C00, 0, 0};
    case DType::kBF16:
      return {2, 0x8000, 0x7F80, 0, 0};
    case DType::kF8E5M2:
      return {1, 0x80, 0x7C, 0, 0};
    case DType::kF8E4M3FN:
      return {1, 0x80, 0, 0x7F, 0x7F};
    default:
      return {1, 0x80, 0, 0x80, 0xFF};  // the FNUZ types
  }
}
uint64_t load_bits(const uint8_t* p, int bytes) {
  uint64_t u = 0;
  memcpy(&u, p, static_cast<size_t>(bytes));  // little-endian: the low bytes
  return u;
}

Status run_isnan(const KernelContext& ctx) {
  const FloatBits f = float_bits(ctx.in(0)->dtype);
  const uint8_t* x = ctx.in(0)->as<const uint8_t>();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  for (int64_t i = 0, n = ctx.in(0)->count(); i < n; ++i) {
    const uint64_t u = load_bits(x + i * f.bytes, f.bytes);
    y[i] = f.nan_mask != 0 ? (u & f.nan_mask) == f.nan_only : (u & ~f.sign) > f.infinity;
  }
  return Status::kOk;
}

Status run_isinf(const KernelContext& ctx) {
  const FloatBits f = float_bits(ctx.in(0)->dtype);
  const bool negative = ctx.attrs<attrs::IsInf>().detect_negative();
  const bool positive = ctx.attrs<attrs::IsInf>().detect_positive();
  const uint8_t* x = ctx.in(0)->as<const uint8_t>();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  for (int64_t i = 0, n = ctx.in(0)->count(); i < n; ++i) {
    const uint64_t u = load_bits(x + i * f.bytes, f.bytes);
    const bool infinite = f.nan_mask == 0 && (u & ~f.sign) == f.infinity;
    y[i] = infinite && ((u & f.sign) != 0 ? negative : positive);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kAbsRef;
extern const RefKernel kNegRef;
extern const RefKernel kSqrtRef;
extern const RefKernel kExpRef;
extern const RefKernel kLogRef;
extern const RefKernel kSinRef;
extern const RefKernel kCosRef;
extern const RefKernel kTanRef;
extern const RefKernel kAsinRef;
extern const RefKernel kAcosRef;
extern const RefKernel kAtanRef;
extern const RefKernel kSinhRef;
extern const RefKernel kCoshRef;
extern const RefKernel kAsinhRef;
extern const RefKernel kAcoshRef;
extern const RefKernel kAtanhRef;
extern const RefKernel kTanhRef;
extern const RefKernel kSigmoidRef;
extern const RefKernel kReluRef;
extern const RefKernel kLeakyReluRef;
extern const RefKernel kEluRef;
extern const RefKernel kHardSigmoidRef;
extern const RefKernel kHardSwishRef;
extern const RefKernel kSoftplusRef;
extern const RefKernel kGeluRef;
extern const RefKernel kErfRef;
extern const RefKernel kFloorRef;
extern const RefKernel kCeilRef;
extern const RefKernel kRoundRef;
extern const RefKernel kSignRef;
extern const RefKernel kNotRef;
extern const RefKernel kIsNaNRef;
extern const RefKernel kIsInfRef;
extern const RefKernel kMishRef;
extern const RefKernel kSwishRef;
extern const RefKernel kShrinkRef;

const RefKernel kAbsRef = {run_any<Abs>, nullptr};
const RefKernel kNegRef = {run_any<Neg>, nullptr};
const RefKernel kSqrtRef = {run_unary<Sqrt>, nullptr};
const RefKernel kExpRef = {run_unary<Exp>, nullptr};
const RefKernel kLogRef = {run_unary<Log>, nullptr};
const RefKernel kSinRef = {run_unary<Sin>, nullptr};
const RefKernel kCosRef = {run_unary<Cos>, nullptr};
const RefKernel kTanRef = {run_unary<Tan>, nullptr};
const RefKernel kAsinRef = {run_unary<Asin>, nullptr};
const RefKernel kAcosRef = {run_unary<Acos>, nullptr};
const RefKernel kAtanRef = {run_unary<Atan>, nullptr};
const RefKernel kSinhRef = {run_unary<Sinh>, nullptr};
const RefKernel kCoshRef = {run_unary<Cosh>, nullptr};
const RefKernel kAsinhRef = {run_unary<Asinh>, nullptr};
const RefKernel kAcoshRef = {run_unary<Acosh>, nullptr};
const RefKernel kAtanhRef = {run_unary<Atanh>, nullptr};
const RefKernel kTanhRef = {run_unary<Tanh>, nullptr};
const RefKernel kSigmoidRef = {run_unary<Sigmoid>, nullptr};
const RefKernel kReluRef = {run_any<Relu>, nullptr};
const RefKernel kLeakyReluRef = {run_leaky_relu, nullptr};
const RefKernel kEluRef = {run_elu, nullptr};
const RefKernel kHardSigmoidRef = {run_hard_sigmoid, nullptr};
const RefKernel kHardSwishRef = {run_unary<HardSwish>, nullptr};
const RefKernel kSoftplusRef = {run_unary<Softplus>, nullptr};
const RefKernel kGeluRef = {run_gelu, nullptr};
const RefKernel kErfRef = {run_unary<Erf>, nullptr};
const RefKernel kFloorRef = {run_unary<Floor>, nullptr};
const RefKernel kCeilRef = {run_unary<Ceil>, nullptr};
const RefKernel kRoundRef = {run_unary<Round>, nullptr};
const RefKernel kSignRef = {run_any<Sign>, nullptr};
const RefKernel kNotRef = {run_not, nullptr};
const RefKernel kIsNaNRef = {run_isnan, nullptr};
const RefKernel kIsInfRef = {run_isinf, nullptr};
const RefKernel kMishRef = {run_unary<Mish>, nullptr};
const RefKernel kSwishRef = {run_swish, nullptr};
const RefKernel kShrinkRef = {run_shrink, nullptr};

}  // namespace vireo

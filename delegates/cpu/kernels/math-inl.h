// Vector float32 math, compiled once per instruction set. Error bounds are in units in the last place against the exact
// value, as measured by activation_test over the whole range; NaN in gives NaN out everywhere.
// Coefficients: our own weighted least-squares fits (Lawson iteration, near minimax) in double, rounded to float.
#if defined(VIREO_DELEGATES_CPU_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_MATH_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_MATH_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>
#include <math.h>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Quotients and roots as IEEE 754 rounds them. The vector unit of 32-bit Arm approximates both (and makes a NaN of the
// root of infinity): there the scalar unit takes one lane after another.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V divide(D d, V a, V b) {
#if HWY_ARCH_ARM_V7
  HWY_ALIGN float x[hn::MaxLanes(d)];
  HWY_ALIGN float y[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] /= y[i];
  return hn::Load(d, x);
#else
  (void)d;
  return hn::Div(a, b);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V square_root(D d, V a) {
#if HWY_ARCH_ARM_V7
  HWY_ALIGN float x[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = sqrtf(x[i]);
  return hn::Load(d, x);
#else
  (void)d;
  return hn::Sqrt(a);
#endif
}

// The lesser and the greater that hand a NaN in `x` through; a core's own min and max differ in that. Those of x86 give
// the second operand wherever there is a NaN, or two zeros.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_most(D, V x, V bound) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(D, V x, V bound) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clip(D d, V x, V lo, V hi) {
  return at_most(d, at_least(d, x, lo), hi);
}

// c0 + c1 x + ... by Horner's rule: the chain's latency hides behind neighbouring vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V horner(D d, V, float c0) {
  return hn::Set(d, c0);
}
template <class D, class V = hn::Vec<D>, class... Rest>
HWY_INLINE V horner(D d, V x, float c0, Rest... rest) {
  return hn::MulAdd(horner(d, x, rest...), x, hn::Set(d, c0));
}

// x / ln 2 is rounded by adding a number whose last place is 1: the sum's low bits are that whole number.
constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23

// e^r for |r| <= ln 2 / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_near_zero(D d, V r) {
  return horner(d, r, 1.0f, 1.0f, 5.000000029e-01f, 1.666657336e-01f, 4.166636345e-02f, 8.363776144e-03f,
                1.394216110e-03f);
}

// e^x, <= 1.5 ulp, subnormal and infinite where it should be. x = n ln 2 + r, |r| <= ln 2 / 2, with ln 2 in two parts
// so that n ln 2 is exact to 2^-33.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_f32(D d, V x) {
  // Two factors of 2^n, because n is -150 to 128: the low bits of a sum are n and both biases.
  constexpr float kBiases = 254;
  const V bounded = clip(d, x, hn::Set(d, -104.0f), hn::Set(d, 89.0f));
  const V units = hn::Set(d, kWhole + kBiases);
  const V t = hn::MulAdd(bounded, hn::Set(d, 1.44269504f), units);
  const V n = hn::Sub(t, units);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V y = exp_near_zero(d, r);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (sizeof(y.raw) == 64) {
    return V{_mm512_scalef_ps(y.raw, n.raw)};
  } else if constexpr (sizeof(y.raw) == 32) {
    return V{_mm256_scalef_ps(y.raw, n.raw)};
  } else {
    return V{_mm_scalef_ps(y.raw, n.raw)};
  }
#else
  const hn::RebindToSigned<D> di;
  const auto both = hn::BitCast(di, t), half = hn::ShiftRight<1>(both);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(half));
  return hn::Mul(hn::Mul(y, first), hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(both, half))));
#endif
}

// e^x for x <= 0, <= 1.5 ulp, 0 below -87.3 where exp_f32 goes on to subnormals: a weight stands beside one of 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_weight(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V units = hn::Set(d, kWhole + 127);  // and the exponent's bias
  const V t = hn::MulAdd(x, hn::Set(d, 1.44269504f), units);
  const V n = hn::Sub(t, units);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V y = exp_near_zero(d, r);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, t)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), hn::Mul(y, power));
}

// ln x, <= 2 ulp; ln 0 = -inf, negative gives NaN. x = 2^e m, m in [sqrt(1/2), sqrt(2)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto tiny = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 8388608.0f)), x);  // 2^23: subnormals become normal
  const auto bits = hn::BitCast(di, scaled);
  const auto offset = hn::Sub(bits, hn::Set(di, 0x3F3504F3));  // bits of sqrt(1/2)
  const auto e = hn::ShiftRight<23>(offset);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V ef = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  const V f = hn::Sub(m, hn::Set(d, 1.0f));
  const V f2 = hn::Mul(f, f);
  const V p = horner(d, f, 3.333331260e-01f, -2.500000960e-01f, 2.000211873e-01f, -1.666799567e-01f, 1.421955091e-01f,
                     -1.240559142e-01f, 1.188817460e-01f, -1.167564130e-01f, 6.746601328e-02f);
  // e * ln2_low first: the small terms are summed before they meet the large one.
  V y = hn::MulAdd(ef, hn::Set(d, -2.12194440e-4f), hn::Mul(hn::Mul(f2, f), p));
  y = hn::NegMulAdd(f2, hn::Set(d, 0.5f), y);
  y = hn::MulAdd(ef, hn::Set(d, 0.693359375f), hn::Add(y, f));
  const V inf = hn::Set(d, HUGE_VALF);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, NAN), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// 2^kScale e^-x, <= 2 ulp, for x <= 87 and -x up to where that is infinite: the low bits of a sum are the exponent of
// the power of two. With kScale = -1 they have room for one that is infinite.
template <int kScale, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_negative(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V units = hn::Set(d, kWhole + 127 + kScale);  // and the exponent's bias
  const V t = hn::NegMulAdd(x, hn::Set(d, 1.44269504f), units);
  const V n = hn::Sub(t, units);
  V r = hn::MulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V y = horner(d, r, 1.0f, -1.0f, 5.000000029e-01f, -1.666657336e-01f, 4.166636345e-02f, -8.363776144e-03f,
                     1.394216110e-03f);
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, t))));
}

// 1 / (1 + e^-x), <= 3 ulp for x > -87.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_f32(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  const V bounded = clip(d, x, hn::Set(d, -89.5f), hn::Set(d, 87.0f));
  return hn::Div(half, hn::Add(half, exp_of_negative<-1>(d, bounded)));
}

// x / (1 + e^-x), <= 4 ulp for x > -87; what is less is taken as -88, where the result is -5e-37.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu_f32(D d, V x) {
  const V from = at_least(d, x, hn::Set(d, -88.0f));
  const V e = exp_of_negative<0>(d, at_most(d, from, hn::Set(d, 87.0f)));
  return hn::Div(from, hn::Add(e, hn::Set(d, 1.0f)));
}
// x / (1 + e^-ax): SiLU with a slope.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V swish_f32(D d, V x, V a) {
  return hn::Mul(x, sigmoid_f32(d, hn::Mul(x, a)));
}
// x min(max(x / 6 + 1/2, 0), 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_swish_f32(D d, V x) {
  const V inner = hn::MulAdd(x, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f));
  return hn::Mul(x, clip(d, inner, hn::Zero(d), hn::Set(d, 1.0f)));
}

// tanh x, <= 3 ulp: with e = e^-2|x| - 1 it is -e / (e + 2). e = 2^n (p + 1) - 1, p = e^r - 1 as a polynomial without
// its first term, so that nothing cancels near 0. One number is enough of ln 2: where |n| is large, e is all but -1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V z = hn::Mul(at_most(d, hn::Abs(x), hn::Set(d, 10.0f)), hn::Set(d, -2.0f));  // from 9.02 on the result is 1
  const V units = hn::Set(d, kWhole + 127);
  const V t = hn::MulAdd(z, hn::Set(d, 1.44269504f), units);
  const V r = hn::NegMulAdd(hn::Sub(t, units), hn::Set(d, 0.693147181f), z);
  const V p = hn::Mul(
      r, horner(d, r, 1.0f, 5.000000029e-01f, 1.666657336e-01f, 4.166636345e-02f, 8.363776144e-03f, 1.394216110e-03f));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, t)));
  const V e = hn::MulAdd(power, p, hn::Sub(power, hn::Set(d, 1.0f)));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0f))), x);
}

// The sine or cosine, <= 3 ulp. x = n pi / 2 + r, |r| <= pi / 4, with pi / 2 in five parts: the first four have 9 bits,
// so that their products with |n| < 2^15 are exact and r keeps its digits near the zeros. What is farther goes lane by
// lane through the C library, and so do NaN and infinity.
template <bool kCosine, class D, class V = hn::Vec<D>>
HWY_INLINE V sine_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 0.636619772f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.92p+0f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.fbp-12f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.51p-22f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.0bp-34f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.184698p-44f), r);
  const V z = hn::Mul(r, r);
  const V sine = hn::MulAdd(hn::Mul(z, r), horner(d, z, -1.666665524e-01f, 8.332159370e-03f, -1.951515296e-04f), r);
  const V cosine = hn::MulAdd(hn::Mul(z, z), horner(d, z, 4.166664556e-02f, -1.388731529e-03f, 2.443300764e-05f),
                              hn::NegMulAdd(z, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
  // Quarters: sine, cosine, -sine, -cosine.
  const auto quarter = hn::Add(hn::ConvertTo(di, n), hn::Set(di, kCosine ? 1 : 0));
  const auto other = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(di, 1)));
  const auto sign = hn::ShiftLeft<30>(hn::And(quarter, hn::Set(di, 2)));
  V y = hn::Xor(hn::IfThenElse(other, cosine, sine), hn::BitCast(d, sign));
  if constexpr (!kCosine) y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
  const auto near = hn::Lt(hn::Abs(x), hn::Set(d, 51470.0f));
  if (HWY_UNLIKELY(!hn::AllTrue(d, near))) {
    HWY_ALIGN float from[hn::MaxLanes(D())], to[hn::MaxLanes(D())];
    hn::Store(x, d, from);
    hn::Store(y, d, to);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(fabsf(from[i]) < 51470.0f)) to[i] = kCosine ? cosf(from[i]) : sinf(from[i]);
    }
    y = hn::Load(d, to);
  }
  return y;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_near_zero(D d, V x) {  // |x| <= 0.9
  return hn::Mul(x, horner(d, hn::Mul(x, x), 1.128379167e+00f, -3.761263531e-01f, 1.128371972e-01f, -2.686075281e-02f,
                           5.204436026e-03f, -8.181927288e-04f, 8.538839171e-05f));
}
// 1 - erf a for a >= 0.9 as e^-P(a). The fit ends at 4: beyond, erfc stays below 2^-25 and is cut at its value there.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfc_far(D d, V a) {
  const V t = at_most(d, a, hn::Set(d, 4.0f));
  return exp_of_negative<0>(
      d, horner(d, t, -2.942741996e-04f, 1.130131493e+00f, 6.319953333e-01f, 1.099251791e-01f, -2.633553765e-02f,
                4.730281328e-03f, -5.907151373e-04f, 4.535457369e-05f, -1.602489762e-06f));
}
// The error function, <= 3 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_f32(D d, V x) {
  const V a = hn::Abs(x);
  const V far = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), erfc_far(d, a)), x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.9f)), erf_near_zero(d, x), far);
}
// x Phi(x) = x (1 + erf(x / sqrt 2)) / 2 = max(x, 0) - |x| Q(|x|), the tail Q(a) = erfc(a / sqrt 2) / 2 as a polynomial
// on [0, 5.5] and cut beyond, where a Q(a) < 2^-23; error below 2^-22 max(|x|, 1). One polynomial and no exponential:
// what is lost against erf_f32 are the relative digits of results near 0 at x < -2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_f32(D d, V x) {
  const V most = hn::Set(d, 5.5f), zero = hn::Zero(d);
  const V a = hn::Abs(x);
  const V t = hn::MulAdd(a, hn::Set(d, 2 / 5.5f), hn::Set(d, -1.0f));
  const V q = horner(d, t, 2.979759360e-03f, -2.500743605e-02f, 9.455967695e-02f, -2.068398297e-01f, 2.718594372e-01f,
                     -1.767069697e-01f, -5.123013258e-02f, 2.155371457e-01f, -1.633192152e-01f, -2.545258589e-02f,
                     1.326961517e-01f, -6.616096199e-02f, -4.138238728e-02f, 4.711364955e-02f, 2.916112775e-03f,
                     -1.416481566e-02f, 9.206109098e-04f, 1.681812108e-03f);
  return hn::Sub(at_least(d, x, zero), hn::IfThenElseZero(hn::Lt(a, most), hn::Mul(a, q)));
}
// The tanh form of GELU (ONNX Gelu, approximate = "tanh").
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh_f32(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  const V cubic = hn::MulAdd(hn::Mul(hn::Mul(x, x), hn::Set(d, 0.044715f)), x, x);
  return hn::MulAdd(half, tanh_f32(d, hn::Mul(cubic, hn::Set(d, 0.797884561f))), half);
}
// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), <= 4 ulp where the result is at least 2^-24, absolute 2^-24 below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp_f32(d, hn::Neg(hn::Abs(x)));
  // 1 + e loses e's low bits; e - ((1 + e) - 1) brings them back to first order.
  const V u = hn::Add(one, e);
  const V lost = hn::Sub(e, hn::Sub(u, one));
  return hn::Add(at_least(d, x, hn::Zero(d)), hn::Add(log_f32(d, u), hn::Div(lost, u)));
}

// Lane sums and maxima, for sets without a reduction of their own.
template <class D, class V = hn::Vec<D>>
HWY_INLINE float sum_lanes(D d, V x) {
  return hn::GetLane(hn::SumOfLanes(d, x));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

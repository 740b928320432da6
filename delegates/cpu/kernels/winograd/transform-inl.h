// The transforms of winograd.h over vectors of channels. Toom's points are 0, +-p, +-q and infinity for tiles of 4 x 4
// (p = 3/4, q = 3/2), 0, +-1 and infinity for 2 x 2: all coefficients here are exact, and even and odd parts are shared
// between a point and its negative.
#if defined(VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#endif

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// B' d: rows are the coefficients of the product of (x - other points).
template <int kTile>
HWY_INLINE void input_points(const VF* d, VF* v) {
  const DF df;
  if constexpr (kTile == 2) {
    v[0] = hn::Sub(d[2], d[0]);
    v[1] = hn::Add(d[2], d[1]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[3], d[1]);
  } else {
    constexpr float kP = 0.75f, kQ = 1.5f, kP2 = kP * kP, kQ2 = kQ * kQ;
    const VF p2 = hn::Set(df, kP2), q2 = hn::Set(df, kQ2), sum = hn::Set(df, kP2 + kQ2),
             product = hn::Set(df, kP2 * kQ2), p = hn::Set(df, kP), q = hn::Set(df, kQ);
    v[0] = hn::MulAdd(product, d[0], hn::NegMulAdd(sum, d[2], d[4]));
    v[5] = hn::MulAdd(product, d[1], hn::NegMulAdd(sum, d[3], d[5]));
    const VF even_p = hn::NegMulAdd(q2, d[2], d[4]), odd_p = hn::NegMulAdd(q2, d[1], d[3]);
    const VF even_q = hn::NegMulAdd(p2, d[2], d[4]), odd_q = hn::NegMulAdd(p2, d[1], d[3]);
    v[1] = hn::MulAdd(p, odd_p, even_p);
    v[2] = hn::NegMulAdd(p, odd_p, even_p);
    v[3] = hn::MulAdd(q, odd_q, even_q);
    v[4] = hn::NegMulAdd(q, odd_q, even_q);
  }
}

// A' m: the values at the points times their powers.
template <int kTile>
HWY_INLINE void output_points(const VF* m, VF* y) {
  const DF df;
  if constexpr (kTile == 2) {
    y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    y[1] = hn::Add(m[3], hn::Sub(m[1], m[2]));
  } else {
    constexpr float kP = 0.75f, kQ = 1.5f;
    const VF p = hn::Set(df, kP), q = hn::Set(df, kQ), p2 = hn::Set(df, kP * kP), q2 = hn::Set(df, kQ * kQ),
             p3 = hn::Set(df, kP * kP * kP), q3 = hn::Set(df, kQ * kQ * kQ);
    const VF even_p = hn::Add(m[1], m[2]), odd_p = hn::Sub(m[1], m[2]);
    const VF even_q = hn::Add(m[3], m[4]), odd_q = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(even_p, even_q));
    y[1] = hn::MulAdd(q, odd_q, hn::Mul(p, odd_p));
    y[2] = hn::MulAdd(q2, even_q, hn::Mul(p2, even_p));
    y[3] = hn::MulAdd(q3, odd_q, hn::MulAdd(p3, odd_p, m[5]));
  }
}

// B' d B of one tile and a vector of channels. `pixels`: where each pixel's channels begin; places of the result are
// `step` apart.
template <int kTile>
HWY_INLINE void input_vector(const float* const* pixels, int64_t c, float* to, int64_t step) {
  constexpr int kEdge = kTile + 2;
  VF half[kEdge][kEdge];  // [column][place]
  VIREO_UNROLL
  for (int x = 0; x < kEdge; ++x) {
    VF d[kEdge];
    VIREO_UNROLL
    for (int y = 0; y < kEdge; ++y) d[y] = hn::LoadU(DF(), pixels[y * kEdge + x] + c);
    input_points<kTile>(d, half[x]);
  }
  VIREO_UNROLL
  for (int i = 0; i < kEdge; ++i) {
    VF d[kEdge], v[kEdge];
    VIREO_UNROLL
    for (int x = 0; x < kEdge; ++x) d[x] = half[x][i];
    input_points<kTile>(d, v);
    VIREO_UNROLL
    for (int j = 0; j < kEdge; ++j) hn::StoreU(v[j], DF(), to + (i * kEdge + j) * step);
  }
}

// What is done to a sum in its vector.
struct TileFinish {
  VF bias;
  bool clip;
  VF lo, hi;
};

// A' m A of one tile and a vector of channels, finished, to rows x columns of its pixels. `residual` may be null, else
// it lies as `y` does.
template <int kTile>
HWY_INLINE void output_vector(const float* from, int64_t step, const TileFinish& f, const float* residual, float* to,
                              int64_t row_step, int64_t pixel_step, int64_t rows, int64_t columns) {
  constexpr int kEdge = kTile + 2;
  VF half[kEdge][kTile];  // [place][row]
  VIREO_UNROLL
  for (int j = 0; j < kEdge; ++j) {
    VF m[kEdge];
    VIREO_UNROLL
    for (int i = 0; i < kEdge; ++i) m[i] = hn::LoadU(DF(), from + (i * kEdge + j) * step);
    output_points<kTile>(m, half[j]);
  }
  VIREO_UNROLL
  for (int r = 0; r < kTile; ++r) {
    if (r >= rows) break;
    VF m[kEdge], y[kTile];
    VIREO_UNROLL
    for (int j = 0; j < kEdge; ++j) m[j] = half[j][r];
    output_points<kTile>(m, y);
    VIREO_UNROLL
    for (int x = 0; x < kTile; ++x) {
      if (x >= columns) break;
      const int64_t at = r * row_step + x * pixel_step;
      VF v = hn::Add(y[x], f.bias);
      if (residual != nullptr) v = hn::Add(v, hn::LoadU(DF(), residual + at));
      if (f.clip) v = clip(DF(), v, f.lo, f.hi);
      hn::StoreU(v, DF(), to + at);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target

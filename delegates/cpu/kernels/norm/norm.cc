#include "delegates/cpu/kernels/norm/norm.h"

#include <math.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/norm/norm.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Sum of f(x) over a row in four chains; f maps the padding of the last vector to 0.
template <class F>
HWY_INLINE float sum_of(const float* x, int64_t count, const F& f) {
  const DF d;
  VF acc[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    VIREO_UNROLL
    for (int j = 0; j < 4; ++j) acc[j] = hn::Add(acc[j], f(hn::LoadU(d, x + i + j * kLanes)));
  }
  for (; i + kLanes <= count; i += kLanes) acc[0] = hn::Add(acc[0], f(hn::LoadU(d, x + i)));
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    acc[1] = hn::Add(acc[1], hn::IfThenElseZero(hn::FirstN(d, rest), f(hn::LoadN(d, x + i, rest))));
  }
  return sum_lanes(d, hn::Add(hn::Add(acc[0], acc[1]), hn::Add(acc[2], acc[3])));
}

// s = x + r, of which f is summed as above.
template <class F>
HWY_INLINE float add_and_sum(const float* x, const float* r, float* s, int64_t count, const F& f) {
  const DF d;
  VF acc[2] = {hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    VIREO_UNROLL
    for (int j = 0; j < 2; ++j) {
      const VF v = hn::Add(hn::LoadU(d, x + i + j * kLanes), hn::LoadU(d, r + i + j * kLanes));
      hn::StoreU(v, d, s + i + j * kLanes);
      acc[j] = hn::Add(acc[j], f(v));
    }
  }
  for (; i < count; i += kLanes) {
    const size_t lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    const VF v = hn::Add(hn::LoadN(d, x + i, lanes), hn::LoadN(d, r + i, lanes));
    hn::StoreN(v, d, s + i, lanes);
    acc[0] = hn::Add(acc[0], hn::IfThenElseZero(hn::FirstN(d, lanes), f(v)));
  }
  return sum_lanes(d, hn::Add(acc[0], acc[1]));
}

// y = x * scale + shift with one pair of numbers for all.
HWY_INLINE void affine(const float* x, float* y, int64_t count, float scale, float shift) {
  const DF d;
  const VF s = hn::Set(d, scale), t = hn::Set(d, shift);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), s, t), d, y + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    hn::StoreN(hn::MulAdd(hn::LoadN(d, x + i, rest), s, t), d, y + i, rest);
  }
}

// y = (x - mean) * scale + shift. The difference comes first: beside a mean that is large for the row's deviation,
// x * scale and mean * scale would cancel, each with a rounding error of its own size.
HWY_INLINE void affine_centred(const float* x, float* y, int64_t count, float mean, float scale, float shift) {
  const DF d;
  const VF m = hn::Set(d, mean), s = hn::Set(d, scale), t = hn::Set(d, shift);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), m), s, t), d, y + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    hn::StoreN(hn::MulAdd(hn::Sub(hn::LoadN(d, x + i, rest), m), s, t), d, y + i, rest);
  }
}

HWY_INLINE void store(VF v, size_t lanes, float* to) { hn::StoreN(v, DF(), to, lanes); }
HWY_INLINE void store(VF v, size_t lanes, uint16_t* to) {
  hn::StoreN(narrowed(v), hn::Rebind<uint16_t, DF>(), to, lanes);
}

// y = (x - mean) * inverse * scale[i] + shift[i].
template <class T>
HWY_INLINE void affine_each(const float* x, T* y, int64_t count, float mean, float inverse, const float* scale,
                            const float* shift) {
  const DF d;
  const VF m = hn::Set(d, mean), r = hn::Set(d, inverse), one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    const size_t lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    const VF v = hn::Mul(hn::Sub(hn::LoadN(d, x + i, lanes), m), r);
    const VF s = scale != nullptr ? hn::LoadN(d, scale + i, lanes) : one;
    const VF t = shift != nullptr ? hn::LoadN(d, shift + i, lanes) : zero;
    store(hn::MulAdd(v, s, t), lanes, y + i);
  }
}

HWY_INLINE float mean_of(const float* x, int64_t size) {
  return sum_of(x, size, [](VF v) HWY_ATTR { return v; }) / static_cast<float>(size);
}
HWY_INLINE float squares_of(const float* x, int64_t size, float mean) {
  const VF m = hn::Set(DF(), mean);
  return sum_of(x, size, [m](VF v) HWY_ATTR {
    const VF centred = hn::Sub(v, m);
    return hn::Mul(centred, centred);
  });
}

void norm_rows_bf16(const NormF32& s, const float* x, uint16_t* y, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const float* const from = x + r * s.size;
    const float mean = s.rms ? 0 : mean_of(from, s.size);
    const float squares = squares_of(from, s.size, mean) / static_cast<float>(s.size);
    affine_each(from, y + r * s.size, s.size, mean, 1.0f / sqrtf(squares + s.epsilon), s.scale, s.shift);
  }
}

void norm_rows(const NormF32& s, const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const float* from = x + r * s.size;
    float* to = y + r * s.size;
    const float count = static_cast<float>(s.size);
    float mean = 0, squares = 0;
    const bool added = s.residual != nullptr;
    if (added) {
      const float* const more = s.residual + r * s.size;
      float* const sum = s.sum != nullptr ? s.sum + r * s.size : to;
      if (s.rms) {
        squares = add_and_sum(from, more, sum, s.size, [](VF v) HWY_ATTR { return hn::Mul(v, v); });
      } else {
        mean = add_and_sum(from, more, sum, s.size, [](VF v) HWY_ATTR { return v; }) / count;
      }
      from = sum;
    } else if (!s.rms) {
      mean = mean_of(from, s.size);
    }
    if (!added || !s.rms) squares = squares_of(from, s.size, mean);
    const float inverse = 1.0f / sqrtf(squares / count + s.epsilon);
    if (s.mean != nullptr) s.mean[r] = mean;
    if (s.inverse != nullptr) s.inverse[r] = inverse;
    if (s.inner == 1 && s.period == s.size) {
      affine_each(from, to, s.size, mean, inverse, s.scale, s.shift);
      continue;
    }
    for (int64_t i = 0; i < s.size;) {
      const int64_t flat = r * s.size + i, channel = flat / s.inner % s.period;
      int64_t run = s.inner - flat % s.inner;
      if (run > s.size - i) run = s.size - i;
      const float scale = (s.scale != nullptr ? s.scale[channel] : 1) * inverse;
      affine_centred(from + i, to + i, run, mean, scale, s.shift != nullptr ? s.shift[channel] : 0);
      i += run;
    }
  }
}

void affine_planes(const float* x, float* y, int64_t begin, int64_t end, int64_t channels, int64_t inner,
                   const float* scale, const float* shift) {
  if (inner == 1) {  // channels last: rows of scales
    for (int64_t i = begin; i < end;) {
      const int64_t channel = i % channels, run = channels - channel < end - i ? channels - channel : end - i;
      affine_each(x + i, y + i, run, 0, 1, scale + channel, shift != nullptr ? shift + channel : nullptr);
      i += run;
    }
    return;
  }
  for (int64_t p = begin; p < end; ++p) {
    const int64_t channel = p % channels;
    affine(x + p * inner, y + p * inner, inner, scale[channel], shift != nullptr ? shift[channel] : 0);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_rows_bf16);
HWY_EXPORT(affine_planes);

namespace {
constexpr int64_t kGrain = 32768;  // floats: 5 to 10 us
}

void norm_f32(const NormF32& s, const float* x, float* y, const Parallel& parallel) {
  if (s.rows <= 0) return;
  if (s.size <= 0) {  // the mean of nothing
    for (int64_t r = 0; r < s.rows; ++r) {
      if (s.mean != nullptr) s.mean[r] = s.rms ? 0 : NAN;
      if (s.inverse != nullptr) s.inverse[r] = NAN;
    }
    return;
  }
  const auto kernel = HWY_DYNAMIC_POINTER(norm_rows);
  parallel.for_range(s.rows, kGrain / s.size + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, y, begin, end); });
}

void norm_bf16(const NormF32& s, const float* x, uint16_t* y, const Parallel& parallel) {
  if (s.rows <= 0 || s.size <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(norm_rows_bf16);
  parallel.for_range(s.rows, kGrain / s.size + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, y, begin, end); });
}

void channel_affine_f32(const float* x, float* y, int64_t outer, int64_t channels, int64_t inner, const float* scale,
                        const float* shift, const Parallel& parallel) {
  if (outer <= 0 || channels <= 0 || inner <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(affine_planes);
  parallel.for_range(outer * channels, kGrain / inner + 1, [&](int64_t begin, int64_t end, int32_t) {
    kernel(x, y, begin, end, channels, inner, scale, shift);
  });
}
}  // namespace vireo::cpu
#endif

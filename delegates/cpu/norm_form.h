// The kernel's description of a layer or RMS normalisation in a composite's body.
#ifndef VIREO_DELEGATES_CPU_NORM_FORM_H_
#define VIREO_DELEGATES_CPU_NORM_FORM_H_

#include "delegates/cpu/kernels/norm/norm.h"
#include "sdk/composites/norm/norm.h"

namespace vireo::cpu {

// `x`: what is normalised, as it is in this run.
inline NormF32 norm_shape(const composites::FusedNorm& f, const KernelContext& ctx, const Shape& x) {
  NormF32 n;
  n.rows = product(x, 0, f.axis);
  n.size = n.period = product(x, f.axis, x.rank);
  n.epsilon = f.epsilon;
  n.rms = f.rms;
  n.scale = f.scale.f32(ctx);
  n.shift = f.shift.given() ? f.shift.f32(ctx) : nullptr;
  return n;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_NORM_FORM_H_

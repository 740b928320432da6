// The window of a pool, as the operator's attributes give it, in the form that the kernels take.
#ifndef VIREO_DELEGATES_CPU_POOL_SHAPE_H_
#define VIREO_DELEGATES_CPU_POOL_SHAPE_H_

#include "sdk/ops/shared/window.h"

namespace vireo::cpu {

// Kernel: PoolF32 or PoolI8. Planes of two spatial dimensions, channels first.
template <class Kernel, class Attrs>
Kernel pool_shape(const Attrs& a, const Shape& x, const Shape& y) {
  vireo::Window w = read_window(x.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < w.spatial; ++i) w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
  const Geometry g = make_geometry(w, x, y);
  Kernel p;
  p.planes = g.batch * g.channels_in;
  p.window = {g.in[1],     g.in[2],     g.out[1],      g.out[2],      g.kernel[1], g.kernel[2],
              g.stride[1], g.stride[2], g.dilation[1], g.dilation[2], g.pad[1],    g.pad[2]};
  p.pad_bottom = g.pad_end[1];
  p.pad_right = g.pad_end[2];
  return p;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_POOL_SHAPE_H_

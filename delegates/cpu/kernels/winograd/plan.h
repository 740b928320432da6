// How winograd_f32 cuts its work: a part of winograd.h.
#ifndef VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_PLAN_H_
#define VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_PLAN_H_

#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/winograd/winograd.h"

namespace vireo::cpu {

struct WinogradPlan {
  int64_t tile, places;                // outputs along an edge; (tile + 2)^2
  int64_t tiles_y = 0, tiles_x = 0;    // of an image
  int64_t tiles = 0;                   // of all images; 0: nothing to do
  int64_t block = 0;                   // tiles at a time
  int64_t columns = 0;                 // output channels at a time
  bool shared = false;                 // all tiles are transformed first, then threads take filters; else threads take
                                       // blocks of tiles
  int64_t zeros = 0;                   // floats of a pixel outside
  int64_t v_step = 0, m_step = 0;      // floats from one place's matrix to the next: pixels, products
  int64_t v_floats = 0, m_floats = 0;  // of one slot, but `shared` pixels are those of all
};

WinogradPlan plan_winograd(const ConvF32& shape, int32_t tile, int32_t slots);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_WINOGRAD_PLAN_H_

// Convolution whose filters are float16, x and y float32 or float16; sums are float32. In float16, bands of lines are
// widened and rounded back while they are in the cache: no tensor becomes float32 whole, where it has lines.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_F16_CONV_F16_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_F16_CONV_F16_H_

#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/kernels/gemm_f16/gemm_f16.h"

namespace vireo::cpu {

struct ConvF16 {
  ConvF32 shape;  // its bias, residual and slope where x is float32; `packed` and `packed_f16` are not read
  bool last = true;
  HalfTail tail;                     // where x is float16
  const uint16_t* packed = nullptr;  // channels last: as pack_conv_f16 wrote the filters
};

// Layout 8 of the filters of each group as [(kernel..., C / groups), O / groups]; 0 where they are read as they lie
// (channels first, depthwise).
int64_t conv_f16_packed_elements(const ConvF16& shape);
void pack_conv_f16(const ConvF16& shape, const uint16_t* weights, const Parallel& parallel, uint16_t* packed);

// Scratch depends on sizes, slots, whether x and y are float16 (`halves`) and whether filters will be packed; for upper
// bounds it grows with each size.
size_t conv_f16_scratch_bytes(const ConvF16& shape, int32_t slots, bool packed, bool halves,
                              Sizes sizes = Sizes::kUpperBounds);
void conv_f16(const ConvF16& shape, const float* x, const uint16_t* weights, float* y, const Parallel& parallel,
              void* scratch);
void conv_f16(const ConvF16& shape, const uint16_t* x, const uint16_t* weights, uint16_t* y, const Parallel& parallel,
              void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_F16_CONV_F16_H_

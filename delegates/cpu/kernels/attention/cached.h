// Attention over keys and values in 16 or 8 bits, such as a decoder's cache: y = softmax(scale q k^T + mask) v, where
// q, y, sums and the softmax are float32. Numbers of 16 bits are exact in float32; a code of 8 bits stands for itself
// times its row's scale.
//
// Up to 16 queries a head read keys and values as they lie, once for all of them: a token's time is that of reading the
// cache, and the bytes are what a smaller type saves. Query heads that share keys are the queries of one. More queries
// take one head after another widened into scratch and the kernel of attention.h: what is read once may cost a pass.
//
// One scale a row (a key of a head) was chosen for codes: a cache grows row by row, so that rows are quantised once and
// never again, a row's largest element costs no other row its accuracy, and the scale leaves both products:
// q (s k) = s (q k), and weights are multiplied by those of values.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_H_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_H_

#include "delegates/cpu/kernels/attention/attention.h"

namespace vireo::cpu {

enum class CacheType : uint8_t { kBf16, kF16, kI8 };

struct AttentionCached : AttentionF32 {
  CacheType type = CacheType::kBf16;  // of k and v, whose steps are in elements
  // Of codes: scales by these steps (0: shared).
  const float *k_scale = nullptr, *v_scale = nullptr;
  Steps k_scales, v_scales;
};

// Grows with each size, and with slots.
size_t attention_cached_scratch_bytes(const AttentionCached& shape, int32_t slots);
// As attention_f32().
void attention_cached(const AttentionCached& shape, const float* q, const void* k, const void* v, float* y,
                      const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_H_

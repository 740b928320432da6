// Attention whose two products are in bfloat16: y = softmax(scale q k^T + mask) v with q, k, v, the weights of the keys
// and y rounded to bfloat16 (nearest even), sums and the softmax in float32. Operands and y are float32 or bfloat16 in
// memory, each its own way.
//
// Blocks of keys with running maxima: 32 queries by 256 keys of scores stay in the first-level cache between the two
// products, which with matrix tiles take less time than one pass over memory would. (float32's products are slow
// enough to have all the scores of a block of queries at once: attention.h.) The order of sums depends on sizes and
// the instruction set, not on the number of threads. Weights are exact to 2^-13.7 of themselves before they are
// rounded, and 0 where they are below 2^-126 of the greatest. Cores that multiply bfloat16 themselves take subnormal
// numbers for 0. Source: Dao et al. 2022, "FlashAttention", arXiv:2205.14135; Milakov and Gimelshein 2018,
// arXiv:1805.02867.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_H_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_H_

#include "delegates/cpu/kernels/attention/attention.h"

namespace vireo::cpu {

struct AttentionBf16 : AttentionF32 {
  bool wide_q = false, wide_k = false, wide_v = false, wide_y = false;  // float32 in memory
};

// Grows with each size, and with slots.
size_t attention_bf16_scratch_bytes(const AttentionBf16& shape, int32_t slots);

// y may be q where both have one type, the same steps and as many elements; it overlaps nothing else. Keys and values
// behind a mask may be anything, as in attention.h. `scratch` is aligned to 64.
void attention_bf16(const AttentionBf16& shape, const void* q, const void* k, const void* v, void* y,
                    const Parallel& parallel, void* scratch);
// The same on matrix tiles in plain C++: for tests.
void attention_bf16_plain_tiles(const AttentionBf16& shape, const void* q, const void* k, const void* v, void* y,
                                void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_H_

// Attention of codes: scores = requantized product of q and k; shares = softmax of them (INTEGER.md "IntSoftmax");
// y = requantized product of shares and v. To the bit what the three operators give one after another.
//
// Scores of a block of queries lie in the cache. Heads are read where they lie; keys are turned once a block, because
// the product packs columns that lie side by side many times faster.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CODES_H_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CODES_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/codes/codes.h"
#include "delegates/cpu/kernels/requantize/requantize.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

struct AttentionCodes {
  struct Steps {
    int64_t row = 0, heads = 0, batches = 0;  // bytes
  };
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, head = 0, value_head = 0;
  Steps q, k, v, y;
  bool k_turned = false;  // rows of k are [keys] long, and there are `head` of them; else `keys` rows of `head`
  bool q_signed = false, k_signed = false, v_signed = false, scores_signed = false, shares_signed = false;
  // Each one byte of the operand's type; null: 0.
  const void *q_zero = nullptr, *k_zero = nullptr, *v_zero = nullptr, *shares_zero = nullptr;
  Requantize scores, result;  // with one multiplier each
  float softmax_multiplier = 1;
  const int32_t* table = nullptr;
  Requantize shares;  // zero point, type and bounds alone are read
  // Which keys each query sees, steps of 0 where one row or key serves all; null: all keys. One that sees none sees all
  // alike.
  const uint8_t* kept = nullptr;
  int64_t kept_key = 1;
  Steps kept_steps;
};

// For all calls with sizes up to these.
size_t attention_codes_scratch_bytes(const AttentionCodes& shape, int32_t slots);

// y overlaps no input. `scratch` is aligned to 64.
void attention_codes(const AttentionCodes& shape, const uint8_t* q, const uint8_t* k, const uint8_t* v, uint8_t* y,
                     const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CODES_H_

// y = softmax(c(scale q k^T) + mask) v for every head, float32;  c(s) = softcap tanh(s / softcap), or s.
//   q [queries, head], k [keys, head], v [keys, value_head], y [queries, value_head] of a head: rows `row` elements
//   apart, heads `heads`, batches `batches`; elements of a row are neighbours. So [B, H, S, D] and [B, S, H D] are both
//   read in place. q_heads is a multiple of kv_heads: head h reads key head h / (q_heads / kv_heads).
//
// A block of queries has all its scores at once, in the cache: softmax is then the plain one, and both products run on
// the matrix kernels. The other design, blocks of keys with running maxima, is for scores that no cache holds; here the
// block of queries shrinks instead, down to 16 rows, so that keys may number 8192 before a block leaves 512 KiB. Keys
// and values that several blocks read are packed once a thread; rows are divided by their sums last, when they are
// short.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_ATTENTION_H_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_ATTENTION_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

struct AttentionF32 {
  struct Steps {
    int64_t row = 0, heads = 0, batches = 0;  // elements
  };
  int64_t batch = 0, q_heads = 0, kv_heads = 1, queries = 0, keys = 0, head = 0, value_head = 0;
  Steps q, k, v, y;
  float scale = 1;
  float softcap = 0;  // 0: none
  // Query i sees keys up to offset + i alone.
  bool causal = false;
  int64_t offset = 0;
  // One of both or none, [queries, keys] of a head by these steps (0: shared): added to the scores, or keys that may be
  // seen. A query that sees nothing gets a row of zeros.
  const float* added = nullptr;
  const uint8_t* allowed = nullptr;
  Steps mask;
};

// For all calls with sizes up to these.
size_t attention_f32_scratch_bytes(const AttentionF32& shape, int32_t slots);

// y overlaps no input. Keys and values behind a mask may be anything, NaN and infinities too: a cache's rows that
// nobody wrote yet. `scratch` is aligned to 64.
void attention_f32(const AttentionF32& shape, const float* q, const float* k, const float* v, float* y,
                   const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_ATTENTION_H_

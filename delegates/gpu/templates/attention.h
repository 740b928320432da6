// attention: y[b, m] = epilogue(sum over keys n of share(m, n) v[b, n]), where shares are the softmax over n of
// score(sum over e of q[b, m, e] k[b, n, e]). Scores never leave the chip. By matrix units only.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_H_

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"
#include "delegates/gpu/templates/product.h"

namespace vireo::gpu {

struct AttentionProblem {
  Extents batch;  // at most 4 axes
  int64_t queries = 1, keys = 1, head = 1, value_head = 1;
  MatrixView q, k, v;  // rows: queries, keys, keys; columns: elements of a head
  // Input 0 is given: the product, float32. Its space is [batch..., queries, keys], its only output a float32. Minus
  // infinity has no share; a query that has only such keys gets 0.
  Expression score;
  Expression epilogue;  // input 0 is given: the sum. Its space is [batch..., queries, value_head]
  // How many workgroups share the keys of a query, share_keys each, the last one the rest. Each makes sums over its own
  // keys. Where there are several, the epilogue's space begins with an axis of shares, and a binding behind the outputs
  // gets [shares, batch..., queries, 2] float32: the greatest score of a share, and its sum of exponentials.
  int64_t shares = 1, share_keys = 0;
};

struct AttentionTiling {
  uint32_t down = 1, across = 1;  // subgroups of a workgroup: each row of them has unit.m queries
  uint32_t keys = 64;             // of a step
  Unit unit{};                    // m 0: there is no tiling, and no program
};

AttentionTiling choose_attention(const AttentionProblem& problem, const Target& target);
// "" or why there is no program, without making one.
std::string refuse_attention(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target);
Dispatch make_attention(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_H_

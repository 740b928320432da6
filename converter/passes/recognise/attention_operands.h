// Queries, keys, values and masks as the Attention operator takes them, from the forms that exporters have for them.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_OPERANDS_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_OPERANDS_H_

#include <set>

#include "converter/passes/recognise/attention_scores.h"

namespace vireo::passes {

// Factors on `*v`, which is q or k, go to the scores; what bears one no more is `*v`.
void take_factor(ir::Graph& g, ir::Value** v, AttentionMatch* m, std::set<const ir::Node*>* removed);
// What take_factor would multiply the scale by; 1: nothing.
double factor_of(ir::Value* v);

// v = heads repeated in groups, [B, H, T, D] from [B, Hkv, T, D] by Unsqueeze, Expand, Reshape: what is repeated, or
// null.
ir::Value* repeated_heads(const ir::Value* v);

// [B, H, S, D] from what is [B H, S, D] or has that rank already, with an axis of one at `at`.
ir::Value* of_rank_4(ir::Graph& g, ir::Value* v, int at, ir::Node* end);

// The keys, rows last but one, from their turned form; null: they are not made by a Transpose.
ir::Value* keys_of(ir::Graph& g, ir::Value* turned, ir::Node* end);

// What `m` adds to its scores, in front of `end`: `*mask`, which is null where it adds nothing. Returns the reason when
// the operator cannot take it: at most rank 4, as many keys as there are.
const char* mask_of(ir::Graph& g, const AttentionMatch& m, ir::Node* end, ir::Value** mask);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_OPERANDS_H_

// What the attention operators of com.microsoft have in common: masks that say which keys are padding, packed inputs,
// and our one operator behind them. Host only.
#ifndef VIREO_SDK_OPS_ATTENTION_CONTRIB_IMPORT_H_
#define VIREO_SDK_OPS_ATTENTION_CONTRIB_IMPORT_H_

#include <string>

#include "sdk/ops/shared/steps_import.h"

namespace vireo {

struct ContribAttention {
  explicit ContribAttention(ImportContext& context) : ctx(context), steps(context) {}

  ImportContext& ctx;
  Steps steps;
  Value q, k, v;  // all [B, S, H D] or all [B, H, S, D]
  Value past_key, past_value;
  Value mask;  // [B, 1 or heads, S or 1, T], what is added to the scores
  int64_t heads = 0;

  // num_heads; kInvalidModel where it is none.
  Status read_heads();
  // Extents of keys as i64 [1], and as dimensions where they are known as such: T = past + keys.
  Value total_keys();
  Value past_keys();
  Dim past_extent() const { return past_key ? ctx.type(past_key).shape[2] : 0; }

  // Adds what the node's input `input` says of padding, and the node's bias of scores in input `bias`, to `mask`.
  //   [B] ends, or [2B] ends and starts, or [3B + 2] ends and running sums; [B, T], [B, S, T] or [B, 1, M, M] with 0
  //   for padding. A padded key's score has mask_filter_value added, so that a query without any key still answers.
  Status add_masks(int input, int bias);

  // The Attention node, with num_heads, scale and unidirectional as the ONNX node says: y and what it gives as cache.
  // Empty on failure.
  std::vector<Value> finish(int outputs);

 private:
  Status allowed_of(int input, Value* allowed);
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_ATTENTION_CONTRIB_IMPORT_H_

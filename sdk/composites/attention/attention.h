// The composites "attention_bf16" and "attention_cached": an Attention and the Casts of its operands.
//
//   attention_bf16    Cast(q to bfloat16) [Cast(k)] [Cast(v)] Attention(q, k, v [, mask]) [Cast(y to float32)]
//   attention_cached  Cast(q to float32, which it is) then k and v each by Cast from bfloat16 or float16, or by
//                     DequantizeLinear from int8; Attention(q, k, v [, mask]), float32
//
// A scale is one for all, or one a row of the last axis; there are no zero points. Each Cast serves the Attention only.
// The Cast of q comes first: in the second form the result may then lie on q, because a row of y replaces the row of q
// that it is made from. A plain Attention reads as one without Casts.
#ifndef VIREO_SDK_COMPOSITES_ATTENTION_ATTENTION_H_
#define VIREO_SDK_COMPOSITES_ATTENTION_ATTENTION_H_

#include "sdk/composites/operand.h"
#include "sdk/ops/attention/attention_generated.h"

namespace vireo::composites {

// Operands of the operator.
enum AttentionInput { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths, kAttentionInputs };

struct FusedAttention {
  const uint8_t* attributes = nullptr;
  Operand inputs[kAttentionInputs];  // in front of their Casts
  Operand scales[2];                 // of the DequantizeLinear that k, v come from
  int64_t blocks[2] = {0, 0};        // along the last axis: that each scale is for; 0: one scale for all
  DType computed = DType::kNone;     // of q, as the operator has it
  bool is_body = false;

  const attrs::Attention& attrs() const { return *::flatbuffers::GetRoot<attrs::Attention>(attributes); }
  bool given(int input) const { return inputs[input].given(); }
  const Tensor* in(const KernelContext& ctx, int input) const {
    return given(input) ? ctx.in(static_cast<size_t>(inputs[input].input)) : nullptr;
  }
};

// False where the node is no such attention.
bool match_attention(const NodeView& node, FusedAttention* out);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_ATTENTION_ATTENTION_H_

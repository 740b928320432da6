// The composite "lstm_bf16": an LSTM whose x and weights go through bfloat16.
//
//   Cast(W to float32), Cast(R to float32), Cast(x to bfloat16), Cast(back), LSTM(x, W, R, ...)
//
// W and R are constant bfloat16. Any of the cell's results may be missing. The weights' Casts come first: the result
// then lies on no input.
#ifndef VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_
#define VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_

#include "sdk/composites/operand.h"
#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo::composites {

// Where the cell's operands and results are among the node's; negative: absent.
struct FusedRecurrent {
  const attrs::Recurrent* attrs = nullptr;
  int32_t in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int32_t out[3] = {0, 1, 2};

  const GraphValue* in_of(const NodeView& node, int i) const {
    const bool given = in[i] >= 0 && static_cast<uint32_t>(in[i]) < node.input_count;
    return given && node.inputs[in[i]].type.dtype != DType::kNone ? &node.inputs[in[i]] : nullptr;
  }
  const Tensor* in_of(const KernelContext& ctx, int i) const {
    return in[i] < 0 ? nullptr : ctx.in(static_cast<size_t>(in[i]));
  }
  Tensor* out_of(const KernelContext& ctx, int i) const {
    return out[i] < 0 ? nullptr : ctx.out(static_cast<size_t>(out[i]));
  }
};

// False where the node is no such composite.
bool match_recurrent_bf16(const NodeView& node, FusedRecurrent* out);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_
